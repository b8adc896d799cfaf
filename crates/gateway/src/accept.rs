//! Accepts connections and distributes them over threads.

use std::io;
use std::net::IpAddr;
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

/// An address that is bound, and what is spoken there.
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
    let room = Arc::new(Semaphore::new(config.max_connections.max(1)));
    let watch = Watch::new(config, age, Arc::clone(&room));
    let certificate = Listener::watch_certificate(listener.tls.clone());
    let door = Door {
        listener,
        room,
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

/// Where the connections of a front end come in.
struct Door<'a> {
    listener: Listener,
    room: Arc<Semaphore>,
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
                accepted = accept_one(&self.listener.sockets, &self.room) => accepted,
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
        // Who has not heard yet that the node stops is answered too, as long as others are.
        let mut last = std::pin::pin!(tokio::time::sleep(self.patience / LAST_ANSWER));
        while !connections.is_empty() {
            let accepted = tokio::select! {
                accepted = accept_one(&self.listener.sockets, &self.room) => accepted,
                Some(_) = connections.join_next() => continue,
                () = last.as_mut() => break,
            };
            let handed_over = accepted.and_then(|(stream, peer, permit)| {
                self.hand_over((stream, peer), permit, &mut connections, &connect)
            });
            if handed_over.is_err() {
                break;
            }
        }
        drop(self.listener);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.patience, all_ended)
            .await
            .is_err()
        {
            tracing::warn!(
                open = connections.len(),
                "connections are cut as the time to stop is over"
            );
        }
        connections.shutdown().await;
    }

    /// Gives the connection to the worker whose turn it is.
    fn hand_over(
        &self,
        (stream, peer): (TcpStream, IpAddr),
        permit: OwnedSemaphorePermit,
        connections: &mut JoinSet<()>,
        connect: impl Fn(Accepted) -> Connection,
    ) -> io::Result<()> {
        let worker = self.workers.next().ok_or(io::ErrorKind::NotConnected)?;
        prepare(&stream);
        let stream = stream.into_std()?;
        // The socket is the worker's from here on: its runtime hears of its events.
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
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer.ip(), permit))
}

/// Bytes that a socket takes and has not sent yet. Without it a client that does not read gets megabytes of jobs.
const UNSENT_BYTES: u32 = 128 << 10;

fn prepare(stream: &TcpStream) {
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
