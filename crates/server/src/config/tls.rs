//! TLS of the ports for clients and operators.

use std::path::PathBuf;

use skep_tls::{Authorities, Certificate, Clients, KeyStore, Password, ServerFiles, ServerTls};

use super::value::squeeze;

/// Whether clients present a certificate (`…client-auth`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    #[default]
    None,
    Want,
    Need,
}

/// The TLS of one port: paths of files.
#[derive(Clone, Debug, Default)]
pub struct PortTls {
    /// `None`: on if a certificate is given.
    pub enabled: Option<bool>,
    pub certificate: String,
    pub private_key: String,
    /// The file of authorities that may sign client certificates.
    pub trust: String,
    pub trust_store: TrustSettings,
    pub client_auth: ClientAuth,
    pub key_store: StoreSettings,
}

/// A key store, in place of certificate and key.
#[derive(Clone, Debug, Default)]
pub struct StoreSettings {
    pub path: String,
    pub password: Password,
    pub alias: String,
    pub key_password: Password,
    /// `PKCS12`; any other format is refused.
    pub kind: String,
}

/// A trust store, in place of the file of authorities.
#[derive(Clone, Debug, Default)]
pub struct TrustSettings {
    pub path: String,
    pub password: Password,
    /// `PKCS12`; any other format is refused.
    pub kind: String,
}

impl PortTls {
    pub fn is_on(&self) -> bool {
        let named = [&self.certificate, &self.private_key, &self.key_store.path];
        self.enabled
            .unwrap_or_else(|| named.iter().any(|path| !path.is_empty()))
    }

    /// Opens the files; `None` without TLS. `key` begins the names of these settings.
    ///
    /// # Errors
    /// Settings or files that are missing, contradictory or unreadable.
    pub fn open(&self, key: &str, protocols: &[&str]) -> Result<Option<ServerTls>, String> {
        if !self.is_on() {
            return Ok(None);
        }
        let files = self.files(key)?;
        let opened = ServerTls::open(&files, protocols);
        opened.map(Some).map_err(|error| format!("{key}: {error}"))
    }

    fn files(&self, key: &str) -> Result<ServerFiles, String> {
        let certificate = self.certificate(key)?;
        let authorities = || self.authorities(key).map_err(|it| it.to_string());
        Ok(ServerFiles {
            certificate,
            clients: match self.client_auth {
                ClientAuth::None => Clients::NotAsked,
                ClientAuth::Want => Clients::Wanted(authorities()?),
                ClientAuth::Need => Clients::Needed(authorities()?),
            },
        })
    }
}

impl PortTls {
    fn authorities(&self, key: &str) -> Result<Authorities, Refused> {
        let key = key.to_string();
        match (self.trust.is_empty(), self.trust_store.path.is_empty()) {
            (true, true) => Err(Refused::NoAuthorities { key }),
            (false, false) => Err(Refused::TwiceAuthorities { key }),
            (false, true) => Ok(Authorities::Pem(path(&self.trust))),
            (true, false) => {
                let TrustSettings {
                    path: file,
                    password,
                    kind,
                } = &self.trust_store;
                is_pkcs12(format!("{key}.trust-store-type"), kind, file)?;
                Ok(Authorities::TrustStore {
                    path: path(file),
                    password: password.clone(),
                })
            }
        }
    }

    /// Reads the key store, or the two files in PEM format.
    fn certificate(&self, key: &str) -> Result<Certificate, String> {
        let is_pem = !self.certificate.is_empty() || !self.private_key.is_empty();
        match (self.key_store.path.is_empty(), is_pem) {
            (false, true) => Err(format!(
                "{key} names a key store ({key}.key-store) and files in PEM format ({key}.certificate): give one of the two"
            )),
            (false, false) => {
                let store = self.key_store.store(key);
                store
                    .map(Certificate::KeyStore)
                    .map_err(|it| it.to_string())
            }
            _ if self.certificate.is_empty() || self.private_key.is_empty() => Err(format!(
                "{key} is on, but neither {key}.key-store nor both of {key}.certificate and {key}.certificate-private-key are set"
            )),
            _ => Ok(Certificate::Pem {
                chain: path(&self.certificate),
                private_key: path(&self.private_key),
            }),
        }
    }
}

impl StoreSettings {
    fn store(&self, key: &str) -> Result<KeyStore, Refused> {
        is_pkcs12(format!("{key}.key-store-type"), &self.kind, &self.path)?;
        Ok(self.named())
    }

    /// The store as configured, of any type.
    pub fn named(&self) -> KeyStore {
        let alias = Some(&self.alias).filter(|it| !it.is_empty());
        let key_password = Some(&self.key_password).filter(|it| !it.is_empty());
        KeyStore {
            path: path(&self.path),
            password: self.password.clone(),
            alias: alias.cloned(),
            key_password: key_password.cloned(),
        }
    }
}

/// Invalid settings.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(
        "{key}.client-auth asks for the certificates of clients, but neither {key}.trust-certificate nor {key}.trust-store, which name \
         the authorities that may have signed them, is set"
    )]
    NoAuthorities { key: String },
    #[error(
        "{key} names a trust store ({key}.trust-store) and a file in PEM format ({key}.trust-certificate): give one of the two"
    )]
    TwiceAuthorities { key: String },
    #[error(
        "{key} = '{kind}': key stores are read in PKCS12 format only. `keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12 \
         -deststoretype PKCS12` converts one of Java"
    )]
    OtherFormat {
        key: String,
        kind: String,
        path: String,
    },
}

