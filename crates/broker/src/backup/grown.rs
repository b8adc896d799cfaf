//! Notices a cluster that was given the id of another one: without this, it would take that one's store, and delete its backups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_backup::{BackupError, Manifest, Store, newest_complete};
use skep_cluster::{State, restore_of};

use super::lineage::was_recovered_since;
use crate::cluster::Cluster;

/// The replicas whose logs are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// Those that lead. Others may lag behind.
    Leading,
    /// All that are here: the node that is asked may lead none, and nothing is urgent.
    All,
}

/// A replica's log.
#[derive(Clone, Copy)]
struct Here {
    /// Its last entry, or an earlier one.
    end: u64,
    leads: bool,
}

/// This cluster, as the owner of backups that are to be deleted.
pub struct OwnerOfBackups(Arc<Cluster>);

impl OwnerOfBackups {
    pub fn new(cluster: &Arc<Cluster>) -> OwnerOfBackups {
        OwnerOfBackups(cluster.clone())
    }

    /// Checks that the backups in the store can be this cluster's. Blocks.
    ///
    /// # Errors
    /// [`BackupError::OtherRestore`], or the store cannot be used.
    pub fn expect_grown(&self, store: &Store) -> Result<(), BackupError> {
        expect_grown(&self.0, store, Replicas::All)
    }
}

/// Logs only grow: a cluster whose log is shorter than that of its newest backup is another one, which was given the same id. A partition
/// without a replica here is not looked at, nor is one that was recovered from one copy since.
///
/// # Errors
/// [`BackupError::OtherRestore`], or the store cannot be used.
pub fn expect_grown(
    cluster: &Cluster,
    store: &Store,
    replicas: Replicas,
) -> Result<(), BackupError> {
    let state = cluster.state();
    let Some(newest) = newest_complete(store, None, |it| is_of(&state, it))? else {
        return Ok(());
    };
    let here = |partition: u32| {
        let replica = cluster.replica_here(partition)?;
        let status = &replica.status;
        let applied = status.applied.load(Ordering::Acquire);
        let here = Here {
            end: applied.max(status.log_index.load(Ordering::Relaxed)),
            leads: replica.leads(),
        };
        (here.leads || replicas == Replicas::All).then_some(here)
    };
    match differs(&state, &newest, &here) {
        None => Ok(()),
        Some(reason) => Err(BackupError::OtherRestore {
            store: store.shown().to_string(),
            reason,
        }),
    }
}

/// Whether a backup is of the cluster with this id, after the same restore.
fn is_of(state: &State, manifest: &Manifest) -> bool {
    let cluster = &manifest.cluster;
    cluster.cluster_id == state.cluster_id && restore_of(cluster.epoch) == restore_of(state.epoch)
}

/// Why the cluster in this state cannot be the one that took the backup.
fn differs(state: &State, newest: &Manifest, here: &dyn Fn(u32) -> Option<Here>) -> Option<String> {
    const OTHER: &str = "that backup is of another cluster with the same id. This one needs an id of its own (camunda.cluster.cluster-id)";
    let (id, then) = (newest.backup_id, &newest.cluster);
    debug_assert_eq!(
        then.cluster_id, state.cluster_id,
        "clusters with other ids are refused by their ids"
    );
    let counted = |of: &State| (of.epoch, of.incarnation);
    if counted(then) < counted(state) {
        // A purge and a recovery without a majority shorten logs.
        return None;
    }
    if counted(then) > counted(state) || then.partitions > state.partitions {
        return Some(format!(
            "the newest backup, {id}, is of epoch {}, after {} purges and with {} partitions, and this cluster is of epoch {}, after {} purges \
             and with {} partitions: {OTHER}",
            then.epoch,
            then.incarnation,
            then.partitions,
            state.epoch,
            state.incarnation,
            state.partitions
        ));
    }
    let grows = |partition: u32| !was_recovered_since(partition, then, state);
    let mut growing = newest.partitions.iter().filter(|of| grows(of.partition));
    growing.find_map(|of| {
        let Here { end, leads } = here(of.partition).filter(|it| it.end < of.cut.index)?;
        let lags = if leads {
            ""
        } else {
            "this node lags behind, then ask the one that leads the partition; or "
        };
        Some(format!(
            "the log of partition {} ends with entry {end} here, but that of the newest backup, {id}, with entry {}: {lags}{OTHER}",
            of.partition, of.cut.index
        ))
    })
}

#[cfg(test)]
mod tests {
    use skep_backup::{BackupKind, Cut, FORMAT, LogPart, Manifest, PartitionManifest};
    use skep_cluster::{
        EPOCHS_OF_A_RESTORE, Layout, State, SurvivingCopy, Survivor, plan_unsafe_recovery,
    };

    use super::super::lineage::Lineage;
    use super::{Here, differs, is_of};

    fn state(epoch: u64, incarnation: u64, partitions: u32) -> State {
        State {
            cluster_id: "it".to_string(),
            epoch,
            incarnation,
            partitions,
            ..State::default()
        }
    }

