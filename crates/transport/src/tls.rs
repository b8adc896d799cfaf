//! TLS between nodes: both sides show a certificate of the cluster's authority.
//!
//! Addresses in certificates are not checked: nodes move between them, and whoever has a certificate of this authority belongs to the
//! cluster. So the authority must not sign for anybody else. A certificate may name the [node](crate::named) that it is for.

use std::io::Error;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use skep_tls::{Certificate, FileError, Identity, ServerCheck, Signers, certificates};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::named::NamedNodes;

/// The locations of the certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of this node, and the intermediate ones up to the authority.
    pub certificate: Certificate,
    /// The certificate of the authority, or of several, in PEM format. `None`: certificates stored beside the node's own one are trusted,
    /// which is enough where all nodes share one, and where a key store has its authority.
    pub authority: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("certificate {path} cannot be used with TLS: {reason}")]
    Unusable { path: String, reason: String },
    #[error("certificate {path}: {reason}")]
    OtherNode { path: String, reason: String },
}

/// Both ends of TLS connections.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

impl Tls {
    /// Loads the certificates. `node`: the node that will present the certificate.
    pub(crate) fn open(files: &TlsFiles, node: u32, first_gateway: u32) -> Result<Tls, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let own = files.certificate.path();
        let Identity {
            chain,
            authority,
            key,
        } = files.certificate.read(&provider)?;
        if let Some(first) = chain.first() {
            let named = NamedNodes::of(first).and_then(|named| named.check(node, first_gateway));
            named.map_err(|reason| TlsError::OtherNode {
                path: own.display().to_string(),
                reason,
            })?;
        }
        let trusted = match &files.authority {
            Some(authority) => certificates(authority)?,
            None => chain.iter().cloned().chain(authority).collect(),
        };
        let unusable = |path: &Path, reason: &dyn std::fmt::Display| TlsError::Unusable {
            path: path.display().to_string(),
            reason: reason.to_string(),
        };
        let of_authority = files.authority.as_deref().unwrap_or(own);
        let mut roots = RootCertStore::empty();
        for certificate in trusted {
            roots
                .add(certificate)
                .map_err(|error| unusable(of_authority, &error))?;
        }
        let roots = Arc::new(roots);
        let clients =
            WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build();
        let clients = clients.map_err(|error| unusable(of_authority, &error))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                let builder = builder.with_client_cert_verifier(clients);
                builder.with_single_cert(chain.clone(), key.clone_key())
            });
        let whatever_name = Arc::new(ServerCheck {
            signers: Signers::Authorities(roots),
            known: Vec::new(),
            is_for_name: false,
            provider: provider.clone(),
        });
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                let builder = builder.dangerous();
                let builder = builder.with_custom_certificate_verifier(whatever_name);
                builder.with_client_auth_cert(chain, key)
            });
        Ok(Tls {
            acceptor: Arc::new(server.map_err(|error| unusable(own, &error))?).into(),
            connector: Arc::new(client.map_err(|error| unusable(own, &error))?).into(),
        })
    }
}

/// A connection between nodes.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::TlsStream<TcpStream>>),
}

impl Stream {
    pub(crate) async fn accepted(stream: TcpStream, tls: Option<&Tls>) -> Result<Stream, Error> {
        let Some(tls) = tls else {
            return Ok(Stream::Plain(stream));
        };
        let stream = tls.acceptor.accept(stream).await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }

    pub(crate) async fn connected(stream: TcpStream, tls: Option<&Tls>) -> Result<Stream, Error> {
        let Some(tls) = tls else {
            return Ok(Stream::Plain(stream));
        };
        // Nobody checks the name.
        let name = ServerName::try_from("skep").map_err(Error::other)?;
        let stream = tls.connector.connect(name, stream).await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

impl Stream {
    /// # Errors
    /// The other side's certificate is for other nodes than the one it claims to be.
    pub(crate) fn is_from(&self, node: u32, first_gateway: u32) -> Result<(), String> {
        let Stream::Tls(stream) = self else {
            return Ok(());
        };
        let (_, connection) = stream.get_ref();
        let shown = connection
            .peer_certificates()
            .and_then(|chain| chain.first());
        let shown = shown.ok_or("the other side shows no certificate")?;
        NamedNodes::of(shown)?.check(node, first_gateway)
    }
}

/// The disagreement between the two sides, if a connection failed because of TLS.
pub(crate) fn reason(error: &Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match inner {
        rustls::Error::InvalidMessage(_) => {
            "the other side does not speak TLS: turn it on or off at all nodes \
             (camunda.cluster.network.transport-layer-security.cluster.enabled)"
                .to_string()
        }
        rustls::Error::NoCertificatesPresented => {
            "the other side shows no certificate, which every node must".to_string()
        }
        rustls::Error::InvalidCertificate(reason) => {
            format!("the certificate of the other side is not accepted: {reason}")
        }
        rustls::Error::AlertReceived(alert) => {
            format!("the other side does not accept this node's certificate: {alert:?}")
        }
        other => format!("TLS failed: {other}"),
    })
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize, Error>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
