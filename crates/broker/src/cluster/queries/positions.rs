//! Commit positions of partitions: the leader is asked before another node answers a query.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::confirming::PATIENCE;
use crate::cluster::Cluster;
use crate::cluster::wire::{ConfirmationMessage, NodeMessage};
use crate::confirmation::ReplicaTerm;

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
        let here = self.local().and_then(|local| local.partition(partition));
        let asker = here.and_then(|handle| handle.status.replica_term());
        let in_term = asker.is_some_and(|asker| {
            let question = ConfirmationMessage::PositionInTerm {
                id,
                partition,
                asker,
            };
            self.send(asked, &NodeMessage::Confirmation(question))
        });
        if !in_term && !self.send(asked, &NodeMessage::Position { id, partition }) {
            self.position_known(id, None);
        }
    }

    pub(in crate::cluster) fn send_position(self: &Arc<Self>, from: u32, id: u64, partition: u32) {
        self.send_position_to((from, None), id, partition);
    }

    /// Answers a node, which may have a replica of the partition.
    pub(super) fn send_position_to(
        self: &Arc<Self>,
        (from, asker): (u32, Option<ReplicaTerm>),
        id: u64,
        partition: u32,
    ) {
        let cluster = self.clone();
        let known = move |entry| {
            cluster.send(from, &NodeMessage::PositionIs { id, entry });
        };
        self.confirm(partition, asker, Box::new(known));
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
