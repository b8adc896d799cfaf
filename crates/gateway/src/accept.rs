//! Accepts connections and distributes them over threads.

use std::io;
use std::net::{IpAddr, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use skep_tls::{ServerTls, Socket};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::config::GatewayConfig;
use crate::connection::{Accepted, Connection, LAST_ANSWER, Watch};
use crate::stop::Stop;
use crate::workers::Dealer;

/// A bound address with its protocol.
pub struct Listener {
    pub sockets: TcpListener,
    pub tls: Option<ServerTls>,
}

impl Listener {
    fn socket(&self, stream: TcpStream) -> Socket {
        match &self.tls {
            Some(tls) => tls.accept(stream),
            None => stream.into(),
        }
    }

    /// Looks after the certificate, if there is one.
    async fn watch_certificate(tls: Option<ServerTls>) {
        match tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    }
}

/// Accepts connections, of an age at most, until the stop, then waits for the open connections, at most the grace.
pub async fn accept(
    listener: Listener,
    config: &GatewayConfig,
    age: Duration,
    stop: Stop,
    workers: Dealer<'_>,
    connect: impl Fn(Accepted) -> Connection,
) {
    let capacity = Arc::new(Semaphore::new(config.max_connections.max(1)));
    let watch = Watch::new(config, age, Arc::clone(&capacity));
    let certificate = Listener::watch_certificate(listener.tls.clone());
    let door = Door {
        listener,
        capacity,
        watch: &watch,
        workers,
        patience: config.shutdown_grace,
    };
    let served = async { tokio::join!(watch.run(stop.clone()), door.run(stop.clone(), connect)) };
    tokio::select! {
        _ = served => {}
        () = certificate => {}
    }
}

/// The entrance of a front end's connections.
struct Door<'a> {
    listener: Listener,
    capacity: Arc<Semaphore>,
    watch: &'a Watch,
    workers: Dealer<'a>,
    patience: Duration,
}

impl Door<'_> {
    async fn run(self, stop: Stop, connect: impl Fn(Accepted) -> Connection) {
        let mut connections = JoinSet::new();
        let mut stopped = std::pin::pin!(stop.stopped());
        loop {
            let accepted = tokio::select! {
                accepted = accept_one(&self.listener.sockets, &self.capacity) => accepted,
                Some(_) = connections.join_next() => continue,
                () = stopped.as_mut() => break,
            };
            let handed_over = accepted.and_then(|(stream, peer, permit)| {
                self.hand_over((stream, peer), permit, &mut connections, &connect)
            });
            if let Err(error) = handed_over {
                // Out of descriptors, mostly: other connections have to end before this gets better.
                tracing::warn!(code = "CONNECTION_NOT_ACCEPTED", %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        self.serve_the_last(&mut connections, &connect).await;
        drop(self.listener);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.patience, all_ended)
            .await
            .is_err()
        {
            tracing::warn!(
                open = connections.len(),
                "connections are closed: the shutdown time is over"
            );
        }
        connections.shutdown().await;
    }

    /// Serves clients that have not heard of the stop yet, until none is left or comes. Closing the listener resets
    /// connections that nobody has accepted, and leaves clients that have sent a request in doubt: so all connections that
    /// the kernel has are accepted first.
    async fn serve_the_last(
        &self,
        connections: &mut JoinSet<()>,
        connect: impl Fn(Accepted) -> Connection,
    ) {
        let sockets = &self.listener.sockets;
        let mut over = std::pin::pin!(tokio::time::sleep(self.patience / LAST_ANSWER));
        loop {
            let accepted = tokio::select! {
                accepted = tokio::time::timeout(QUIET, accept_one(sockets, &self.capacity)) => accepted,
                Some(_) = connections.join_next() => continue,
                () = over.as_mut() => break,
            };
            let handed_over = match accepted {
                Ok(Ok((stream, peer, permit))) => {
                    self.hand_over((stream, peer), permit, connections, &connect)
                }
                Ok(Err(error)) => Err(error),
                Err(_) if connections.is_empty() => break,
                Err(_) => continue,
            };
            if handed_over.is_err() {
                break;
            }
        }
        refuse_handshakes(sockets);
        for _ in 0..QUEUED {
            let Ok(permit) = Arc::clone(&self.capacity).try_acquire_owned() else {
                break;
            };
            let Ok((stream, peer)) = accept_at_once(sockets) else {
                break;
            };
            // An error is one of this connection alone, which is closed.
            let _ = self.hand_over((stream, peer), permit, connections, &connect);
        }
    }

    /// Gives the connection to the worker whose turn it is.
    fn hand_over(
        &self,
        (stream, peer): (StdStream, IpAddr),
        permit: OwnedSemaphorePermit,
        connections: &mut JoinSet<()>,
        connect: impl Fn(Accepted) -> Connection,
    ) -> io::Result<()> {
        let worker = self.workers.next().ok_or(io::ErrorKind::NotConnected)?;
        prepare(&stream);
        // The socket belongs to the worker from here on: its runtime receives the socket's events.
        let _here = worker.enter();
        let connection = connect(Accepted {
            peer,
            socket: self.listener.socket(TcpStream::from_std(stream)?),
            activity: self.watch.opened(),
            patience: self.patience,
        });
        let served = async move {
            connection.await;
            drop(permit);
        };
        connections.spawn_on(served, worker);
        Ok(())
    }
}

async fn accept_one(
    listener: &TcpListener,
    capacity: &Arc<Semaphore>,
) -> io::Result<(StdStream, IpAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(capacity)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream.into_std()?, peer.ip(), permit))
}

