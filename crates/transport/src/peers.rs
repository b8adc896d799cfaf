//! The other nodes: where they are, and what waits for them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Class;
use crate::queue::Queue;

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) node: u32,
    /// Where it is reached; none while nobody has told.
    pub(crate) address: watch::Sender<Option<String>>,
    queues: [Queue; 3],
    /// What it said of itself last, for those who read logs: the same refusal is told once.
    refused: Mutex<Option<String>>,
}

impl Peer {
    fn new(node: u32) -> Peer {
        Peer {
            node,
            address: watch::Sender::new(None),
            queues: Class::ALL.map(|class| Queue::new(class.bounds())),
            refused: Mutex::default(),
        }
    }

    pub(crate) fn queue(&self, class: Class) -> &Queue {
        let [consensus, requests, bulk] = &self.queues;
        match class {
            Class::Consensus => consensus,
            Class::Requests => requests,
            Class::Bulk => bulk,
        }
    }

    /// True if this is another reason than the last one.
    pub(crate) fn is_news(&self, reason: Option<String>) -> bool {
        let mut refused = self.refused.lock();
        let news = *refused != reason;
        *refused = reason;
        news
    }

    /// Where the node says that it is. An address at which it was found is better.
    pub(crate) fn is_said_to_be_at(&self, address: &str) {
        self.address.send_if_modified(|known| {
            let first = known.is_none() && !address.is_empty();
            if first {
                *known = Some(address.to_string());
            }
            first
        });
    }

    /// It is not there any more, and says where it is when it comes again.
    pub(crate) fn has_left(&self, address: &str) {
        self.address.send_if_modified(|known| {
            let left = known.as_deref() == Some(address);
            if left {
                *known = None;
            }
            left
        });
    }

    pub(crate) fn was_found_at(&self, address: &str) {
        self.address.send_if_modified(|known| {
            let news = known.as_deref() != Some(address);
            *known = Some(address.to_string());
            news
        });
    }
}

/// Who was refused before it said who it is.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Mutex<BTreeMap<IpAddr, String>>);

/// Of more the log does not tell.
const MAX_STRANGERS: usize = 64;

impl Strangers {
    /// True if this was not the last reason for this address.
    pub(crate) fn are_new(&self, address: IpAddr, reason: &str) -> bool {
        let mut known = self.0.lock();
        if known.len() >= MAX_STRANGERS && !known.contains_key(&address) {
            return false;
        }
        known.insert(address, reason.to_string()).as_deref() != Some(reason)
    }
}

/// All nodes that there can be but this one.
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

    /// The greatest number that a node can have.
    pub(crate) fn most(&self) -> u32 {
        self.size.saturating_sub(1)
    }

    /// Nodes with the addresses that are known.
    pub(crate) fn known(&self) -> Vec<(u32, String)> {
        let known = |peer: &Peer| Some((peer.node, peer.address.borrow().clone()?));
        self.iter().filter_map(known).collect()
    }
}
