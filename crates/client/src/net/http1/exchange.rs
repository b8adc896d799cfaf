//! One request and its answer on a connection.

use std::{
    future::{Future as _, poll_fn},
    io,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http::StatusCode;
use skep_tls::Socket;
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};

use super::head::{self, Framing, Head};
use crate::{Error, net::framed::too_large};

/// Maximum size of an answer's head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Buffer space reserved for each read.
const READ: usize = 8 << 10;

/// A connection between two requests, or with one under way.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Socket,
    /// Bytes that have arrived and were not handed out yet.
    buffer: BytesMut,
    /// Maximum size of an answer's body, in bytes.
    limit: usize,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    /// Whether the connection can take another request.
    pub(super) reusable: bool,
}

/// Progress of sending.
#[derive(Debug)]
enum Step {
    /// This many more bytes were sent.
    Sent(usize),
    /// The answer has begun, or the connection has ended.
    Arrived(io::Result<bool>),
    Refused(io::Error),
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection was closed before a byte of the request was sent.
    NothingSent(io::Error),
    Lost(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lost(error)
    }
}

impl Connection {
    pub(super) fn new(stream: Socket, limit: usize) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            limit,
        }
    }

    /// False when the server has closed the connection, or sent unsolicited data.
    pub(super) fn is_open(&mut self) -> bool {
        self.buffer.is_empty() && matches!(self.arrived(), Ok(false))
    }

    /// Sends the request and reads the answer.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<Answer, Failure> {
        let sent = self.send(request).await?;
        loop {
            let head = self.head().await?;
            if head.status.is_informational() {
                continue;
            }
            let body = self.body(head).await?;
            return Ok(Answer {
                status: head.status,
                body,
                reusable: sent && head.keep && self.buffer.is_empty(),
            });
        }
    }

    /// False when the server answered before it had the whole request: it will not take the rest.
    async fn send(&mut self, request: &[u8]) -> Result<bool, Failure> {
        let mut rest = request;
        while !rest.is_empty() {
            match poll_fn(|cx| self.poll_send(cx, rest)).await {
                Step::Sent(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
                Step::Arrived(arrived) => {
                    if arrived.map_err(Error::broken)? {
                        return Ok(false);
                    }
                }
                Step::Refused(error) => {
                    let untouched = rest.len() == request.len();
                    return match self.arrived() {
                        // why it takes no more is perhaps said in an answer
                        Ok(true) => Ok(false),
                        _ if untouched => Err(Failure::NothingSent(error)),
                        _ => Err(Error::broken(error).into()),
                    };
                }
            }
        }
        // TLS keeps bytes that the socket has not taken yet
        self.stream.flush().await.map_err(Error::broken)?;
        Ok(true)
    }

    /// Sends, or learns meanwhile that there is an answer already.
    fn poll_send(&mut self, cx: &mut Context<'_>, rest: &[u8]) -> Poll<Step> {
        match Pin::new(&mut self.stream).poll_write(cx, rest) {
            Poll::Ready(Ok(bytes)) => Poll::Ready(Step::Sent(bytes)),
            Poll::Ready(Err(error)) => Poll::Ready(Step::Refused(error)),
            Poll::Pending => self.poll_arrived(cx).map(Step::Arrived),
        }
    }

    /// Whether bytes of an answer are there.
    fn arrived(&mut self) -> io::Result<bool> {
        match self.poll_arrived(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(arrived) => arrived,
            Poll::Pending => Ok(false),
        }
    }

    fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        self.buffer.reserve(READ);
        // dropped unfinished, it has read nothing
        let read = pin!(self.stream.read_buf(&mut self.buffer)).poll(cx);
        read.map(|read| match read {
            Ok(0) => Err(io::ErrorKind::ConnectionReset.into()),
            Ok(_) => Ok(true),
            Err(error) => Err(error),
        })
    }

    /// Reads more; false at the end of the connection.
    async fn fill(&mut self) -> Result<bool, Error> {
        self.buffer.reserve(READ);
        let read = self.stream.read_buf(&mut self.buffer).await;
        Ok(read.map_err(Error::broken)? > 0)
    }

    /// Like [`fill`](Self::fill), where the answer cannot have ended.
    async fn must_fill(&mut self) -> Result<(), Error> {
        if self.fill().await? {
            Ok(())
        } else {
            Err(Error::broken("the connection ended before the answer did"))
        }
    }

    async fn head(&mut self) -> Result<Head, Error> {
        loop {
            if !self.buffer.is_empty()
                && let Some(head) = head::read(&self.buffer)?
            {
                self.buffer.advance(head.bytes);
                return Ok(head);
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(head::invalid("its head is larger than 64 KiB"));
            }
            self.must_fill().await?;
        }
    }

    async fn body(&mut self, head: Head) -> Result<Bytes, Error> {
        match head.framing {
            Framing::Length(0) => Ok(Bytes::new()),
            Framing::Length(length) => self.take(length, 0).await,
            Framing::Chunked => self.chunks().await,
            Framing::Close => {
                self.check(self.buffer.len())?;
                while self.fill().await? {
                    self.check(self.buffer.len())?;
                }
                Ok(self.buffer.split().freeze())
            }
        }
    }

    fn check(&self, length: usize) -> Result<(), Error> {
        if length > self.limit {
            Err(too_large(self.limit))
        } else {
            Ok(())
        }
    }

    /// Takes `length` bytes, after `before` bytes of the same body.
    async fn take(&mut self, length: usize, before: usize) -> Result<Bytes, Error> {
        self.check(length.saturating_add(before))?;
        self.buffer
            .reserve(length.saturating_sub(self.buffer.len()));
        while self.buffer.len() < length {
            self.must_fill().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn chunks(&mut self) -> Result<Bytes, Error> {
        let mut body = BytesMut::new();
        loop {
            match self.chunk_size().await? {
                0 => break,
                size => {
                    let chunk = self.take(size, body.len()).await?;
                    body.extend_from_slice(&chunk);
                    if !self.line().await?.is_empty() {
                        return Err(head::invalid("a chunk that does not end"));
                    }
                }
            }
        }
        // trailers are of no interest
        while !self.line().await?.is_empty() {}
        Ok(body.freeze())
    }

    async fn chunk_size(&mut self) -> Result<usize, Error> {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((bytes, size))) => {
                    self.buffer.advance(bytes);
                    return usize::try_from(size).map_err(head::invalid);
                }
                Ok(httparse::Status::Partial) => self.must_fill().await?,
                Err(_) => return Err(head::invalid("a chunk without a size")),
            }
        }
    }

    /// The next line without its end.
    async fn line(&mut self) -> Result<Bytes, Error> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let line = self.buffer.split_to(end + 1).freeze();
                let text = line.strip_suffix(b"\n").unwrap_or(&line);
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                return Ok(line.slice_ref(text));
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(head::invalid("a line longer than 64 KiB"));
            }
            self.must_fill().await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A connection, and the server's end of it.
    async fn pair(limit: usize) -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, server) = tokio::join!(TcpStream::connect(address), async {
            listener.accept().await
        });
        (
            Connection::new(client.unwrap().into(), limit),
            server.unwrap().0,
        )
    }

    /// Feeds the client an answer in these pieces; returns the answer that it reads.
    async fn answer(pieces: &[&str], limit: usize) -> Result<Answer, Failure> {
        let (mut connection, mut server) = pair(limit).await;
        let talk = async {
            let mut request = [0; 2];
            server.read_exact(&mut request).await.unwrap();
            for piece in pieces {
                server.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            server.shutdown().await.unwrap();
        };
        let (answer, ()) = tokio::join!(connection.exchange(b"hi"), talk);
        answer
    }

    async fn text(pieces: &[&str]) -> (u16, String, bool) {
        let answer = answer(pieces, 100).await.unwrap();
        let body = String::from_utf8(answer.body.to_vec()).unwrap();
        (answer.status.as_u16(), body, answer.reusable)
    }

    #[tokio::test]
    async fn answers_arrive_in_any_pieces_and_framings() {
        let known = ["HTTP/1.1 2", "00 OK\r\ncontent-length: 4\r\n\r\nab", "cd"];
        assert_eq!(text(&known).await, (200, "abcd".into(), true));
        let chunked = [
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3",
            "\r\nabc\r\n1;x=y\r\nd\r\n0\r\nx: y\r",
            "\n\r\n",
        ];
        assert_eq!(text(&chunked).await, (200, "abcd".into(), true));
        let open_end = ["HTTP/1.1 200 OK\r\n\r\nab", "cd"];
        assert_eq!(text(&open_end).await, (200, "abcd".into(), false));
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_or_is_too_large_is_an_error() {
        let cut = ["HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab"];
        let lost = answer(&cut, 100).await;
        assert!(
            matches!(&lost, Err(Failure::Lost(Error::Broken { .. }))),
            "{lost:?}"
        );
        for large in [
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
        ] {
            let lost = answer(&[large], 3).await;
            assert!(
                matches!(&lost, Err(Failure::Lost(Error::Protocol(_)))),
                "{lost:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_early_answer_is_read_and_the_connection_not_used_again() {
        let (mut connection, mut server) = pair(100).await;
        let talk = async {
            let early = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
            server.write_all(early).await.unwrap();
            server
        };
        // More than the sockets buffer, so that sending waits for a reader that never comes.
        let request = vec![b'x'; 64 << 20];
        let (answer, _server) = tokio::join!(connection.exchange(&request), talk);
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status.as_u16(), &answer.body[..]),
            (413, &b"no"[..])
        );
        assert!(!answer.reusable);
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closed_is_not_open() {
        let (mut connection, server) = pair(100).await;
        assert!(connection.is_open());
        drop(server);
        let Socket::Plain(stream) = &connection.stream else {
            panic!("clear text");
        };
        stream.readable().await.unwrap();
        assert!(!connection.is_open());
    }
}
