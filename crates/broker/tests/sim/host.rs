//! A machine: what fails together, and what its node knows of the cluster.

use std::collections::BTreeMap;

use skep_cluster::State;

use super::metadata::Metadata;

#[derive(Default)]
pub struct Host {
    pub up: bool,
    /// Counts starts, so that what was meant for an earlier life is dropped.
    pub life: u64,
    /// Nothing happens on it until then: its process is stopped, or its machine is busy with something else.
    pub paused_until: u64,
    /// Microseconds that a flush takes at most: the slower disk counts.
    pub slow_disk: u64,
    /// Milliseconds that its clock is ahead.
    pub clock: i64,
    /// Its member of the metadata group, where the cluster changes.
    pub own: Option<Metadata>,
    /// What it knows of the cluster.
    pub known: State,
    /// The member of the partition's group that is on its disk.
    pub replica: Option<u64>,
    /// When it heard others last.
    pub heard: BTreeMap<u32, u64>,
    pub ticks: u64,
}
