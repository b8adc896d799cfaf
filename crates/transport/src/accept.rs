//! Incoming connections from other nodes: their messages go to the owner.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::frame::{self, MAX_FRAME};
use crate::greeting::{Opening, Reply};
use crate::link::settle;
use crate::peers::Incoming;
use crate::tls::{self, Stream};
use crate::transport::Shared;
use crate::{Class, Owner};

const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes from which the owner handles a message on a thread of its own: decoding 64 MiB takes a tenth of a second, and votes and heartbeats
/// arrive on the transport's thread meanwhile.
const LARGE: usize = 1 << 20;
/// Maximum number of connections that have not greeted yet, of one address and in total: whoever reaches the port could take all file
/// descriptors of the process otherwise. More than all nodes of a cluster open at one time.
const MAX_NEW_OF_ADDRESS: usize = 256;
const MAX_NEW: usize = 512;

/// Connections that have not greeted yet, by address.
#[derive(Clone, Default)]
struct Newcomers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them, until it has greeted or is closed.
struct Newcomer {
    all: Newcomers,
    address: IpAddr,
}

impl Newcomers {
    /// `None`: there are too many.
    fn admit(&self, address: IpAddr) -> Option<Newcomer> {
        let mut by_address = self.0.lock();
        let of_address = by_address.get(&address).copied().unwrap_or_default();
        let all: usize = by_address.values().sum();
        if of_address >= MAX_NEW_OF_ADDRESS || all >= MAX_NEW {
            return None;
        }
        by_address.insert(address, of_address + 1);
        Some(Newcomer {
            all: self.clone(),
            address,
        })
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let mut by_address = self.all.0.lock();
        if let Some(of_address) = by_address.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

pub(crate) async fn run<O: Owner>(shared: Arc<Shared<O>>, listener: TcpListener) {
    let newcomers = Newcomers::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let Some(newcomer) = newcomers.admit(from.ip()) else {
                    let error = Error::new(
                        ErrorKind::InvalidData,
                        "too many connections are open from which no greeting has come",
                    );
                    note(&shared, from, &error);
                    continue;
                };
                let shared = shared.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(&shared, stream, newcomer).await {
                        note(&shared, from, &error);
                    }
                });
            }
            Err(error) => {
                // Too many open files, most likely: it is temporary.
                tracing::warn!(code = "NODE_REFUSED", %error, "a connection of another node cannot be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Logs a peer that is not a node of this cluster, once for each reason.
fn note<O: Owner>(shared: &Shared<O>, from: SocketAddr, error: &Error) {
    let strange = error.kind() == ErrorKind::InvalidData;
    let reason = tls::reason(error).or_else(|| strange.then(|| error.to_string()));
    match reason {
        Some(reason) if shared.strangers.are_new(from.ip(), &reason) => {
            tracing::error!(code = "NODE_REFUSED", %from, %reason, "a connection was refused");
        }
        _ => tracing::debug!(%from, %error, "a connection between nodes ended"),
    }
}

/// Waits for the greeting. The connection counts as a newcomer until then.
async fn greeted<O: Owner>(
    shared: &Shared<O>,
    stream: TcpStream,
    _newcomer: Newcomer,
) -> Result<(Stream, Opening), Error> {
    settle(&stream)?;
    let opening = timeout(GREETING_TIMEOUT, async {
        let mut stream = Stream::accepted(stream, shared.tls.as_ref()).await?;
        let opening = frame::read_first::<Opening>(&mut stream).await?;
        Ok::<_, Error>((stream, opening))
    });
    let opening = opening.await;
    opening.map_err(|_| Error::other("it sends no greeting"))?
}

async fn serve<O: Owner>(
    shared: &Shared<O>,
    stream: TcpStream,
    newcomer: Newcomer,
) -> Result<(), Error> {
    let (mut stream, opening) = greeted(shared, stream, newcomer).await?;
    let Opening { class, greeting } = opening;
    if let Err(reason) = stream.is_from(greeting.node, shared.first_gateway) {
        let refused = Reply::Refused {
            reason: reason.clone(),
        };
        frame::write_first(&mut stream, &refused).await?;
        // Logged on this side too: it may be a stolen key.
        return Err(Error::new(ErrorKind::InvalidData, reason));
    }
    let checked = shared.meets(&greeting).and_then(|version| match class {
        0 => Ok(None),
        class => Class::from_byte(class)
            .map(|class| Some((class, version)))
            .ok_or_else(|| format!("class {class} of connections is not known")),
    });
    let class = match checked {
        Ok(class) => class,
        Err(reason) => {
            let refused = Reply::Refused { reason };
            return frame::write_first(&mut stream, &refused).await;
        }
    };
    let node = greeting.node;
    if let Some(peer) = shared.peers.get(node) {
        if shared.owner.moves(node) {
            peer.has_moved_to(&greeting.address)
        } else {
            peer.is_said_to_be_at(&greeting.address)
        }
    }
    let welcome = Reply::Welcome(shared.greeting());
    frame::write_first(&mut stream, &welcome).await?;
    let Some((class, version)) = class else {
        return Ok(());
    };
    let Some(peer) = shared.peers.get(node) else {
        return Ok(());
    };
    peer.speaks(version);
    let connection = Incoming::new(greeting.incarnation);
    if let Some(before) = peer.connects(class, connection.clone()) {
        shared.owner.closed(node, class, before.incarnation);
    }
    shared.owner.opened(node, class, greeting.incarnation);
    let read = tokio::select! {
        biased;
        () = connection.replaced.notified() => Ok(()),
        read = receive_all(shared, stream, (node, class, version)) => read,
    };
    if peer.ends(class, &connection) {
        shared.owner.closed(node, class, greeting.incarnation);
        // A broker keeps its address while it is away: it may come back there.
        if node >= shared.first_gateway && shared.owner.moves(node) {
            peer.has_left(&greeting.address);
        }
    }
    read
}

/// Receives messages until the connection ends.
async fn receive_all<O: Owner>(
    shared: &Shared<O>,
    stream: Stream,
    (node, class, version): (u32, Class, u32),
) -> Result<(), Error> {
    // Many small messages arrive in one read.
    let mut stream = tokio::io::BufReader::with_capacity(64 << 10, stream);
    while let Some(message) = frame::read(&mut stream, MAX_FRAME).await? {
        // Those of consensus are not decoded further, and are urgent.
        if class == Class::Consensus || message.len() < LARGE {
            shared.owner.received(node, class, version, message);
            continue;
        }
        let owner = shared.owner.clone();
        let handled = move || owner.received(node, class, version, message);
        // It is waited for, as later messages of this class must not overtake it.
        let _ = tokio::task::spawn_blocking(handled).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{MAX_NEW, MAX_NEW_OF_ADDRESS, Newcomer, Newcomers};

    #[test]
    fn connections_without_a_greeting_are_limited_by_address_and_in_total() {
        let newcomers = Newcomers::default();
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let all = |last: u8| -> Vec<Newcomer> {
            std::iter::from_fn(|| newcomers.admit(address(last))).collect()
        };
        let mut first = all(1);
        assert_eq!(first.len(), MAX_NEW_OF_ADDRESS);
        let second = all(2);
        assert_eq!(second.len(), MAX_NEW - MAX_NEW_OF_ADDRESS);
        assert!(newcomers.admit(address(3)).is_none());
        first.pop();
        let third = newcomers.admit(address(3));
        assert!(third.is_some(), "one has greeted");
        drop((first, second, third));
        assert!(newcomers.0.lock().is_empty());
    }
}
