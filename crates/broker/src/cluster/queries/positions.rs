//! Commit positions of partitions: the leader is asked before another node answers a query.

use std::sync::Arc;
use std::time::Instant;

use super::confirming::PATIENCE;
use super::unanswered::Unanswered;
use crate::cluster::Cluster;
use crate::cluster::wire::{ConfirmationMessage, NodeMessage};
use crate::confirmation::ReplicaTerm;

/// The callback that gets the entry; `None`: the position is unknown.
pub type PositionKnown = Box<dyn FnOnce(Option<u64>) + Send>;

pub(in crate::cluster) struct Pending {
    since: Instant,
    known: PositionKnown,
}

/// Questions that are at leaders.
pub(in crate::cluster) type Positions = Unanswered<Pending>;

impl Cluster {
    /// Asks the node that leads the partition, unless it is this one.
    pub fn ask_position(&self, partition: u32, known: PositionKnown) {
        let leader = self.leader_of(partition).filter(|it| *it != self.node());
        let Some(asked) = leader else {
            return known(None);
        };
        let pending = Pending {
            since: Instant::now(),
            known,
        };
        // None of them is forgotten: each gets its answer, or that there is none.
        let id = self.exchanges.positions.add(asked, pending, |_| false);
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
            self.position_known(asked, id, None);
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

    pub(in crate::cluster) fn position_known(&self, from: u32, id: u64, entry: Option<u64>) {
        if let Some(pending) = self.exchanges.positions.take(from, id) {
            (pending.known)(entry);
        }
    }

    /// Gives up questions to a node whose connection is lost.
    pub(in crate::cluster) fn lose_positions(&self, node: u32) {
        for pending in self.exchanges.positions.take_all(node) {
            (pending.known)(None);
        }
    }

    /// Gives up questions to nodes that are connected but do not answer: they are paused, or nothing arrives there.
    pub(in crate::cluster) fn forget_positions(&self) {
        let is_late = |pending: &Pending| pending.since.elapsed() >= PATIENCE;
        for pending in self.exchanges.positions.take_if(is_late) {
            (pending.known)(None);
        }
    }
}
