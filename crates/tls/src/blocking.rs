//! One end of a connection for callers that block, with TLS or without.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use tokio_rustls::rustls::{ClientConnection, StreamOwned};

/// The client's end of a connection. Time limits are those of its [`tcp`](Self::tcp).
pub enum BlockingSocket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl std::fmt::Debug for BlockingSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BlockingSocket::Plain(_) => "Plain",
            BlockingSocket::Tls(_) => "Tls",
        })
    }
}

impl From<TcpStream> for BlockingSocket {
    fn from(stream: TcpStream) -> BlockingSocket {
        BlockingSocket::Plain(stream)
    }
}

impl BlockingSocket {
    /// The connection on the wire.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            BlockingSocket::Plain(stream) => stream,
            BlockingSocket::Tls(stream) => &stream.sock,
        }
    }
}

impl Read for BlockingSocket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            BlockingSocket::Plain(stream) => stream.read(bytes),
            BlockingSocket::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for BlockingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            BlockingSocket::Plain(stream) => stream.write(bytes),
            BlockingSocket::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            BlockingSocket::Plain(stream) => stream.flush(),
            BlockingSocket::Tls(stream) => stream.flush(),
        }
    }
}
