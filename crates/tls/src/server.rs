//! TLS of a port: the server's certificate, read again when its files change, and, if requested, the client's.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{
    ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier,
};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::{FileError, KeyStore, Password, Socket, certificates, key_store};

/// How often the files are checked.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The certificate of a port, and the requirements on its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    pub certificate: Certificate,
    pub clients: Clients,
}

/// Where the server's certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Two files in PEM format.
    Pem {
        /// The certificate, followed by those between it and its authority.
        chain: PathBuf,
        private_key: PathBuf,
    },
    /// One in PKCS#12 format.
    KeyStore(KeyStore),
}

/// A certificate and its key, as they were read.
pub struct Identity {
    /// The certificate, followed by those between it and its authority.
    pub chain: Vec<CertificateDer<'static>>,
    /// The authority, if it is in the same file and not in the chain.
    pub authority: Option<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// Reads both. For files in PEM format, it does not check that the key belongs to the certificate.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(&self, provider: &CryptoProvider) -> Result<Identity, FileError> {
        match self {
            Certificate::Pem { chain, private_key } => Ok(Identity {
                chain: certificates(chain)?,
                authority: None,
                key: crate::private_key(private_key)?,
            }),
            Certificate::KeyStore(store) => {
                let pair = store.read(provider)?;
                Ok(Identity {
                    chain: pair.chain,
                    authority: pair.authority,
                    key: pair.key,
                })
            }
        }
    }

    /// The file with the certificate.
    pub fn path(&self) -> &Path {
        match self {
            Certificate::Pem { chain, .. } => chain,
            Certificate::KeyStore(store) => &store.path,
        }
    }

    /// The file with the key.
    fn key_path(&self) -> &Path {
        match self {
            Certificate::Pem { private_key, .. } => private_key,
            Certificate::KeyStore(store) => &store.path,
        }
    }
}

/// Whether clients show a certificate, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    NotAsked,
    /// A certificate is optional, but must be valid and signed by one of these.
    Wanted(Authorities),
    /// A client without a certificate is refused.
    Needed(Authorities),
}

/// The file with the authorities that may have signed the certificates of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    Pem(PathBuf),
    /// In PKCS#12 format.
    TrustStore {
        path: PathBuf,
        password: Password,
    },
}

impl Authorities {
    fn path(&self) -> &Path {
        match self {
            Authorities::Pem(path) | Authorities::TrustStore { path, .. } => path,
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, FileError> {
        match self {
            Authorities::Pem(path) => certificates(path),
            Authorities::TrustStore { path, password } => key_store::trusted(path, password),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServerTlsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{path} cannot be used for TLS: {reason}")]
    Unusable { path: String, reason: String },
}

impl ServerTlsError {
    fn unusable(path: &Path, reason: &dyn Display) -> ServerTlsError {
        ServerTlsError::Unusable {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// The TLS of one port.
#[derive(Clone)]
pub struct ServerTls {
    acceptor: TlsAcceptor,
    shown: Arc<Shown>,
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerTls").field(&self.shown.files).finish()
    }
}

impl ServerTls {
    /// `protocols` by ALPN, the preferred one first: `h2`, `http/1.1`.
    ///
    /// # Errors
    /// A file cannot be read, or the key is not that of the certificate.
    pub fn open(files: &ServerFiles, protocols: &[&str]) -> Result<ServerTls, ServerTlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let shown = Arc::new(Shown {
            key: RwLock::new(read(&files.certificate, &provider)?),
            files: files.clone(),
            provider: Arc::clone(&provider),
        });
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| ServerTlsError::unusable(files.certificate.path(), &error))?;
        let mut config = config
            .with_client_cert_verifier(client_check(&files.clients, &provider)?)
            .with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Ok(ServerTls {
            acceptor: Arc::new(config).into(),
            shown,
        })
    }

    /// The server's side of a connection. Its first read or write does the handshake.
    pub fn accept(&self, stream: TcpStream) -> Socket {
        Socket::Handshake(Box::new(self.acceptor.accept(stream)))
    }

    /// Checks the files at intervals, for as long as it is polled. If they have changed, new connections see the new
    /// certificate; unusable files change nothing, and are reported.
    pub async fn watch(self) {
        let mut seen = self.shown.changed();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.shown.changed();
            if now != seen {
                seen = now;
                let tls = self.clone();
                // Opening a key store takes a while.
                let read = tokio::task::spawn_blocking(move || tls.read_again());
                if let Err(error) = read.await {
                    unusable(&error);
                }
            }
        }
    }

    fn read_again(&self) {
        let shown = &self.shown;
        let path = shown.files.certificate.path().display();
        match read(&shown.files.certificate, &shown.provider) {
            Ok(key) => {
                *shown.key.write() = key;
                tracing::info!(%path, "the certificate has changed: new connections see the new one");
            }
            // Chain and key are two files: while only one has changed, they do not match.
            Err(error) => unusable(&error),
        }
    }

    /// The certificate that clients see now, in DER.
    pub fn certificate(&self) -> Option<CertificateDer<'static>> {
        let key = self.shown.key.read();
        key.cert.first().map(|it| it.clone().into_owned())
    }
}

fn unusable(error: &dyn Display) {
    tracing::error!(
        code = "CERTIFICATE_NOT_USABLE",
        %error,
        "the changed certificate cannot be used; the previous one stays in use"
    );
}

/// The certificate that clients see.
#[derive(Debug)]
struct Shown {
    key: RwLock<Arc<CertifiedKey>>,
    files: ServerFiles,
    provider: Arc<CryptoProvider>,
}

impl Shown {
    /// A value that changes when a file does.
    fn changed(&self) -> [Option<(SystemTime, u64)>; 2] {
        let certificate = &self.files.certificate;
        [certificate.path(), certificate.key_path()].map(|path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        })
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.key.read()))
    }
}

fn read(
    certificate: &Certificate,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, ServerTlsError> {
    let (chain, private_key) = match certificate {
        Certificate::KeyStore(store) => return Ok(store.read(provider)?.certified),
        Certificate::Pem { chain, private_key } => (chain, private_key),
    };
    let (certificates, key) = (certificates(chain)?, crate::private_key(private_key)?);
    let signing = provider.key_provider.load_private_key(key);
    let signing = signing.map_err(|error| ServerTlsError::unusable(private_key, &error))?;
    let certified = CertifiedKey::new(certificates, signing);
    certified.keys_match().map_err(|_| {
        let reason = format!("its key is not in {}", private_key.display());
        ServerTlsError::unusable(chain, &reason)
    })?;
    Ok(Arc::new(certified))
}

fn client_check(
    clients: &Clients,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, ServerTlsError> {
    let (authority, needed) = match clients {
        Clients::NotAsked => return Ok(Arc::new(NoClientAuth)),
        Clients::Wanted(authority) => (authority, false),
        Clients::Needed(authority) => (authority, true),
    };
    let unusable = |error: &dyn Display| ServerTlsError::unusable(authority.path(), error);
    let mut roots = RootCertStore::empty();
    for certificate in authority.certificates()? {
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    let check = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let check = if needed {
        check
    } else {
        check.allow_unauthenticated()
    };
    check.build().map_err(|error| unusable(&error))
}

#[cfg(test)]
mod tests;
