//! The lineage of logs: a cluster continues backups of its own logs only.

use skep_backup::Manifest;
use skep_cluster::State;

/// While the lineage stays the same, logs only grow. A restored cluster has a later epoch, a purged one a later incarnation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    cluster_id: String,
    epoch: u64,
    incarnation: u64,
    partitions: u32,
}

impl Lineage {
    pub fn of(state: &State) -> Lineage {
        Lineage {
            cluster_id: state.cluster_id.clone(),
            epoch: state.epoch,
            incarnation: state.incarnation,
            partitions: state.partitions,
        }
    }

    pub fn has(&self, manifest: &Manifest) -> bool {
        *self == Lineage::of(&manifest.cluster)
    }
}
