//! TLS for all connections of Skep: certificates in files, and how those of servers are checked.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod blocking;
mod client;
mod key_store;
mod server;
mod socket;

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

pub use self::blocking::BlockingSocket;
pub use self::client::{ClientTls, NotTrusted};
pub use self::key_store::{KeyPair, KeyStore, Password};
pub use self::server::{
    Authorities, Certificate, Clients, Identity, ServerFiles, ServerTls, ServerTlsError,
};
pub use self::socket::Socket;

/// A file with unusable content.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be read as {what}: {reason}")]
pub struct FileError {
    path: String,
    what: &'static str,
    reason: String,
}

impl FileError {
    fn new(file: &Path, what: &'static str, reason: &dyn Display) -> FileError {
        FileError {
            path: file.display().to_string(),
            what,
            reason: reason.to_string(),
        }
    }
}

/// The certificates of a file, in its order: one at least.
///
/// # Errors
/// The file cannot be read, or has none.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let bad = |reason: &dyn Display| FileError::new(file, "certificates in PEM format", reason);
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<CertificateDer<'static>> = read.map_err(|error| bad(&error))?;
    if read.is_empty() {
        Err(bad(&"it has none"))
    } else {
        Ok(read)
    }
}

/// The private key of a file.
///
/// # Errors
/// The file cannot be read, or has none.
pub fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let read = PrivateKeyDer::from_pem_file(file);
    read.map_err(|error| FileError::new(file, "a private key in PEM format", &error))
}

/// The cryptography of all connections, also used for signing.
pub fn provider() -> CryptoProvider {
    tokio_rustls::rustls::crypto::aws_lc_rs::default_provider()
}

/// Trusted signers of a server's certificate.
#[derive(Clone, Debug)]
pub enum Signers {
    /// Any signer: this protects only against eavesdropping.
    Anybody,
    /// Only these authorities.
    Authorities(Arc<RootCertStore>),
}

/// How the certificate of a server is checked.
#[derive(Debug)]
pub struct ServerCheck {
    pub signers: Signers,
    /// Certificates that are trusted directly.
    pub known: Vec<CertificateDer<'static>>,
    /// Whether it must be for the requested name.
    pub is_for_name: bool,
    pub provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ServerCheck {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Signers::Authorities(roots) = &self.signers else {
            return Ok(ServerCertVerified::assertion());
        };
        let parsed = ParsedCertificate::try_from(certificate)?;
        if !self.known.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, roots, between, now, algorithms)?;
        }
        if self.is_for_name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
