//! Backups of the whole cluster while it works.
//!
//! A backup is the cluster of one moment. Each partition's part is a checkpoint, the file of its embedded secondary storage, and the entries
//! of the log behind the checkpoint up to the *cut*. The parts fit because all partitions stand still together when they are cut: each
//! evaluates nothing until all others have said where their logs end, which takes some milliseconds. Whatever is in the log of one partition was
//! caused by what is in the others' logs, or by nothing that a backup knows. What was on its way between partitions is sent again, as after
//! a crash.
//!
//! The node that leads the metadata group coordinates ([`coordinator`]); the nodes that lead partitions do the work ([`parts`]) and are
//! looked at until they are done. The manifest is written last. A backup that is interrupted has failed, and is taken anew.
//!
//! If backups are continuous, the log behind the newest one is shipped all the time ([`shipping`]), and markers say to which moments the
//! cluster can be restored between backups ([`marking`]).
//!
//! [`restore`] makes the data directories of a cluster from a backup, each node its own; [`replay`] tries a backup without one.

pub mod coordinator;
mod cut;
mod lineage;
pub mod marking;
pub mod parts;
mod query_copy;
pub mod replay;
pub mod restore;
pub mod schedule;
mod shipped;
pub mod shipping;
mod unmarked;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use skep_backup::{Cut, Location, PartitionManifest};

use self::schedule::Schedule;

/// Where backups go, and how fast.
#[derive(Clone, Debug)]
pub struct BackupConfig {
    pub location: Location,
    /// `skep.backup.max-rate`: bytes a second that a node reads and sends.
    pub rate: u64,
    pub schedule: Schedule,
    /// Between two markers, if the log is shipped all the time.
    pub continuous: Option<Duration>,
}

/// A request of the coordinator to a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Begin with the base of a partition that is led here.
    Begin { backup: u64, partition: u32 },
    /// How far is the partition's part?
    Look { backup: u64, partition: u32 },
    /// Partitions that are led here stand still.
    StandStill { partitions: Vec<u32> },
    /// They go on.
    GoOn { partitions: Vec<u32> },
    /// The log up to the cut.
    Ship {
        backup: u64,
        partition: u32,
        cut: Cut,
    },
    /// Nothing more is wanted of this backup.
    Forget { backup: u64 },
}

/// The answer of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Stepped {
    /// It is being done: what, and how far.
    Working(String),
    /// The base is in the store.
    HasBase,
    /// Where the logs are cut, in the order in which they were asked.
    Stands(Vec<Cut>),
    /// Whether all have stood still all the time.
    GoneOn(bool),
    /// The partition's part is complete.
    Complete(Box<PartitionManifest>),
    Done,
}

/// Why a step cannot be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepFailed {
    pub reason: String,
    /// It may be possible in a moment.
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
