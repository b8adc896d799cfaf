//! The other nodes: where they are, and the messages that wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::Class;
use crate::queue::Queue;

/// The address of a node.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: String,
    /// Whether a contact point found it there, or the node itself reported the address. Otherwise it is hearsay.
    found: bool,
}

/// A connection from the node to this one.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) incarnation: u64,
    /// Notified when the node has opened another one.
    pub(crate) replaced: Arc<Notify>,
}

impl Incoming {
    pub(crate) fn new(incarnation: u64) -> Incoming {
        Incoming {
            incarnation,
            replaced: Arc::default(),
        }
    }
}

/// Maximum number of earlier processes that are remembered per node.
const MAX_EARLIER: usize = 64;

/// The processes that have used the number of a node, by their incarnation.
#[derive(Debug, Default)]
struct Processes {
    current: Option<u64>,
    /// Processes that were replaced by another one. Oldest first.
    earlier: VecDeque<u64>,
}

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) node: u32,
    /// `None` until an address is known.
    pub(crate) endpoint: watch::Sender<Option<Endpoint>>,
    queues: [Queue; 3],
    incoming: [Mutex<Option<Incoming>>; 3],
    processes: Mutex<Processes>,
    /// The version last spoken with the node; 0: not since the start of this process.
    version: AtomicU32,
    /// The last refusal, for the log: the same refusal is reported only once.
    refused: Mutex<Option<String>>,
}

impl Peer {
    fn new(node: u32) -> Peer {
        Peer {
            node,
            endpoint: watch::Sender::new(None),
            queues: Class::ALL.map(|class| Queue::new(class.bounds())),
            incoming: Class::ALL.map(|_| Mutex::default()),
            processes: Mutex::default(),
            version: AtomicU32::new(0),
            refused: Mutex::default(),
        }
    }

    /// The version last spoken with the node. It is remembered while the node is away.
    pub(crate) fn version(&self) -> Option<u32> {
        Some(self.version.load(Ordering::Relaxed)).filter(|version| *version > 0)
    }

    pub(crate) fn speaks(&self, version: u32) {
        self.version.store(version, Ordering::Relaxed);
    }

    pub(crate) fn queue(&self, class: Class) -> &Queue {
        let [consensus, requests, bulk] = &self.queues;
        match class {
            Class::Consensus => consensus,
            Class::Requests => requests,
            Class::Bulk => bulk,
        }
    }

    fn incoming(&self, class: Class) -> &Mutex<Option<Incoming>> {
        let [consensus, requests, bulk] = &self.incoming;
        match class {
            Class::Consensus => consensus,
            Class::Requests => requests,
            Class::Bulk => bulk,
        }
    }

