//! Carrying messages between nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded};

/// Sends bytes to other nodes. Best effort: messages may be lost, and a slow receiver must not block the sender.
pub trait Transport: Send + Sync {
    /// Sends a message, or drops it if the node cannot be reached or its queue is full.
    fn send(&self, to: u64, message: Bytes);
}

/// A transport between nodes of one process, for tests and for clusters inside one process.
#[derive(Clone)]
pub struct InProcess {
    nodes: Arc<BTreeMap<u64, Sender<Bytes>>>,
}

impl InProcess {
    /// Connects nodes; each gets an inbox with room for `queue` messages. Messages that do not fit are dropped.
    pub fn connect(nodes: &[u64], queue: usize) -> (Self, BTreeMap<u64, Receiver<Bytes>>) {
        let mut senders = BTreeMap::new();
        let mut inboxes = BTreeMap::new();
        for node in nodes {
            let (sender, inbox) = bounded(queue.max(1));
            senders.insert(*node, sender);
            inboxes.insert(*node, inbox);
        }
        let transport = Self {
            nodes: Arc::new(senders),
        };
        (transport, inboxes)
    }
}

impl Transport for InProcess {
    fn send(&self, to: u64, message: Bytes) {
        if let Some(node) = self.nodes.get(&to) {
            // Full or gone: Raft repeats what matters.
            let _ = node.try_send(message);
        }
    }
}
