//! Backups in an object store: which objects they have, how these are written, read and checked.
//!
//! ```text
//! backups/ID/begun.json                 who takes it, since when; created first, so an id is taken once
//! backups/ID/progress.json              rewritten every few seconds while it is taken
//! backups/ID/partition-P/state/N        rows of a checkpoint
//! backups/ID/partition-P/query/N        the file of the embedded secondary storage
//! backups/ID/partition-P/log/N          entries behind the checkpoint, up to the cut
//! backups/ID/failed.json                why it was given up
//! backups/ID/manifest.json              written last: with it the backup is complete
//! ```
//!
//! The broker decides what belongs to a backup (`skep_broker::backup`); this crate knows neither partitions at work nor nodes. All of it
//! blocks: it is called from threads of its own.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod backups;
mod entries;
mod manifest;
mod object;
mod place;
mod read;
mod upload;
mod verify;

pub use backups::{Backup, BackupState, Begun, Progress, SILENT, delete, find, list, newest};
pub use entries::{decode as decode_entries, encode as encode_entries};
pub use manifest::{Cut, FORMAT, LogPart, Manifest, PartitionManifest, StoredObject};
pub use object::{PIECE, pack, unpack};
pub use place::Place;
pub use read::Reader;
pub use skep_objects::{Azure, BadConnectionString, Gcs, Location, ObjectError, S3};
pub use upload::Upload;
pub use verify::{Verified, verify};

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Objects(#[from] ObjectError),
    #[error("the object '{name}' is damaged: {reason}")]
    Damaged { name: String, reason: String },
    #[error("the backup {0} does not exist")]
    Unknown(u64),
    #[error("the backup {id} cannot be used: {reason}")]
    Unusable { id: u64, reason: String },
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl BackupError {
    pub(crate) fn damaged(name: &str, reason: impl std::fmt::Display) -> BackupError {
        BackupError::Damaged {
            name: name.to_string(),
            reason: reason.to_string(),
        }
    }
}
