//! Backups in an object store: the objects they consist of, and how these are written, read and checked.
//!
//! ```text
//! cluster.json                          the cluster that the store belongs to; created first
//! forgotten.json                        up to which backup the checkpoints were discarded
//!
//! backups/ID/begun.json                 who takes it, since when; created first, so an id is taken once
//! backups/ID/progress.json              rewritten every few seconds while it is taken
//! backups/ID/partition-P/state/N        rows of a checkpoint
//! backups/ID/partition-P/query/N        the file of the embedded secondary storage
//! backups/ID/partition-P/log/N          entries after the checkpoint, up to the cut
//! backups/ID/documents-STORE/N          files of the document store, if it is a directory; of earlier versions
//! backups/ID/listed-STORE/N             which of the files in backup-documents it has
//! backups/ID/failed.json                why it was given up
//! backups/ID/manifest.json              written last: with it the backup is complete
//!
//! backups/ID/continued/begun.json       which backup it carries on; with it the backup is a part of a range
//! backups/ID/continued/partition-P/N    entries after the cut, from entry N on
//! backups/ID/continued/markers/T.json   a moment: where each partition was cut at time T
//! backups/ID/continued/latest.json      the newest marker, rewritten
//! backups/ID/continued/broken.json      why nothing continues it any more
//!
//! backup-documents/STORE/ID/N           files of the document store that the backup wrote; later ones refer to them too
//!
//! restores/EPOCH/begun.json             the moment and the nodes that this epoch belongs to; created first, so an epoch is taken once
//! restores/EPOCH/node-N.json            node N takes part in it
//! ```
//!
//! The broker decides what a backup contains (`skep_broker::backup`). This crate knows neither running partitions nor nodes.
//! All its calls block and are made from dedicated threads.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod ahead;
mod backups;
mod chain;
mod documents;
mod earlier;
mod entries;
mod forgotten;
mod listing;
mod manifest;
mod markers;
mod mount;
mod object;
mod owner;
mod ranges;
mod read;
mod restores;
mod rows;
mod store;
mod unused;
mod upload;
mod verify;

pub use backups::{
    Backup, BackupState, Begun, Progress, SILENT, delete, delete_by, find, list, list_newest,
    newest, newest_complete,
};
pub use chain::{Chain, Link};
pub use documents::{
    DocumentsManifest, FilePiece, NoFiles, Unreadable, decode_pieces, encode_piece, is_path,
};
pub use entries::{decode as decode_entries, encode as encode_entries};
pub use forgotten::{forget, forgotten};
pub use listing::{Listed, Listing, MAX_FILES, NoListing, Row};
pub use manifest::{
    BackupKind, Cut, FORMAT, FORMAT_OF_PARTS, LogPart, Manifest, PartitionManifest, StoredObject,
};
pub use markers::{Broken, Continued, Marker, begin, begun, break_off, broken, latest, times};
pub use mount::Mount;
pub use object::{PIECE, pack, unpack};
pub use owner::{Writer, own};
pub use ranges::{
    Base, Moment, Range, instant, is_needed, marker_of, moment, newest_moment, ranges,
};
pub use read::{Reader, read_object};
pub use restores::{JOINED_FOR, Joined, Other, Participant, Restored, foresee, join};
pub use rows::{Fitting, Misfit, RowPositions, expect_fit, moments_for};
pub use skep_objects::{Azure, BadConnectionString, Gcs, Location, ObjectError, S3};
pub use store::Store;
pub use unused::{Unused, delete_unused_documents, written_documents};
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
    /// Two nodes have the same settings, but reach different stores.
    #[error(
        "this node sees another store at '{store}' than the node that takes the backup {id}: {reason}. Check that the same directory is \
         mounted on all nodes, or that all have the same bucket and base-path"
    )]
    OtherStore {
        store: String,
        id: u64,
        reason: String,
    },
    /// The cluster before a restore, or the cluster of another one.
    #[error(
        "this cluster does not write to '{store}': {reason}. Give it another directory, or another base-path in the bucket \
         (camunda.data.primary-storage.backup)"
    )]
    OtherRestore { store: String, reason: String },
    /// A directory without the mount that it had.
    #[error(
        "'{store}' has no cluster.json any more and is on another file system than before: its mount is missing, and nothing is written to \
         it. Mount it again. If it is to be a new store, delete the file 'backup-store' in the data directory of this node, and restart the \
         node"
    )]
    NotMounted { store: String },
    /// The file that remembers the mount cannot be understood.
    #[error(
        "'{record}' is damaged ({reason}). It names the file system of this node's store of backups, and nothing is written to '{store}' \
         without it, as that has no cluster.json: its mount may be missing. Mount it, or make sure that it is to be a new store, and delete \
         the file; it is written again"
    )]
    DamagedRecord {
        record: String,
        store: String,
        reason: String,
    },
    #[error("the backup {id} cannot be used: {reason}")]
    Unusable { id: u64, reason: String },
    #[error("the backup {id} cannot be deleted: {reason}")]
    Needed { id: u64, reason: String },
    /// The store has no such moment.
    #[error("there is no such moment: {0}")]
    NoMoment(String),
    #[error(
        "'{store}' belongs to the cluster {owner}, and this is the cluster {cluster}: each needs a store of its own, or one would delete and \
         restore what the other needs. Give this cluster another directory, or another base-path in the bucket \
         (camunda.data.primary-storage.backup)"
    )]
    OtherCluster {
        store: String,
        owner: String,
        cluster: String,
    },
    #[error(
        "the store has backups of several clusters: {0}. Set camunda.cluster.cluster-id to the one to restore, or give the id of a backup \
         (--backup)"
    )]
    SeveralClusters(String),
    /// A restore cannot have this epoch.
    #[error("the restore cannot have the epoch {epoch}: {reason}")]
    NoEpoch { epoch: u64, reason: String },
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl BackupError {
    /// Whether an object is missing or damaged, while the store itself can be used.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            BackupError::Damaged { .. } | BackupError::Objects(ObjectError::NotFound { .. })
        )
    }

    pub(crate) fn damaged(name: &str, reason: impl std::fmt::Display) -> BackupError {
        BackupError::Damaged {
            name: name.to_string(),
            reason: reason.to_string(),
        }
    }
}
