//! The connection over which this node sends one class of messages to one other node.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::frame;
use crate::greeting::{Greeting, Opening, Reply};
use crate::peers::{Endpoint, Peer};
use crate::queue::Queue;
use crate::tls::{self, Stream};
use crate::transport::Shared;
use crate::{Class, Owner};

/// How long the other side may take to answer the greeting.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Delay between attempts: initial and maximum.
const BACK_OFF: Duration = Duration::from_millis(50);
const MAX_BACK_OFF: Duration = Duration::from_secs(1);
/// A peer counts as gone if data stays unacknowledged for this long.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);
/// A silent connection is probed after this time.
const PROBE_AFTER: Duration = Duration::from_secs(2);
/// Messages up to this size are combined into one write.
const GATHER: usize = 64 << 10;

/// Why a connection could not be made, or ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Io(Error),
    /// One of the two refuses the other.
    Refused(String),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Io(error)
    }
}

/// Keeps a connection to the node open and sends what is put into its queue, forever.
pub(crate) async fn run<O: Owner>(shared: Arc<Shared<O>>, node: u32, class: Class) {
    let Some(peer) = shared.peers.get(node) else {
        return;
    };
    let mut endpoints = peer.endpoint.subscribe();
    let mut pause = BACK_OFF;
    let mut was_open = false;
    loop {
        let endpoint = endpoints.borrow_and_update().clone();
        let Some(Endpoint { address, .. }) = endpoint else {
            if endpoints.changed().await.is_err() {
                return;
            }
            continue;
        };
        let began = Instant::now();
        let ended = tokio::select! {
            ended = send_to(&shared, peer, class, &address) => ended,
            () = is_elsewhere(&mut endpoints, &address) => Ok(()),
        };
        if peer.queue(class).is_open() {
            peer.queue(class).close();
            shared.owner.disconnected(node, class);
            was_open = true;
        } else if std::mem::take(&mut was_open) {
            shared.owner.lost(node, class);
            // The other classes end at the same time.
            if class == Class::Consensus && is_refused(&ended) {
                shared.owner.gone(node);
            }
        }
        note(peer, class, &address, &ended);
        if began.elapsed() > MAX_BACK_OFF {
            pause = BACK_OFF;
        }
        // Not all at the same moment, but immediately for another address.
        let jitter = pause.mul_f64(f64::from(shared.random()) / f64::from(u32::MAX));
        let _ = timeout(pause + jitter, endpoints.changed()).await;
        pause = (pause * 2).min(MAX_BACK_OFF);
    }
}

/// Whether nobody listens where the node did.
fn is_refused(ended: &Result<(), Ended>) -> bool {
    matches!(ended, Err(Ended::Io(error)) if error.kind() == ErrorKind::ConnectionRefused)
}

/// Completes when the node is known to be at another address than this one.
async fn is_elsewhere(endpoints: &mut watch::Receiver<Option<Endpoint>>, address: &str) {
    let elsewhere = |endpoint: &Option<Endpoint>| {
        let endpoint = endpoint.as_ref();
        endpoint.is_some_and(|endpoint| endpoint.address != address)
    };
    if endpoints.wait_for(elsewhere).await.is_err() {
        std::future::pending().await
    }
}

fn note(peer: &Peer, class: Class, address: &str, ended: &Result<(), Ended>) {
    let node = peer.node;
    match ended {
        Err(Ended::Refused(reason)) if peer.is_news(Some(reason.clone())) => {
            tracing::error!(code = "NODE_REFUSED", node, address, %reason, "no connection between nodes");
        }
        Err(Ended::Io(error)) => {
            tracing::debug!(node, address, class = class.name(), %error, "no connection to another node");
        }
        _ => {}
    }
}

