//! Reasons why a moment between backups cannot be marked, or the log cannot be shipped.

use skep_backup::{BackupError, ObjectError};
use skep_cluster::Refusal;
use skep_storage::StorageError;

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
    #[error("no backup to continue from can be taken: {0}")]
    NoBackup(Refusal),
    #[error("{0}")]
    NoCut(String),
    #[error("the cluster was purged or changed its partitions meanwhile")]
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
