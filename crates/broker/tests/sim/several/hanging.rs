//! The thread of a replica hangs while its machine runs: what arrives waits in its inbox, nothing leaves it, and its clock stands still. The
//! machine notices a leader of which this is so, as in `partition/attention.rs`.

use super::Mutation;
use super::heartbeats::SILENT;
use super::world::{ReplicaId, World};

/// A thread that hangs.
#[derive(Clone, Copy, Debug)]
pub struct Hung {
    since: u64,
    until: u64,
    /// The term that the replica has published.
    term: u64,
}

impl World {
    /// The replica's thread hangs for so long.
    pub fn hangs_for(&mut self, place: ReplicaId, length: u64) {
        let now = self.agenda.now;
        let Some(term) = self.published_term(place).filter(|_| !self.hangs(place)) else {
            return;
        };
        self.replicas.get_mut(&place).unwrap().hung = Some(Hung {
            since: now,
            until: now.saturating_add(length),
            term,
        });
        self.tally.add("hanging threads", 1);
    }

    /// Whether the replica's thread hangs.
    pub fn hangs(&self, place: ReplicaId) -> bool {
        let hung = self.replicas[&place].hung;
        hung.is_some_and(|hung| self.agenda.now < hung.until)
    }

    /// Whether the machine has noticed that its leader of the partition hangs.
    pub fn is_known_to_hang(&self, place: ReplicaId) -> bool {
        let replica = &self.replicas[&place];
        let leads = replica.node.running.as_ref();
        let leads = leads.is_some_and(|running| running.core.is_leader());
        let long = |hung: Hung| self.agenda.now - hung.since >= SILENT;
        self.hangs(place)
            && leads
            && replica.hung.is_some_and(long)
            && self.mutation != Mutation::HungReplicaLooksAlive
    }

    /// The replica's term, as other threads of its machine know it.
    pub fn published_term(&self, place: ReplicaId) -> Option<u64> {
        let replica = &self.replicas[&place];
        let running = replica.node.running.as_ref()?;
        match replica.hung.filter(|_| self.hangs(place)) {
            Some(hung) => Some(hung.term),
            None => Some(running.core.group().term()),
        }
    }
}
