//! TLS for connections to the servers that exporters and stores write to: trusted certificates, and our own certificate.

use std::path::PathBuf;
use std::sync::Arc;

use skep_tls::{FileError, ServerCheck, Signers, certificates, private_key};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Reasons why a TLS connection to a server is impossible.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("TLS cannot be used: {0}")]
    Versions(rustls::Error),
    /// Our own certificate and key are unusable.
    #[error("{path}: {source}")]
    Identity { path: String, source: rustls::Error },
    #[error("this machine trusts no authority: name its certificate")]
    NoAuthority,
}

/// How thoroughly a server's certificate is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Not at all. This only protects against passive eavesdropping.
    Nothing,
    /// The certificate must be signed by a trusted authority.
    Chain,
    /// In addition, it must be valid for the server's name.
    #[default]
    ChainAndName,
}

/// Trusted certificates, and our own. Files are read for each connection, so renewed ones take effect from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// PEM: the authorities that sign server certificates, or a server certificate itself. Default: the authorities that the
    /// machine trusts.
    pub certificates: Option<PathBuf>,
    pub verify: Verify,
    /// PEM: our certificate with its chain, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Trust {
    /// # Errors
    /// A file cannot be read or used.
    pub fn config(&self) -> Result<Arc<ClientConfig>, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(TrustError::Versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self.check(provider)?));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let built = builder.with_client_auth_cert(certificates(chain)?, private_key(key)?);
                built.map_err(|source| TrustError::Identity {
                    path: key.display().to_string(),
                    source,
                })?
            }
        };
        Ok(Arc::new(config))
    }

    fn check(&self, provider: Arc<CryptoProvider>) -> Result<ServerCheck, TrustError> {
        let mut check = ServerCheck {
            signers: Signers::Anybody,
            known: Vec::new(),
            is_for_name: self.verify == Verify::ChainAndName,
            provider,
        };
        if self.verify == Verify::Nothing {
            return Ok(check);
        }
        let mut roots = RootCertStore::empty();
        match &self.certificates {
            Some(file) => {
                check.known = certificates(file)?;
                // A certificate that cannot sign others is only trusted for itself.
                roots.add_parsable_certificates(check.known.iter().cloned());
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(TrustError::NoAuthority);
                }
            }
        }
        check.signers = Signers::Authorities(Arc::new(roots));
        Ok(check)
    }
}