async fn send_to<O: Owner>(
    shared: &Shared<O>,
    peer: &Peer,
    class: Class,
    address: &str,
) -> Result<(), Ended> {
    let (mut stream, greeting, version) = greet(shared, address, class as u8).await?;
    if greeting.node != peer.node {
        // Addresses have moved: the contact points tell where it is now.
        let (found, wanted) = (greeting.node, peer.node);
        peer.endpoint.send_replace(None);
        return Err(Ended::Refused(format!(
            "node {found} answers at the address of node {wanted}"
        )));
    }
    peer.is_news(None);
    peer.speaks(version);
    let queue = peer.queue(class);
    queue.open(version);
    shared.owner.connected(peer.node, class);
    match &mut stream {
        Stream::Plain(stream) => {
            let (reader, writer) = stream.split();
            send_all(queue, reader, writer).await
        }
        Stream::Tls(stream) => {
            let (reader, writer) = tokio::io::split(stream);
            send_all(queue, reader, writer).await
        }
    }
}

/// Sends what is put into the queue until the connection ends.
async fn send_all(
    queue: &Queue,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<(), Ended> {
    let mut gathered = Vec::new();
    let mut nothing = [0; 1];
    loop {
        let messages = tokio::select! {
            messages = queue.take() => messages,
            // The other side never writes: reading can only end.
            read = reader.read(&mut nothing) => {
                read?;
                return Ok(());
            }
        };
        for message in messages {
            gathered.extend_from_slice(&(message.len() as u32).to_le_bytes());
            if message.len() <= GATHER {
                gathered.extend_from_slice(&message);
            }
            if message.len() > GATHER || gathered.len() > GATHER {
                write(&mut writer, &mut gathered, &message).await?;
            }
        }
        writer.write_all(&gathered).await?;
        writer.flush().await?;
        gathered.clear();
    }
}

/// Writes the combined messages, and the message after them if that is too large to be combined.
async fn write(
    writer: &mut (impl AsyncWriteExt + Unpin),
    gathered: &mut Vec<u8>,
    message: &Bytes,
) -> Result<(), Error> {
    writer.write_all(gathered).await?;
    gathered.clear();
    if message.len() > GATHER {
        writer.write_all(message).await?;
    }
    Ok(())
}

/// Connects and exchanges greetings. Returns the version that both speak, too.
pub(crate) async fn greet<O: Owner>(
    shared: &Shared<O>,
    address: &str,
    class: u8,
) -> Result<(Stream, Greeting, u32), Ended> {
    let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
    let stream = connected.map_err(|_| Error::from(ErrorKind::TimedOut))??;
    settle(&stream)?;
    let opening = Opening {
        class,
        greeting: shared.greeting(),
    };
    let exchanged = timeout(GREETING_TIMEOUT, async {
        let mut stream = Stream::connected(stream, shared.tls.as_ref()).await?;
        frame::write_first(&mut stream, &opening).await?;
        let reply = frame::read_first::<Reply>(&mut stream).await?;
        Ok((stream, reply))
    });
    let exchanged = exchanged
        .await
        .map_err(|_| Error::from(ErrorKind::TimedOut))?;
    let (stream, reply) = exchanged.map_err(|error| match tls::reason(&error) {
        Some(reason) => Ended::Refused(reason),
        None if error.kind() == ErrorKind::InvalidData => Ended::Refused(error.to_string()),
        None => Ended::Io(error),
    })?;
    match reply {
        Reply::Welcome(greeting) => {
            let is_from = stream.is_from(greeting.node, shared.first_gateway);
            let meets = is_from.and_then(|()| shared.meets(&greeting));
            let version = meets.map_err(Ended::Refused)?;
            Ok((stream, greeting, version))
        }
        Reply::Refused { reason } => Err(Ended::Refused(reason)),
    }
}

/// Makes sure that a node that is cut off is noticed: by unacknowledged data, and by probes while nothing is sent.
pub(crate) fn settle(stream: &TcpStream) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    let probes = socket2::TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}

/// Pauses before the next check of a contact point.
pub(crate) async fn rest(time: Duration) {
    sleep(time).await;
}
