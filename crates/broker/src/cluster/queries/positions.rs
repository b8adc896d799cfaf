//! Commit positions of partitions: the leader is asked before another node answers a query.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::cluster::Cluster;
use crate::cluster::wire::NodeMessage;

/// A leader that is there answers at once: it only reads a number.
const PATIENCE: Duration = Duration::from_millis(500);

/// The callback that gets the entry; `None`: the position is unknown.
pub type PositionKnown = Box<dyn FnOnce(Option<u64>) + Send>;

struct Pending {
    asked: u32,
    since: Instant,
    known: PositionKnown,
}

/// Questions that are at leaders, by number.
#[derive(Default)]
pub(in crate::cluster) struct Positions {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
}

impl Positions {
    /// Gives up questions that will not be answered.
    fn give_up(&self, which: impl Fn(&Pending) -> bool) {
        let mut pending = self.pending.lock();
        let given_up: Vec<Pending> = pending
            .extract_if(|_, it| which(it))
            .map(|it| it.1)
            .collect();
        drop(pending);
        for pending in given_up {
            (pending.known)(None);
        }
    }
}

impl Cluster {
    /// Asks the node that leads the partition, unless it is this one.
    pub fn ask_position(&self, partition: u32, known: PositionKnown) {
        let leader = self.leader_of(partition).filter(|it| *it != self.node());
        let Some(asked) = leader else {
            return known(None);
        };
        let id = self
            .exchanges
            .positions
            .next
            .fetch_add(1, Ordering::Relaxed);
        let pending = Pending {
            asked,
            since: Instant::now(),
            known,
        };
        self.exchanges.positions.pending.lock().insert(id, pending);
        if !self.send(asked, &NodeMessage::Position { id, partition }) {
            self.position_known(id, None);
        }
    }

    pub(in crate::cluster) fn send_position(&self, from: u32, id: u64, partition: u32) {
        let entry = self.surely_committed(partition);
        self.send(from, &NodeMessage::PositionIs { id, entry });
    }

    pub(in crate::cluster) fn position_known(&self, id: u64, entry: Option<u64>) {
        let pending = self.exchanges.positions.pending.lock().remove(&id);
        if let Some(pending) = pending {
            (pending.known)(entry);
        }
    }

    /// Gives up questions to a node whose connection is lost.
    pub(in crate::cluster) fn lose_positions(&self, node: u32) {
        self.exchanges
            .positions
            .give_up(|pending| pending.asked == node);
    }

    /// Gives up questions to nodes that are connected but do not answer: they are paused, or nothing arrives there.
    pub(in crate::cluster) fn forget_positions(&self) {
        self.exchanges
            .positions
            .give_up(|it| it.since.elapsed() >= PATIENCE);
    }
}
