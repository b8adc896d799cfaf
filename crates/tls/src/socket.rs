//! One end of a connection, with TLS or without.

use std::io::{Error, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{Accept, TlsStream};

/// A socket that carries the application's bytes, with TLS on the wire or without.
pub enum Socket {
    Plain(TcpStream),
    /// The first read or write does the handshake, so that a limit on the time for a first request covers the handshake too.
    Handshake(Box<Accept<TcpStream>>),
    Tls(Box<TlsStream<TcpStream>>),
    /// The handshake has failed. Polling it again would panic, and a peer must not be able to cause that.
    Failed,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Socket::Plain(_) => "Plain",
            Socket::Handshake(_) => "Handshake",
            Socket::Tls(_) => "Tls",
            Socket::Failed => "Failed",
        })
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket::Plain(stream)
    }
}

impl Socket {
    /// Ready when bytes can be transferred; after a failed handshake every read and write fails.
    fn poll_shaken(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if let Socket::Handshake(accept) = self {
            match ready!(Pin::new(&mut **accept).poll(cx)) {
                Ok(stream) => *self = Socket::Tls(Box::new(stream.into())),
                Err(error) => {
                    *self = Socket::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match self {
            Socket::Failed => Err(ErrorKind::NotConnected.into()),
            _ => Ok(()),
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Error>> {
        let this = self.get_mut();
        ready!(this.poll_shaken(cx))?;
        match this {
            Socket::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Handshake(_) | Socket::Failed => Poll::Pending,
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, Error>> {
        let this = self.get_mut();
        ready!(this.poll_shaken(cx))?;
        match this {
            Socket::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Handshake(_) | Socket::Failed => Poll::Pending,
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize, Error>> {
        let this = self.get_mut();
        ready!(this.poll_shaken(cx))?;
        match this {
            Socket::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Socket::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Socket::Handshake(_) | Socket::Failed => Poll::Pending,
        }
    }

    /// Called before the handshake, too: the answer must not change with it.
    fn is_write_vectored(&self) -> bool {
        matches!(self, Socket::Plain(_))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(cx),
            // Nothing was written yet.
            Socket::Handshake(_) | Socket::Failed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            // Dropping it closes the connection.
            Socket::Handshake(_) | Socket::Failed => Poll::Ready(Ok(())),
        }
    }
}
