//! TLS of a client, and the certificates it trusts.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::{BlockingSocket, ServerCheck, Signers, Socket, certificates};

/// The TLS of a client.
#[derive(Clone)]
pub struct ClientTls(Arc<ClientConfig>);

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientTls")
    }
}

impl ClientTls {
    /// Trusts the authorities in this file, in PEM format, and the certificates in it themselves; without a file, the
    /// authorities that the machine trusts. `protocols` by ALPN.
    ///
    /// # Errors
    /// The file cannot be read, or the machine trusts no authority.
    pub fn open(authorities: Option<&Path>, protocols: &[&str]) -> Result<ClientTls, String> {
        let trusted = match authorities {
            Some(file) => certificates(file).map_err(|error| error.to_string())?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        if roots.is_empty() {
            return Err(match authorities {
                Some(file) => format!("{} has no certificate of an authority", file.display()),
                None => {
                    "this machine trusts no authority: give a file with the authority of the server"
                        .into()
                }
            });
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let check = ServerCheck {
            signers: Signers::Authorities(Arc::new(roots)),
            // A self-signed certificate may be in the file itself.
            known: match authorities {
                Some(_) => trusted,
                None => Vec::new(),
            },
            is_for_name: true,
            provider: Arc::clone(&provider),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| error.to_string())?;
        let mut config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(check))
            .with_no_client_auth();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Ok(ClientTls(Arc::new(config)))
    }

    /// The handshake with a server of this name.
    ///
    /// # Errors
    /// The server is not trusted, or does not speak TLS.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<Socket> {
        let connector = TlsConnector::from(Arc::clone(&self.0));
        let stream = connector.connect(named(host)?, stream).await;
        Ok(Socket::Tls(Box::new(stream.map_err(said)?.into())))
    }

    /// The same handshake by a caller that blocks. Each read and write of it has the time limits of the stream.
    ///
    /// # Errors
    /// As of [`Self::connect`].
    pub fn connect_blocking(
        &self,
        host: &str,
        mut stream: std::net::TcpStream,
    ) -> io::Result<BlockingSocket> {
        let connection = ClientConnection::new(Arc::clone(&self.0), named(host)?);
        let mut connection = connection.map_err(io::Error::other)?;
        connection.complete_io(&mut stream).map_err(said)?;
        if connection.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(BlockingSocket::Tls(Box::new(StreamOwned::new(
            connection, stream,
        ))))
    }
}

fn named(host: &str) -> io::Result<ServerName<'static>> {
    let host = host.trim_matches(['[', ']']).to_string();
    ServerName::try_from(host).map_err(io::Error::other)
}

/// The certificate of a server that did answer is not trusted.
#[derive(Debug)]
pub struct NotTrusted(String);

impl std::fmt::Display for NotTrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTrusted {}

/// Adds a remedy to the error of a failed handshake.
fn said(error: io::Error) -> io::Error {
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    let remedy = match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            let text = format!(
                "the server answered, but its certificate is not trusted ({error}): give the file with its authority, or with the certificate \
                 itself if it is self-signed (--ca-certificate, CAMUNDA_CA_CERTIFICATE_PATH), and use the server name in it"
            );
            return io::Error::new(error.kind(), NotTrusted(text));
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "the server does not speak TLS on this port: ask it with http://"
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {remedy}"))
}
