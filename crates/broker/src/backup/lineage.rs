//! The lineage of logs: a cluster continues backups of its own logs only.

use std::collections::BTreeMap;

use skep_backup::Manifest;
use skep_cluster::State;

/// While the lineage stays the same, logs only grow. A restored cluster has a later epoch, a purged one a later incarnation, and one with a
/// partition that was recovered from one copy has greater least keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    cluster_id: String,
    epoch: u64,
    incarnation: u64,
    partitions: u32,
    least_keys: BTreeMap<u32, u64>,
}

impl Lineage {
    pub fn of(state: &State) -> Lineage {
        Lineage {
            cluster_id: state.cluster_id.clone(),
            epoch: state.epoch,
            incarnation: state.incarnation,
            partitions: state.partitions,
            least_keys: state.least_keys.clone(),
        }
    }

    pub fn has(&self, manifest: &Manifest) -> bool {
        *self == Lineage::of(&manifest.cluster)
    }
}

/// Whether the partition continued from one copy, or was purged, after the backup was taken of the cluster in the state `then`. Its log may be
/// shorter since, while the cluster is the same.
pub(super) fn was_recovered_since(partition: u32, then: &State, now: &State) -> bool {
    now.least_keys.get(&partition) > then.least_keys.get(&partition)
}
