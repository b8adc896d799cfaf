//! What a replica publishes about leading, for the other threads of its node.
//!
//! Other nodes rely on it: a leader of an earlier term asks whether it still leads. So the numbers are published before the messages that
//! follow from them leave.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use skep_cluster::node_of;

/// Numbers of members and terms; 0 stands for none.
#[derive(Debug, Default)]
pub struct Leadership {
    /// The member that leads.
    leader: AtomicU64,
    /// The replica's term, which counts elections; 0 until the replica has read it.
    term: AtomicU64,
    /// The term in which this replica leads and has applied what earlier terms committed.
    leads_in: AtomicU64,
    /// Entries up to here are committed, as far as this replica knows: as leader, it may lack the last ones on its own disk.
    known_commit: AtomicU64,
    /// The replica leads, but its thread hangs: another one has to lead.
    hangs: AtomicBool,
}

impl Leadership {
    /// The node that leads the partition, as far as the replica knows.
    pub fn leader(&self) -> Option<u32> {
        node_of(self.leader.load(Ordering::Acquire))
    }

    pub fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    /// The term in which this replica considers itself the leader.
    pub fn leads_in(&self) -> Option<u64> {
        let term = self.leads_in.load(Ordering::Acquire);
        (term > 0).then_some(term)
    }

    pub fn known_commit(&self) -> u64 {
        self.known_commit.load(Ordering::Acquire)
    }

    pub fn set_leader(&self, member: Option<u64>, term: u64) {
        self.term.store(term, Ordering::Release);
        self.leader.store(member.unwrap_or(0), Ordering::Release);
    }

    pub fn set_known_commit(&self, index: u64) {
        self.known_commit.store(index, Ordering::Release);
    }

    /// Whether the replica leads, and its thread hangs.
    pub fn hangs(&self) -> bool {
        self.hangs.load(Ordering::Acquire)
    }

    /// Returns whether that was different before.
    pub fn set_hangs(&self, hangs: bool) -> bool {
        self.hangs.swap(hangs, Ordering::AcqRel) != hangs
    }

    pub fn begins(&self, term: u64) {
        self.leads_in.store(term, Ordering::Release);
    }

    pub fn ends(&self) {
        self.leads_in.store(0, Ordering::Release);
    }

    /// The replica has failed and no longer knows who leads.
    pub fn forget(&self) {
        self.leader.store(0, Ordering::Release);
        self.ends();
    }
}
