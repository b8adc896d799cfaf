//! TLS for connections to a database.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use skep_exporting::{Trust, TrustError};

/// Creates TLS connectors for the database client.
#[derive(Clone)]
pub struct Secure(TlsConnector);

impl Secure {
    /// # Errors
    /// A certificate file cannot be used.
    pub fn new(trust: &Trust) -> Result<Secure, TrustError> {
        Ok(Secure(TlsConnector::from(trust.config()?)))
    }
}

type Connected = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

/// Connects to this host with TLS.
pub struct SecureTo {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl MakeTlsConnect<Socket> for Secure {
    type Stream = Stream;
    type TlsConnect = SecureTo;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<SecureTo> {
        let name = ServerName::try_from(host.to_string());
        Ok(SecureTo {
            connector: self.0.clone(),
            host: name.map_err(|error| io::Error::other(format!("{host}: {error}")))?,
        })
    }
}

impl TlsConnect<Socket> for SecureTo {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Connected;

    fn connect(self, socket: Socket) -> Connected {
        Box::pin(async move {
            let secured = self.connector.connect(self.host, socket).await;
            secured.map(Stream).map_err(|error| {
                io::Error::other(format!(
                    "TLS: {error}; see sslmode and sslrootcert of the URL"
                ))
            })
        })
    }
}

/// An encrypted connection.
pub struct Stream(TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
