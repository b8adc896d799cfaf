//! Backups of the whole cluster while it is running.
//!
//! A backup captures the cluster at one moment. Each partition contributes a checkpoint, the file of its embedded secondary storage, and
//! the log entries after the checkpoint up to the *cut*. The parts are consistent because all partitions pause together when they are cut:
//! each stops evaluating until all others have reported where their logs end, which takes some milliseconds. Whatever is in one partition's
//! log was caused by something in the others' logs, or by something outside the backup. Messages in flight between partitions are sent
//! again, as after a crash.
//!
//! The node that leads the metadata group coordinates ([`coordinator`]). The nodes that lead partitions do the work ([`parts`]) and are
//! polled until they are done. The manifest is written last. An interrupted backup has failed and is taken again from scratch.
//!
//! With continuous backups, the log after the newest backup is shipped continuously ([`shipping`]), and markers record the moments between
//! backups to which the cluster can be restored ([`marking`]).
//!
//! Documents that are kept in a directory are written after the cut (`documents`).
//!
//! Rows in a database or a search server are not part of a backup: a restore brings a dump or snapshot of it to the moment of the backup
//! ([`rows`]).
//!
//! [`restore`] builds a cluster's data directories from a backup, each node its own; [`replay`] verifies a backup without a cluster.

pub mod coordinator;
mod cut;
mod documents;
mod grown;
mod lineage;
pub mod marking;
pub mod parts;
mod query_copy;
pub mod replay;
pub mod restore;
pub mod rows;
pub mod schedule;
mod shipped;
pub mod shipping;
mod unmarked;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use skep_backup::{Cut, Location, PartitionManifest};

pub use self::documents::LocalDocuments;
pub use self::grown::OwnerOfBackups;
use self::schedule::Schedule;

/// Where backups are stored, and at what rate.
#[derive(Clone, Debug)]
pub struct BackupConfig {
    pub location: Location,
    /// `skep.backup.max-rate`: bytes per second that a node reads and sends.
    pub rate: u64,
    pub schedule: Schedule,
    /// Interval between two markers, if the log is shipped continuously.
    pub continuous: Option<Duration>,
    /// While the log cannot be shipped, a nearly full disk refuses work instead of deleting the log.
    pub required: bool,
    /// Document stores in directories.
    pub documents: Vec<LocalDocuments>,
}

/// A request from the coordinator to a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Start uploading the base of a partition that is led here.
    Begin { backup: u64, partition: u32 },
    /// Report the progress of the partition's part.
    Look { backup: u64, partition: u32 },
    /// Pause these partitions, which are led here.
    StandStill { partitions: Vec<u32> },
    /// Resume these partitions.
    GoOn { partitions: Vec<u32> },
    /// Ship the log up to the cut.
    Ship {
        backup: u64,
        partition: u32,
        cut: Cut,
    },
    /// Forget this backup: nothing more is needed for it.
    Forget { backup: u64 },
}

/// The answer of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Stepped {
    /// In progress: what is being done, and how far it is.
    Working(String),
    /// The base is in the store.
    HasBase,
    /// Where the logs are cut, in the order of the request.
    Stands(Vec<Cut>),
    /// Whether all of them stayed paused the whole time.
    GoneOn(bool),
    /// The partition's part is complete.
    Complete(Box<PartitionManifest>),
    Done,
}

/// Why a step failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepFailed {
    pub reason: String,
    /// Whether a retry may succeed soon.
    pub again: bool,
}

pub type StepResult = Result<Stepped, StepFailed>;

impl StepFailed {
    fn new(reason: impl std::fmt::Display) -> StepFailed {
        StepFailed {
            reason: reason.to_string(),
            again: false,
        }
    }

    pub(crate) fn for_now(reason: impl std::fmt::Display) -> StepFailed {
        StepFailed {
            reason: reason.to_string(),
            again: true,
        }
    }
}
