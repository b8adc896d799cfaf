//! Counters of runs, so that a test can verify that something happened.

use super::node::Node;
use super::world::World;

/// Counters of one run, or of many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub steps: u64,
    pub acknowledged: u64,
    pub pushed: u64,
    pub remote: u64,
    pub restarts: u64,
    pub rebuilds: u64,
    pub step_downs: u64,
    pub checkpoints: u64,
    pub compactions: u64,
    pub installs: u64,
    pub panics: u64,
    pub pauses: u64,
    pub clock_jumps: u64,
    pub slow_disks: u64,
    pub handed_out: u64,
    pub hibernates: u64,
    pub changes: u64,
    pub cancelled: u64,
    pub lost_disks: u64,
    pub joined: u64,
    pub given_up: u64,
}

impl Tally {
    fn count(&mut self, node: &Node) {
        self.rebuilds += node.rebuilds;
        self.step_downs += node.step_downs;
        self.checkpoints += node.checkpoints;
        self.compactions += node.compactions;
        self.installs += node.installs;
        self.panics += node.panics;
    }

    pub fn add(&mut self, other: &Tally) {
        self.steps += other.steps;
        self.acknowledged += other.acknowledged;
        self.pushed += other.pushed;
        self.remote += other.remote;
        self.restarts += other.restarts;
        self.rebuilds += other.rebuilds;
        self.step_downs += other.step_downs;
        self.checkpoints += other.checkpoints;
        self.compactions += other.compactions;
        self.installs += other.installs;
        self.panics += other.panics;
        self.pauses += other.pauses;
        self.clock_jumps += other.clock_jumps;
        self.slow_disks += other.slow_disks;
        self.handed_out += other.handed_out;
        self.hibernates += other.hibernates;
        self.changes += other.changes;
        self.cancelled += other.cancelled;
        self.lost_disks += other.lost_disks;
        self.joined += other.joined;
        self.given_up += other.given_up;
    }
}

impl World {
    /// Adds up the counters of all parts.
    pub fn count(&mut self) {
        let tally = &mut self.tally;
        tally.steps = self.agenda.steps;
        tally.handed_out = self.jobs.handed_out;
        tally.acknowledged = self.clients.acknowledged;
        tally.pushed = self.clients.pushed;
        tally.remote = self.clients.remote;
        for node in self.nodes.values() {
            self.tally.count(node);
        }
    }

    /// The replica and its disk are gone.
    pub fn remove_replica(&mut self, id: u64) {
        if let Some(node) = self.nodes.remove(&id) {
            self.tally.count(&node);
        }
    }
}