    /// Accepts this process as the node, if allowed. A process is the node as long as it is connected, and never again once another one has
    /// taken its place: two processes with copies of the same data would vote twice as one member.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn admits(&self, incarnation: u64) -> Result<(), String> {
        let node = self.node;
        let mut processes = self.processes.lock();
        if processes.current == Some(incarnation) {
            return Ok(());
        }
        if processes.earlier.contains(&incarnation) {
            return Err(format!(
                "node {node} was started again since this process was: stop this one, or give it a camunda.cluster.node-id of its own"
            ));
        }
        let is_connected = |slot: &Mutex<Option<Incoming>>| slot.lock().is_some();
        if self.incoming.iter().any(is_connected) {
            return Err(format!(
                "two nodes have the number {node}, and the other one is connected: each needs a camunda.cluster.node-id of its own"
            ));
        }
        let before = processes.current.replace(incarnation);
        processes.earlier.extend(before);
        if processes.earlier.len() > MAX_EARLIER {
            processes.earlier.pop_front();
        }
        Ok(())
    }

    /// The node has connected. Returns the previous connection if nobody has noticed yet that it is dead: a node has one per class.
    pub(crate) fn connects(&self, class: Class, connection: Incoming) -> Option<Incoming> {
        let before = self.incoming(class).lock().replace(connection);
        before.inspect(|before| before.replaced.notify_one())
    }

    /// The connection has ended. False if another one has already taken its place.
    pub(crate) fn ends(&self, class: Class, connection: &Incoming) -> bool {
        let is_it = |it: &mut Incoming| Arc::ptr_eq(&it.replaced, &connection.replaced);
        self.incoming(class).lock().take_if(is_it).is_some()
    }

    /// True if this reason differs from the last one.
    pub(crate) fn is_news(&self, reason: Option<String>) -> bool {
        let mut refused = self.refused.lock();
        let news = *refused != reason;
        *refused = reason;
        news
    }

    fn is_connected(&self) -> bool {
        self.queues.iter().any(Queue::is_open)
    }

    /// An address that others report, or that the node itself reports. An address at which it was found takes precedence.
    pub(crate) fn is_said_to_be_at(&self, address: &str) {
        self.endpoint.send_if_modified(|known| {
            let first = known.is_none() && !address.is_empty();
            if first {
                *known = Some(Endpoint {
                    address: address.to_string(),
                    found: false,
                });
            }
            first
        });
    }

    /// The node is no longer there, and will report its address when it comes back.
    pub(crate) fn has_left(&self, address: &str) {
        self.endpoint.send_if_modified(|known| {
            let endpoint = known.take_if(|endpoint| endpoint.address == address);
            endpoint.is_some()
        });
    }

    /// A contact point has led to the node. Several may: a working address is kept.
    pub(crate) fn was_found_at(&self, address: &str) {
        let works = self.is_connected();
        self.endpoint.send_if_modified(|known| {
            let keeps = known
                .as_ref()
                .is_some_and(|endpoint| endpoint.found && works);
            !keeps && found_at(known, address)
        });
    }

    /// A node that comes back at another address each time reports that it is there now.
    pub(crate) fn has_moved_to(&self, address: &str) {
        self.endpoint
            .send_if_modified(|known| found_at(known, address));
    }
}

/// Sets the address at which the node was found. True if it has changed.
fn found_at(known: &mut Option<Endpoint>, address: &str) -> bool {
    let before = known.replace(Endpoint {
        address: address.to_string(),
        found: true,
    });
    before.is_none_or(|endpoint| endpoint.address != address)
}

/// Peers that were refused before they presented themselves.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Mutex<BTreeMap<IpAddr, String>>);

/// Maximum number of strangers in the log.
const MAX_STRANGERS: usize = 64;

impl Strangers {
    /// True if this reason differs from the last one for this address.
    pub(crate) fn are_new(&self, address: IpAddr, reason: &str) -> bool {
        let mut known = self.0.lock();
        if known.len() >= MAX_STRANGERS && !known.contains_key(&address) {
            return false;
        }
        known.insert(address, reason.to_string()).as_deref() != Some(reason)
    }
}

/// All possible nodes except this one.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: BTreeMap<u32, Peer>,
    size: u32,
}

impl Peers {
    pub(crate) fn new(own: u32, size: u32) -> Peers {
        let others = (0..size).filter(|node| *node != own);
        Peers {
            peers: others.map(|node| (node, Peer::new(node))).collect(),
            size,
        }
    }

    pub(crate) fn get(&self, node: u32) -> Option<&Peer> {
        self.peers.get(&node)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.peers.values()
    }

    /// The greatest possible node number.
    pub(crate) fn most(&self) -> u32 {
        self.size.saturating_sub(1)
    }

    /// Nodes with their known addresses.
    pub(crate) fn known(&self) -> Vec<(u32, String)> {
        let known = |peer: &Peer| {
            let endpoint = peer.endpoint.borrow();
            Some((peer.node, endpoint.as_ref()?.address.clone()))
        };
        self.iter().filter_map(known).collect()
    }
}
