//! TLS of a client: whom it believes.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::{Socket, certificates};

/// The TLS of a client.
#[derive(Clone)]
pub struct ClientTls(TlsConnector);

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientTls")
    }
}

impl ClientTls {
    /// Believes the authorities in this file, in PEM format; without one, those that the machine trusts. `protocols` by ALPN.
    ///
    /// # Errors
    /// The file cannot be read, or the machine trusts nobody.
    pub fn open(authorities: Option<&Path>, protocols: &[&str]) -> Result<ClientTls, String> {
        let trusted = match authorities {
            Some(file) => certificates(file).map_err(|error| error.to_string())?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted);
        if roots.is_empty() {
            return Err(match authorities {
                Some(file) => format!("{} has no certificate of an authority", file.display()),
                None => "this machine trusts no authority: name a file with the one of the server"
                    .into(),
            });
        }
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| error.to_string())?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Ok(ClientTls(Arc::new(config).into()))
    }

    /// The handshake with a server of this name.
    ///
    /// # Errors
    /// The server is not believed, or does not speak TLS.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> std::io::Result<Socket> {
        let host = host.trim_matches(['[', ']']).to_string();
        let name = ServerName::try_from(host).map_err(std::io::Error::other)?;
        let stream = self.0.connect(name, stream).await?;
        Ok(Socket::Tls(Box::new(stream.into())))
    }
}
