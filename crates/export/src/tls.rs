//! TLS to the servers that exporters and stores write to: whom to trust, and who we are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

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
            .with_custom_certificate_verifier(Arc::new(self.verifier(provider)?));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let bad = |why: String| format!("{}: {why}", key.display());
                let chain = certificates(chain)?;
                let read = PrivateKeyDer::from_pem_file(key);
                let read = read.map_err(|error| bad(error.to_string()))?;
                let built = builder.with_client_auth_cert(chain, read);
                built.map_err(|error| bad(error.to_string()))?
            }
        };
        Ok(Arc::new(config))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
        let mut verifier = Verifier {
            verify: self.verify,
            chain: None,
            known: Vec::new(),
            provider,
        };
        if self.verify == Verify::Nothing {
            return Ok(verifier);
        }
        let mut roots = RootCertStore::empty();
        let place = match &self.certificates {
            Some(file) => {
                verifier.known = certificates(file)?;
                // One that can sign nothing is good for itself alone.
                roots.add_parsable_certificates(verifier.known.iter().cloned());
                file.display().to_string()
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                "this machine".to_string()
            }
        };
        let chain =
            WebPkiServerVerifier::builder_with_provider(roots.into(), verifier.provider.clone());
        let chain = chain
            .build()
            .map_err(|error| format!("the certificates of {place} cannot be used: {error}"))?;
        verifier.chain = Some(chain);
        Ok(verifier)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bad = |why: String| format!("{}: {why}", file.display());
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<CertificateDer<'static>> = read.map_err(|error| bad(error.to_string()))?;
    match read.is_empty() {
        true => Err(bad("there is no certificate in it (PEM)".to_string())),
        false => Ok(read),
    }
}

#[derive(Debug)]
struct Verifier {
    verify: Verify,
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted as they are.
    known: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn is_other_name(error: &Error) -> bool {
        matches!(
            error,
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            )
        )
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = if self.known.contains(end_entity) {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            verify_server_name(&parsed, name).map(|()| ServerCertVerified::assertion())
        } else {
            // It looks at the name last: everything else was well.
            chain.verify_server_cert(end_entity, intermediates, name, ocsp, now)
        };
        match verified {
            Err(error) if self.verify == Verify::Chain && Verifier::is_other_name(&error) => {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