/// Refuses a store of another format.
fn is_pkcs12(key: String, kind: &str, path: &str) -> Result<(), Refused> {
    if ["", "pkcs12", "p12", "pfx"].contains(&&*squeeze(kind)) {
        return Ok(());
    }
    Err(Refused::OtherFormat {
        key,
        kind: kind.to_string(),
        path: path.to_string(),
    })
}

/// A path, which may be written as a URL.
fn path(text: &str) -> PathBuf {
    let text = text.strip_prefix("file:").unwrap_or(text);
    PathBuf::from(match text.strip_prefix("//") {
        Some(absolute) => absolute,
        None => text,
    })
}

/// The TLS of all ports.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    pub rest: Option<ServerTls>,
    pub grpc: Option<ServerTls>,
    pub management: Option<ServerTls>,
}

impl Ports {
    /// Ports with TLS, by their names in metrics.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, ServerTls)> {
        let all = [
            ("rest", &self.rest),
            ("grpc", &self.grpc),
            ("management", &self.management),
        ];
        let all = all.into_iter();
        all.filter_map(|(port, tls)| Some((port, tls.clone()?)))
    }

    /// # Errors
    /// The faults of each port.
    pub fn open(
        rest: &PortTls,
        grpc: &PortTls,
        management: &PortTls,
    ) -> Result<Ports, Vec<String>> {
        let mut wrong = Vec::new();
        let mut open = |tls: &PortTls, key, protocols: &[&str]| {
            let opened = tls.open(key, protocols);
            opened.map_err(|reason| wrong.push(reason)).ok().flatten()
        };
        let ports = Ports {
            rest: open(rest, "server.ssl", &["h2", "http/1.1"]),
            grpc: open(grpc, "camunda.api.grpc.ssl", &["h2"]),
            management: open(management, "management.server.ssl", &["http/1.1"]),
        };
        if wrong.is_empty() {
            Ok(ports)
        } else {
            Err(wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> PortTls {
        PortTls {
            certificate: "file:///etc/skep/certificate.pem".into(),
            private_key: "key.pem".into(),
            ..PortTls::default()
        }
    }

    #[test]
    fn naming_a_certificate_turns_tls_on_unless_it_is_off() {
        assert!(!PortTls::default().is_on());
        assert!(named().is_on());
        let off = PortTls {
            enabled: Some(false),
            ..named()
        };
        assert!(!off.is_on());
    }

    #[test]
    fn files_may_be_urls() {
        let files = named().files("server.ssl").unwrap();
        let pem = Certificate::Pem {
            chain: "/etc/skep/certificate.pem".into(),
            private_key: "key.pem".into(),
        };
        assert_eq!(files.certificate, pem);
        assert_eq!(files.clients, Clients::NotAsked);
    }

    #[test]
    fn enabled_but_incomplete_tls_is_refused_with_the_names_of_the_settings() {
        let refused = |tls: PortTls| tls.open("server.ssl", &[]).unwrap_err();
        let nothing = PortTls {
            enabled: Some(true),
            ..PortTls::default()
        };
        let text = refused(nothing);
        assert!(
            text.contains(
                "neither server.ssl.key-store nor both of server.ssl.certificate and server.ssl.certificate-private-key are set"
            ),
            "{text}"
        );
        let store = |kind: &str| PortTls {
            key_store: StoreSettings {
                path: "/nowhere/store".into(),
                kind: kind.into(),
                ..StoreSettings::default()
            },
            ..PortTls::default()
        };
        let text = refused(store("JKS"));
        assert!(
            text.starts_with("server.ssl.key-store-type = 'JKS'")
                && text.contains("keytool -importkeystore -srckeystore /nowhere/store"),
            "{text}"
        );
        let text = refused(store("PKCS12"));
        assert!(
            text.starts_with("server.ssl: /nowhere/store cannot be read as a PKCS#12 key store"),
            "{text}"
        );
        let both = PortTls {
            certificate: "certificate.pem".into(),
            ..store("")
        };
        assert!(refused(both).contains("give one of the two"));
        let unsigned = PortTls {
            client_auth: ClientAuth::Need,
            ..named()
        };
        let text = refused(unsigned.clone());
        assert!(
            text.contains("neither server.ssl.trust-certificate"),
            "{text}"
        );
        let trust = |kind: &str| PortTls {
            trust_store: TrustSettings {
                path: "/nowhere/trust".into(),
                kind: kind.into(),
                ..TrustSettings::default()
            },
            ..unsigned.clone()
        };
        let text = refused(trust("JKS"));
        assert!(
            text.starts_with("server.ssl.trust-store-type = 'JKS'"),
            "{text}"
        );
        let both = PortTls {
            trust: "authority.pem".into(),
            ..trust("")
        };
        assert!(refused(both).contains("give one of the two"));
        assert!(
            refused(named()).starts_with("server.ssl: /etc/skep/certificate.pem cannot be read")
        );
    }
}
