//! The end of a connection. Closing a socket with unread bytes resets the connection, and a reset discards what the client
//! has not read yet: the last answers, and the GOAWAY that says which requests were not begun. So the bytes that the client
//! still sends are read and dropped until it closes its side, for a moment at most.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

/// Maximum wait for a client to close its side.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum bytes to drain.
const MOST_BYTES: usize = 1 << 20;
const AT_ONCE: usize = 4096;

#[derive(Debug)]
pub struct Linger {
    over: Pin<Box<Sleep>>,
    bytes: usize,
}

impl Linger {
    pub fn new() -> Linger {
        Linger {
            over: Box::pin(tokio::time::sleep(PATIENCE)),
            bytes: 0,
        }
    }

    /// Ready once nothing is lost by closing the socket.
    pub fn poll<S: AsyncRead + Unpin>(
        &mut self,
        socket: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; AT_ONCE];
        while self.bytes < MOST_BYTES && self.over.as_mut().poll(cx).is_pending() {
            let mut read = ReadBuf::new(&mut space);
            let ended = ready!(Pin::new(&mut *socket).poll_read(cx, &mut read)).is_err();
            if ended || read.filled().is_empty() {
                break;
            }
            self.bytes += read.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;

    use super::{Linger, PATIENCE};

    /// A client, and the server's side of its connection.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (client.unwrap(), accepted.unwrap().0)
    }

    async fn close(mut socket: TcpStream) {
        socket.shutdown().await.unwrap();
        let mut linger = Linger::new();
        poll_fn(|cx| linger.poll(&mut socket, cx)).await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_is_not_lost_because_the_client_had_sent_more() {
        let (mut client, mut server) = pair().await;
        server.write_all(b"the answer").await.unwrap();
        client.write_all(&[7; 50_000]).await.unwrap();
        let closing = tokio::spawn(close(server));
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"the answer");
        drop(client);
        closing.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_close_is_waited_for_no_longer_than_a_moment() {
        let (_client, server) = pair().await;
        let began = Instant::now();
        close(server).await;
        let took = began.elapsed();
        assert!(took >= PATIENCE && took < PATIENCE * 2, "{took:?}");
    }
}
