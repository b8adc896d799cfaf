//! The initial state of a cluster that is restored from a backup.

use std::collections::BTreeMap;

use crate::layout::Layout;
use crate::state::State;
use crate::unsafe_recovery::{KEYS, LEAP};

impl State {
    /// This backed-up state, moved to other nodes. `last_keys`: by partition, the counter part of the newest key in the backup.
    ///
    /// All nodes compute it by themselves and must get the same result, so nothing here depends on a clock. The epoch grows: nodes of the
    /// original cluster, if some are alive, and those of the restored one refuse each other.
    #[must_use]
    pub fn restored(&self, layout: &Layout, last_keys: &BTreeMap<u32, u64>, at: i64) -> State {
        debug_assert_eq!(
            layout.partitions, self.partitions,
            "the keys in the backup belong to these partitions"
        );
        let mut least_keys = self.least_keys.clone();
        for (partition, last) in last_keys {
            // The cluster may have assigned greater keys after the backup, and told somebody about them.
            let least = least_keys.entry(*partition).or_default();
            *least = (*last).max(*least).saturating_add(KEYS);
        }
        State {
            revision: self.revision + LEAP,
            version: self.version + 1,
            routing_version: self.routing_version,
            scaled: self.scaled,
            changes: self.changes,
            epoch: self.epoch + 1,
            least_keys,
            incarnation: self.incarnation,
            purged_keys: self.purged_keys.clone(),
            ..State::bootstrapped(self.cluster_id.clone(), layout, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::cluster;
    use crate::{Layout, Scaled, State};

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
                accepting: None,
            }),
            ..cluster(&[0, 1, 2], 3, 2)
        };
        let layout = Layout {
            nodes: vec![0],
            copies: 1,
            partitions: 2,
        };
        let restored = before.restored(&layout, &[(1, 70), (2, 5)].into(), 9);
        assert_eq!(restored.cluster_id, before.cluster_id);
        assert_eq!(restored.epoch, 1);
        assert!(restored.revision > before.revision + 1000);
        assert!(restored.nodes.keys().eq([&0]));
        assert_eq!(restored.replicas(2), [(0, 1)]);
        assert_eq!(restored.least_keys[&1], 70 + (1 << 32));
        assert_eq!(restored.least_keys[&2], 5 + (1 << 32));
        assert_eq!(restored.purged_keys, before.purged_keys);
        assert_eq!(
            restored.routing(),
            before.routing(),
            "messages are where they were"
        );
        assert!(restored.running.is_none() && restored.awaited.is_empty());
    }
}