/// Accepts a connection that the kernel has, also one that the runtime has not heard of.
fn accept_at_once(listener: &TcpListener) -> io::Result<(StdStream, IpAddr)> {
    let (socket, peer) = SockRef::from(listener).accept()?;
    socket.set_nonblocking(true)?;
    // Not read from the socket: a client that is gone meanwhile must not end the loop over those behind it.
    let peer = peer.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    Ok((StdStream::from(socket), peer.ip()))
}

/// A stop ends the listener once no connection is open and none came for this long.
const QUIET: Duration = Duration::from_millis(20);

/// More connections than the kernel queues for a listener (128 and one). Where further handshakes are not refused, the loop
/// over the queue still ends.
const QUEUED: usize = 256;

/// Makes the kernel drop the first packet of further handshakes. A client sends it again after a second, and is refused then,
/// as the listener is closed by that time.
#[cfg(target_os = "linux")]
fn refuse_handshakes(listener: &TcpListener) {
    use socket2::SockFilter;

    /// Offset of the flags in a TCP header, and the flag that requests a connection.
    const FLAGS: u32 = 13;
    const SYN: u32 = 2;
    // Classic BPF: load a byte, jump by its bits, return how much of the packet is kept.
    let filter = [
        SockFilter::new(0x30, 0, 0, FLAGS),
        SockFilter::new(0x45, 0, 1, SYN),
        SockFilter::new(0x06, 0, 0, 0),
        SockFilter::new(0x06, 0, 0, u32::MAX),
    ];
    if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
        // A client that connects in the last microseconds is reset then.
        tracing::debug!(%error, "new connections cannot be rejected during shutdown");
    }
}

/// Elsewhere a client that connects in the last microseconds is reset.
#[cfg(not(target_os = "linux"))]
fn refuse_handshakes(_: &TcpListener) {}

/// Bytes that a socket takes and has not sent yet. Without it a client that does not read gets megabytes of jobs.
const UNSENT_BYTES: u32 = 128 << 10;

fn prepare(stream: &StdStream) {
    let socket = SockRef::from(stream);
    let keep_alive = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(10));
    // None of these is needed for a connection to work.
    let _ = stream.set_nodelay(true);
    let _ = socket.set_tcp_keepalive(&keep_alive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_notsent_lowat(UNSENT_BYTES);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn a_handshake_that_comes_after_the_filter_is_refused_and_one_before_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _early = TcpStream::connect(address).await.unwrap();
        refuse_handshakes(&listener);
        let mut late = pin!(TcpStream::connect(address));
        // The first packet is out.
        let begun = poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx))).await;
        assert!(begun.is_pending());
        listener.accept().await.unwrap();
        drop(listener);
        let refused = late.await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