    /// A backup whose only log ends with entry 9.
    fn backup(cluster: State) -> Manifest {
        Manifest {
            format: FORMAT,
            backup_id: 7,
            version: String::new(),
            kind: BackupKind::Manual,
            began_at: 0,
            cut_at: 0,
            completed_at: 0,
            cluster,
            partitions: vec![PartitionManifest {
                partition: 1,
                broker_id: 0,
                cut: Cut {
                    index: 9,
                    term: 1,
                    position: 1,
                    last_key: 1,
                },
                checkpoint_index: 0,
                state: Vec::new(),
                query: None,
                log: LogPart {
                    base_index: 0,
                    base_term: 0,
                    objects: Vec::new(),
                },
            }],
            documents: Vec::new(),
        }
    }

    fn why(state: &State, of_backup: State, here: Option<Here>) -> Option<String> {
        differs(state, &backup(of_backup), &|_| here)
    }

    #[test]
    fn a_shorter_log_is_that_of_another_cluster_unless_the_replica_lags_behind() {
        let (now, same) = (state(0, 0, 1), state(0, 0, 1));
        let here = |end, leads| Some(Here { end, leads });
        let other = why(&now, same.clone(), here(8, true)).unwrap();
        assert!(
            other.contains("another cluster with the same id") && !other.contains("lags"),
            "{other}"
        );
        let lags = why(&now, same.clone(), here(8, false)).unwrap();
        assert!(lags.contains("this node lags behind"), "{lags}");
        assert_eq!(why(&now, same.clone(), here(9, true)), None);
        assert_eq!(why(&now, same, None), None);
    }

    #[test]
    fn after_a_purge_or_a_recovery_the_log_of_the_same_cluster_is_shorter() {
        let here = Some(Here {
            end: 1,
            leads: true,
        });
        assert_eq!(why(&state(0, 1, 1), state(0, 0, 1), here), None);
        assert_eq!(why(&state(1, 0, 1), state(0, 0, 1), here), None);
    }

    /// A node with its copies, whose logs end with entry 5.
    fn survivor(state: &State, node: u32) -> Survivor {
        let partitions = state.nodes[&node].partitions.keys();
        let copies = partitions.map(|partition| SurvivingCopy {
            partition: *partition,
            member: state.replica_of(node, *partition).unwrap(),
            members_index: 0,
            voters: state.replicas(*partition).iter().map(|it| it.1).collect(),
            term: 1,
            index: 5,
            last_key: 1,
        });
        Survivor {
            node,
            state: state.clone(),
            reaches: Vec::new(),
            is_led: true,
            copies: copies.collect(),
        }
    }

    #[test]
    fn only_the_log_of_a_partition_that_went_on_from_one_copy_may_be_shorter() {
        let layout = Layout {
            nodes: vec![0, 1, 2, 3, 4],
            copies: 3,
            partitions: 5,
        };
        let before = State::bootstrapped("it".to_string(), &layout, 0);
        let survivors = [0, 1, 2].map(|node| survivor(&before, node));
        let (after, planned) = plan_unsafe_recovery(&[3, 4], 0, &survivors, 1).unwrap();
        let went_on = planned.unsafe_recovery.unwrap().from;
        assert_eq!(after.epoch, before.epoch, "most nodes were there");
        assert!(!went_on.is_empty() && went_on.len() < 5, "{went_on:?}");
        let here = |_: u32| {
            Some(Here {
                end: 5,
                leads: true,
            })
        };
        let mut newest = backup(before.clone());
        for partition in 1..=5 {
            newest.partitions[0].partition = partition;
            let why = differs(&after, &newest, &here);
            assert_eq!(why.is_none(), went_on.contains_key(&partition), "{why:?}");
            assert_ne!(differs(&before, &newest, &here), None, "no recovery");
        }
        // The backup that is taken after it is compared again.
        newest.cluster = after.clone();
        for partition in 1..=5 {
            newest.partitions[0].partition = partition;
            assert_ne!(differs(&after, &newest, &here), None);
        }
        assert!(
            !Lineage::of(&after).has(&backup(before)),
            "logs are not continued"
        );
    }

    #[test]
    fn a_cluster_that_was_purged_less_often_or_has_fewer_partitions_is_another_one() {
        let here = Some(Here {
            end: 100,
            leads: true,
        });
        for (now, then) in [
            (state(0, 0, 1), state(0, 1, 1)),
            (state(0, 0, 1), state(1, 0, 1)),
            (state(0, 0, 1), state(0, 0, 3)),
        ] {
            let reason = why(&now, then, here).unwrap();
            assert!(reason.contains("another cluster"), "{reason}");
        }
        assert_eq!(why(&state(0, 0, 3), state(0, 0, 1), here), None, "scaled");
    }

    #[test]
    fn only_backups_after_the_same_restore_are_compared() {
        let restored = state(EPOCHS_OF_A_RESTORE + 1, 0, 1);
        assert!(is_of(&restored, &backup(state(EPOCHS_OF_A_RESTORE, 0, 1))));
        assert!(!is_of(&restored, &backup(state(1, 0, 1))));
        let other = State {
            cluster_id: "other".to_string(),
            ..state(EPOCHS_OF_A_RESTORE, 0, 1)
        };
        assert!(!is_of(&restored, &backup(other)));
    }
}
