//! Incoming connections from other nodes: their messages go to the owner.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
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
/// Maximum number of connections that have not greeted yet: whoever reaches the port could take all file descriptors of the process
/// otherwise. More than all nodes of a cluster open at one time.
const MAX_NEW: usize = 512;

/// Connections that have not greeted yet.
#[derive(Clone, Default)]
struct Newcomers(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    /// Oldest first.
    by_address: HashMap<IpAddr, VecDeque<Place>>,
    /// The number of the next one.
    next: u64,
}

struct Place {
    number: u64,
    gives_way: Arc<Notify>,
}

/// One of them, until it has greeted or is closed.
struct Newcomer {
    all: Newcomers,
    address: IpAddr,
    number: u64,
    gives_way: Arc<Notify>,
}

impl Newcomers {
    /// Gives a connection a place. If all are taken, the connection that has waited longest gives way to it, of the address that has most of
    /// them. Silent connections can then not keep nodes out, as they would if new ones were refused: a node greets at once, and has few
    /// connections, so it is not the one that gives way while somebody else has many, from however few addresses.
    fn admit(&self, address: IpAddr) -> Newcomer {
        let mut waiting = self.0.lock();
        waiting.make_room();
        let number = waiting.next;
        waiting.next += 1;
        let gives_way = Arc::new(Notify::new());
        let place = Place {
            number,
            gives_way: gives_way.clone(),
        };
        let of_address = waiting.by_address.entry(address).or_default();
        of_address.push_back(place);
        Newcomer {
            all: self.clone(),
            address,
            number,
            gives_way,
        }
    }
}

impl Waiting {
    fn make_room(&mut self) {
        let all: usize = self.by_address.values().map(VecDeque::len).sum();
        if all < MAX_NEW {
            return;
        }
        let rank = |places: &VecDeque<Place>| {
            let oldest = places.front().map(|place| Reverse(place.number));
            (places.len(), oldest)
        };
        let by_address = self.by_address.iter();
        let most = by_address.max_by_key(|(_, places)| rank(places));
        let Some((address, oldest)) =
            most.and_then(|(address, places)| Some((*address, places.front()?)))
        else {
            return;
        };
        oldest.gives_way.notify_one();
        let number = oldest.number;
        self.leaves(address, number);
    }

    fn leaves(&mut self, address: IpAddr, number: u64) {
        if let Some(places) = self.by_address.get_mut(&address) {
            places.retain(|place| place.number != number);
            if places.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.all.0.lock().leaves(self.address, self.number);
    }
}

pub(crate) async fn run<O: Owner>(shared: Arc<Shared<O>>, listener: TcpListener) {
    let newcomers = Newcomers::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let (shared, newcomer) = (shared.clone(), newcomers.admit(from.ip()));
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
    newcomer: Newcomer,
) -> Result<(Stream, Opening), Error> {
    settle(&stream)?;
    let opening = timeout(GREETING_TIMEOUT, async {
        let mut stream = Stream::accepted(stream, shared.tls.as_ref()).await?;
        let opening = frame::read_first::<Opening>(&mut stream).await?;
        Ok::<_, Error>((stream, opening))
    });
    tokio::select! {
        biased;
        opening = opening => opening.map_err(|_| Error::other("it sends no greeting"))?,
        () = newcomer.gives_way.notified() => Err(Error::new(
            ErrorKind::InvalidData,
            "too many connections are open from which no greeting has come",
        )),
    }
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

    use tokio::sync::Notify;

    use super::{MAX_NEW, Newcomer, Newcomers};

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// The connections of an address that must give way, by their order.
    fn given_way(connections: &[Newcomer]) -> Vec<usize> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut gives_way = |notify: &Notify| {
            let notified = std::pin::pin!(notify.notified());
            notified.poll(&mut context).is_ready()
        };
        let connections = connections.iter().enumerate();
        let found = connections.filter(|(_, it)| gives_way(&it.gives_way));
        found.map(|(order, _)| order).collect()
    }

    #[test]
    fn the_oldest_of_the_address_with_most_silent_connections_gives_way() {
        let newcomers = Newcomers::default();
        let admit = |last: u8, count: usize| -> Vec<Newcomer> {
            (0..count).map(|_| newcomers.admit(address(last))).collect()
        };
        let first = admit(1, MAX_NEW / 2);
        let mut second = admit(2, MAX_NEW / 2);
        let node = admit(3, 3);
        assert_eq!(given_way(&first), [0, 1], "it came first");
        assert_eq!(given_way(&second), [0]);
        // A place that is free again is taken before another one gives way.
        second.pop();
        let again = admit(4, 2);
        assert_eq!(given_way(&first), [2]);
        assert!(given_way(&second).is_empty());
        assert!(given_way(&node).is_empty() && given_way(&again).is_empty());
        let places = || -> usize {
            let waiting = newcomers.0.lock();
            waiting.by_address.values().map(|it| it.len()).sum()
        };
        assert_eq!(places(), MAX_NEW);
        drop((first, second, node, again));
        assert!(newcomers.0.lock().by_address.is_empty());
    }

    #[test]
    fn an_address_alone_makes_room_for_itself() {
        let newcomers = Newcomers::default();
        let all: Vec<Newcomer> = (0..MAX_NEW + 2)
            .map(|_| newcomers.admit(address(1)))
            .collect();
        assert_eq!(given_way(&all), [0, 1]);
    }
}
