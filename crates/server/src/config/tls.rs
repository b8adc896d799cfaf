//! TLS of the ports that clients and operators call.

use std::path::PathBuf;

use skep_tls::{Clients, ServerFiles, ServerTls};

/// Whether clients show a certificate (`…client-auth`).
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
    /// Not said: on where a certificate is named.
    pub enabled: Option<bool>,
    pub certificate: String,
    pub private_key: String,
    /// Whoever may have signed the certificates of clients.
    pub trust: String,
    pub client_auth: ClientAuth,
    /// Refused.
    pub key_store: String,
}

impl PortTls {
    pub fn is_on(&self) -> bool {
        let named = [&self.certificate, &self.private_key, &self.key_store];
        self.enabled
            .unwrap_or_else(|| named.iter().any(|path| !path.is_empty()))
    }

    /// The file of its certificate; none without TLS.
    pub fn certificate_file(&self) -> Option<PathBuf> {
        self.is_on().then(|| path(&self.certificate))
    }

    /// Opens the files; `None` without TLS. `key` begins the names of these settings.
    ///
    /// # Errors
    /// What is missing, contradicts itself or cannot be read.
    pub fn open(&self, key: &str, protocols: &[&str]) -> Result<Option<ServerTls>, String> {
        if !self.is_on() {
            return Ok(None);
        }
        let files = self.files(key)?;
        let opened = ServerTls::open(&files, protocols);
        opened.map(Some).map_err(|error| format!("{key}: {error}"))
    }

    fn files(&self, key: &str) -> Result<ServerFiles, String> {
        if !self.key_store.is_empty() {
            return Err(format!(
                "{key}.key-store: key stores are not read; give {key}.certificate and {key}.certificate-private-key in PEM format. \
                 `openssl pkcs12 -in STORE -nodes -nokeys -out certificate.pem` and `openssl pkcs12 -in STORE -nodes -nocerts -out \
                 key.pem` make them of a PKCS#12 store"
            ));
        }
        if self.certificate.is_empty() || self.private_key.is_empty() {
            return Err(format!(
                "{key} is on, but {key}.certificate and {key}.certificate-private-key are not both set"
            ));
        }
        let trust = || match self.trust.is_empty() {
            true => Err(format!(
                "{key}.client-auth asks for the certificates of clients, but {key}.trust-certificate, which says who may have signed \
                 them, is not set"
            )),
            false => Ok(path(&self.trust)),
        };
        Ok(ServerFiles {
            certificate_chain: path(&self.certificate),
            private_key: path(&self.private_key),
            clients: match self.client_auth {
                ClientAuth::None => Clients::NotAsked,
                ClientAuth::Want => Clients::Wanted(trust()?),
                ClientAuth::Need => Clients::Needed(trust()?),
            },
        })
    }
}

/// Files may be written as URLs.
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
    /// # Errors
    /// For each port what is wrong.
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
        match wrong.is_empty() {
            true => Ok(ports),
            false => Err(wrong),
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
        assert_eq!(
            files.certificate_chain,
            PathBuf::from("/etc/skep/certificate.pem")
        );
        assert_eq!(files.private_key, PathBuf::from("key.pem"));
        assert_eq!(files.clients, Clients::NotAsked);
    }

    #[test]
    fn what_is_on_and_cannot_be_is_refused_with_the_keys() {
        let refused = |tls: PortTls| tls.open("server.ssl", &[]).unwrap_err();
        let nothing = PortTls {
            enabled: Some(true),
            ..PortTls::default()
        };
        let text = refused(nothing);
        assert!(
            text.contains(
                "server.ssl.certificate and server.ssl.certificate-private-key are not both set"
            ),
            "{text}"
        );
        let store = PortTls {
            key_store: "store.p12".into(),
            ..PortTls::default()
        };
        assert!(refused(store).contains("openssl pkcs12"));
        let unsigned = PortTls {
            client_auth: ClientAuth::Need,
            ..named()
        };
        assert!(refused(unsigned).contains("server.ssl.trust-certificate"));
        assert!(
            refused(named()).starts_with("server.ssl: /etc/skep/certificate.pem cannot be read")
        );
    }
}
