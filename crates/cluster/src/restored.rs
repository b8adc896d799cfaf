//! The initial state of a cluster that is restored from a backup.

use std::collections::BTreeMap;

use crate::layout::Layout;
use crate::state::State;
use crate::unsafe_recovery::{KEYS, LEAP};

/// A restored cluster has an epoch that is a multiple of this number, and its recoveries without a majority count up from there. So no
/// recovery of any cluster gets the epoch of a restore.
pub const EPOCHS_OF_A_RESTORE: u64 = 1 << 10;
/// Epochs are a part of other numbers, and must stay below this one.
const MAX_EPOCH: u64 = 1 << 22;

/// The first epoch of a restore that is greater than this epoch. `None`: there is no more.
pub fn next_restore(epoch: u64) -> Option<u64> {
    let next = (epoch / EPOCHS_OF_A_RESTORE)
        .saturating_add(1)
        .saturating_mul(EPOCHS_OF_A_RESTORE);
    (next < MAX_EPOCH).then_some(next)
}

/// The epoch of the restore from which a cluster with this epoch comes; 0: it was never restored.
pub fn restore_of(epoch: u64) -> u64 {
    epoch - epoch % EPOCHS_OF_A_RESTORE
}

impl State {
    /// This backed-up state, moved to other nodes. `last_keys`: by partition, the counter part of the newest key in the backup.
    ///
    /// All nodes compute it by themselves and must get the same result, so nothing here depends on a clock. `epoch`: greater than that of
    /// this state, and of this restore only. Nodes of the original cluster, if some are alive, those of other restores, and those of this
    /// one refuse each other.
    #[must_use]
    pub fn restored(
        &self,
        layout: &Layout,
        last_keys: &BTreeMap<u32, u64>,
        at: i64,
        epoch: u64,
    ) -> State {
        debug_assert!(epoch > self.epoch, "a restored cluster has a later epoch");
        debug_assert_eq!(
            layout.partitions, self.partitions,
            "the keys in the backup belong to these partitions"
        );
        // Another restore of the same moment assigns others.
        let keys = (epoch.saturating_sub(self.epoch))
            .div_ceil(EPOCHS_OF_A_RESTORE)
            .saturating_mul(KEYS);
        let mut least_keys = self.least_keys.clone();
        for (partition, last) in last_keys {
            // The cluster may have assigned greater keys after the backup, and told somebody about them.
            let least = least_keys.entry(*partition).or_default();
            *least = (*last).max(*least).saturating_add(keys);
        }
        State {
            revision: self.revision + LEAP,
            version: self.version + 1,
            routing_version: self.routing_version,
            scaled: self.scaled.clone(),
            changes: self.changes,
            epoch,
            least_keys,
            incarnation: self.incarnation,
            purged_keys: self.purged_keys.clone(),
            ..State::bootstrapped(self.cluster_id.clone(), layout, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EPOCHS_OF_A_RESTORE, MAX_EPOCH, next_restore};
    use crate::testing::cluster;
    use crate::{Layout, Scaled, State};

    #[test]
    fn recoveries_leave_the_epochs_of_restores_free() {
        let (mut epoch, mut restores) = (0, 0);
        while let Some(next) = next_restore(epoch) {
            assert!(next > epoch && next - epoch <= EPOCHS_OF_A_RESTORE);
            // Some recoveries without a majority.
            assert_eq!(next_restore(next + 7), next_restore(next));
            (epoch, restores) = (next + 7, restores + 1);
        }
        assert!(epoch < MAX_EPOCH && restores > 4000, "{restores}");
        assert_eq!(next_restore(u64::MAX), None);
    }

    #[test]
    fn a_restored_cluster_has_other_nodes_a_later_epoch_and_greater_keys() {
        let before = State {
            revision: 12,
            changes: 3,
            incarnation: 1,
            least_keys: [(1, 50)].into(),
            purged_keys: [(1, 40)].into(),
            scaled: Some(Scaled {
                initial: 1,
                active: 2,
                spread: vec![2],
                ..Scaled::default()
            }),
            ..cluster(&[0, 1, 2], 3, 2)
        };
        let layout = Layout {
            nodes: vec![0],
            copies: 1,
            partitions: 2,
        };
        let restored = before.restored(&layout, &[(1, 70), (2, 5)].into(), 9, EPOCHS_OF_A_RESTORE);
        assert_eq!(restored.cluster_id, before.cluster_id);
        assert_eq!(restored.epoch, EPOCHS_OF_A_RESTORE);
        assert!(restored.revision > before.revision + 1000);
        assert!(restored.nodes.keys().eq([&0]));
        assert_eq!(restored.replicas(2), [(0, 1)]);
        assert_eq!(restored.least_keys[&1], 70 + (1 << 32));
        assert_eq!(restored.least_keys[&2], 5 + (1 << 32));
        assert_eq!(restored.purged_keys, before.purged_keys);
        let again = before.restored(&layout, &[(1, 70)].into(), 9, 2 * EPOCHS_OF_A_RESTORE);
        assert_eq!(again.least_keys[&1], 70 + (2 << 32));
        assert_eq!(
            restored.routing(),
            before.routing(),
            "messages are where they were"
        );
        assert!(restored.running.is_none() && restored.awaited.is_empty());
    }
}
