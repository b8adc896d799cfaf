//! Certificates for servers and their clients.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Certificates for one name, and the file of authorities that a client trusts.
pub struct Certificates {
    pub server: Arc<ServerConfig>,
    directory: tempfile::TempDir,
}

impl Certificates {
    pub fn of(name: &str) -> Certificates {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_string()]).unwrap();
        let own = params.signed_by(&key, &ca).unwrap();
        std::fs::write(directory.path().join("ca.pem"), ca.pem()).unwrap();
        std::fs::write(directory.path().join("own.pem"), own.pem()).unwrap();
        std::fs::write(directory.path().join("own.key"), key.serialize_pem()).unwrap();
        let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], der)
            .unwrap();
        Certificates {
            server: Arc::new(server),
            directory,
        }
    }

    pub fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.directory.path().join(name))
    }
}
