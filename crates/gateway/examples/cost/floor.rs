//! The lower bound for HTTP/1.1: a server that reads and writes the same bytes, calls the same broker, and does nothing else. Its cost is
//! that of a connection per request in flight: a read, a write, and the way to another thread and back.

use std::net::SocketAddr;
use std::sync::Arc;

use skep_protocol::command::{Command, Request};
use skep_protocol::{Document, Key};
use skep_service::{Broker, Post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};

/// The gateway's answer to a completed job.
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\ndate: Sun, 22 Nov 2026 15:41:07 GMT\r\n\r\n";

/// Serves with as many threads as the gateway.
pub fn start(threads: usize, broker: &Arc<dyn Broker>) -> SocketAddr {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let addr = listener.local_addr().expect("an address");
    let threads: Vec<Handle> = (0..threads).map(|_| thread(broker)).collect();
    let broker = Arc::clone(broker);
    std::thread::spawn(move || {
        for thread in threads.iter().cycle() {
            let (stream, _) = listener.accept().expect("a connection");
            stream.set_nonblocking(true).expect("a socket");
            stream.set_nodelay(true).expect("a socket");
            thread.spawn(serve(stream, Arc::clone(&broker)));
        }
    });
    addr
}

/// A thread like those of the gateway.
fn thread(broker: &Arc<dyn Broker>) -> Handle {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (handle, broker) = (runtime.handle().clone(), Arc::clone(broker));
    let post = Post::serve(move || broker.ring());
    std::thread::spawn(move || runtime.block_on(post));
    handle
}

async fn serve(stream: std::net::TcpStream, broker: Arc<dyn Broker>) {
    let mut stream = TcpStream::from_std(stream).expect("a socket of this runtime");
    let (mut buffer, mut have, mut length) = (vec![0; 64 << 10], 0, None);
    loop {
        match stream.read(&mut buffer[have..]).await {
            Ok(read) if read > 0 => have += read,
            _ => return,
        }
        // All requests of a connection have the same length.
        length = length.or_else(|| length_of(&buffer[..have]));
        if length != Some(have) {
            continue;
        }
        have = 0;
        let complete = Command::CompleteJob {
            job_key: Key(1),
            variables: Document::new(),
            result: None,
        };
        broker.execute(Request::internal(complete)).await;
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
    }
}

/// Bytes of a request whose head has arrived.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let (head, _) = text.split_once("\r\n\r\n")?;
    let body = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))?;
    Some(head.len() + 4 + body.trim().parse::<usize>().expect("a number"))
}
