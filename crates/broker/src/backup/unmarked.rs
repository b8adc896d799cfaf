//! Reasons why a moment between backups cannot be marked, or the log cannot be shipped.

use skep_backup::{BackupError, Broken, ObjectError, Store, break_off};
use skep_cluster::Refusal;
use skep_storage::StorageError;

use crate::cluster::{Cluster, now};

#[derive(Debug, thiserror::Error)]
pub enum Unmarked {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Store(#[from] ObjectError),
    #[error("the log cannot be read: {0}")]
    Log(#[from] StorageError),
    /// The log has a gap, and the range ends.
    #[error(
        "partition {partition} has its log from entry {first} on, but entry {next} was not shipped yet"
    )]
    Gap {
        partition: u32,
        first: u64,
        next: u64,
    },
    /// The store has another history, and the range ends.
    #[error(
        "partition {partition} has another entry {entry} than the log in the store: that log belongs to another history of this cluster, as \
         after a restore from copied directories"
    )]
    OtherHistory { partition: u32, entry: u64 },
    /// The log is shorter than at the newest moment, and the range ends.
    #[error(
        "the log of partition {partition} ends with entry {end}, but that of the newest moment in the store with entry {entry}: that log \
         belongs to another history of this cluster, as after a restore from copied directories"
    )]
    Shorter {
        partition: u32,
        entry: u64,
        end: u64,
    },
    /// Logs only grow, so the backup belongs to somebody else, whose range goes on.
    #[error(
        "the log of partition {partition} ends with entry {end}, but that of the backup with entry {entry}: the backup is of another cluster \
         with the same id. Give this cluster an id of its own (camunda.cluster.cluster-id), or another store"
    )]
    OtherCluster {
        partition: u32,
        entry: u64,
        end: u64,
    },
    #[error("no backup to continue from can be taken: {0}")]
    NoBackup(Refusal),
    #[error("{0}")]
    NoCut(String),
    #[error(
        "the cluster was purged, recovered without some copies, or changed its partitions meanwhile"
    )]
    Changed,
    #[error("the log of partition {partition} up to entry {entry} did not reach the store")]
    NotShipped { partition: u32, entry: u64 },
    #[error(
        "partition {partition} has another leader, which did not have all entries up to entry {entry}"
    )]
    OtherLeader { partition: u32, entry: u64 },
    #[error("the log of partition {partition} in the store lacks entry {entry}")]
    Lacks { partition: u32, entry: u64 },
}

impl Unmarked {
    /// Whether nothing can continue the backup any more.
    pub fn ends_range(&self) -> bool {
        match self {
            Unmarked::Gap { .. } | Unmarked::OtherHistory { .. } | Unmarked::Shorter { .. } => true,
            Unmarked::Backup(_)
            | Unmarked::Store(_)
            | Unmarked::Log(_)
            | Unmarked::OtherCluster { .. }
            | Unmarked::NoBackup(_)
            | Unmarked::NoCut(_)
            | Unmarked::Changed
            | Unmarked::NotShipped { .. }
            | Unmarked::OtherLeader { .. }
            | Unmarked::Lacks { .. } => false,
        }
    }

    /// Ends the range for this reason. The next backup begins another one.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn break_range(
        &self,
        cluster: &Cluster,
        store: &Store,
        backup: u64,
    ) -> Result<(), Unmarked> {
        let reason = self.to_string();
        tracing::error!(
            code = "BACKUP_FAILED",
            backup,
            %reason,
            "the range of backups is broken; the next backup starts a new one"
        );
        cluster.parts().metrics().broken_ranges.inc();
        Ok(break_off(store, backup, &Broken { reason, at: now() })?)
    }
}
