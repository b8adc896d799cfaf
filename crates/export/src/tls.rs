//! TLS to the servers that exporters and stores write to: whom to trust, and who we are.

use std::path::PathBuf;
use std::sync::Arc;

use skep_tls::{ServerCheck, Signers, certificates, private_key};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How much of a server's certificate is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: who listens in only is kept out.
    Nothing,
    /// Who has signed it.
    Chain,
    /// And that it is for the name that was called.
    #[default]
    ChainAndName,
}

/// Whom to trust, and who we are. Files are read for each connection: those that are renewed count from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// PEM: who signs the certificates of servers, or such a certificate itself. Without it, whom the machine trusts.
    pub certificates: Option<PathBuf>,
    pub verify: Verify,
    /// PEM: our certificate with those that signed it, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Trust {
    /// # Errors
    /// A file cannot be read or used; the text says which, and why.
    pub fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be used: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self.check(provider)?));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = certificates(chain).map_err(|error| error.to_string())?;
                let read = private_key(key).map_err(|error| error.to_string())?;
                let built = builder.with_client_auth_cert(chain, read);
                built.map_err(|error| format!("{}: {error}", key.display()))?
            }
        };
        Ok(Arc::new(config))
    }

    fn check(&self, provider: Arc<CryptoProvider>) -> Result<ServerCheck, String> {
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
                check.known = certificates(file).map_err(|error| error.to_string())?;
                // One that can sign nothing is good for itself alone.
                roots.add_parsable_certificates(check.known.iter().cloned());
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(
                        "this machine trusts no authority: name its certificate".to_string()
                    );
                }
            }
        }
        check.signers = Signers::Authorities(Arc::new(roots));
        Ok(check)
    }
}
