//! A machine: its parts fail together. Also its node's knowledge of the cluster.

use std::collections::BTreeMap;

use skep_cluster::State;

use super::metadata::Metadata;

#[derive(Default)]
pub struct Host {
    pub up: bool,
    /// Number of starts, so that events of an earlier life are dropped.
    pub life: u64,
    /// Nothing happens on it until then: its process is stopped, or its machine is busy.
    pub paused_until: u64,
    /// Maximum microseconds per flush; the slower disk counts.
    pub slow_disk: u64,
    /// Milliseconds by which its clock is ahead.
    pub clock: i64,
    /// Its member of the metadata group, in worlds with cluster changes.
    pub own: Option<Metadata>,
    /// Its knowledge of the cluster.
    pub known: State,
    /// The member of the partition's group that is on its disk.
    pub replica: Option<u64>,
    /// Time of the last message from each other machine.
    pub last_seen: BTreeMap<u32, u64>,
    pub ticks: u64,
}
