//! Errors of data on disk, as one type.

use std::io;
use std::path::{Path, PathBuf};

/// An error of durable data. Each message says what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A checksum or a rule of the format is violated inside data that was known to be durable.
    #[error(
        "the log is corrupt: file {file}, offset {offset}: {reason}. The partition was not started, so that no \
         acknowledged data is silently lost. Check the disk. Where this is the only copy, restore a backup with skep restore, or a copy of \
         the whole data directory; in a cluster never do that: remove this member and add it again, so that it gets a copy of the others' data"
    )]
    Corrupt {
        file: PathBuf,
        offset: u64,
        reason: String,
    },
    /// The disk has no space for the write. Nothing was appended; the log continues once there is space.
    #[error(
        "the disk is full: {operation} {file} failed: {source}. Free some space; writing then resumes by itself"
    )]
    DiskFull {
        operation: &'static str,
        file: PathBuf,
        source: io::Error,
    },
    /// The operating system refused an operation.
    #[error("{operation} {file} failed: {source}")]
    Io {
        operation: &'static str,
        file: PathBuf,
        source: io::Error,
    },
    /// A flush to the disk failed once, so the contents of the disk are unknown until the log is opened again.
    #[error(
        "the log in {directory} stopped because an earlier write could not be made durable ({cause}). Nothing was \
         acknowledged since. Check the disk and restart the node: the log is verified when it is opened"
    )]
    Poisoned { directory: PathBuf, cause: String },
    /// The requested entries were removed by compaction, or replaced while they were being read.
    #[error("entry {index} is no longer in the log; it begins at {first}")]
    Compacted { index: u64, first: u64 },
    /// The thread that writes the log panicked, which is a bug; whatever it had not reported is not known to be durable.
    #[error(
        "the thread that writes the log panicked ({0}), which is a bug; see the log of the node"
    )]
    WriterPanicked(String),
    /// A caller broke a rule of the interface (for example a gap between two indices).
    #[error("invalid append: {0}")]
    Invalid(String),
    /// The key-value store failed.
    #[error("the key-value store in {directory} failed: {message}")]
    Kv { directory: PathBuf, message: String },
    /// A snapshot stream is damaged or was written by a version that this one does not know.
    #[error("the snapshot cannot be installed: {0}")]
    Snapshot(String),
}

impl StorageError {
    pub(crate) fn io(operation: &'static str, file: &Path, source: io::Error) -> Self {
        let full = matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        let file = file.to_path_buf();
        if full {
            Self::DiskFull {
                operation,
                file,
                source,
            }
        } else {
            Self::Io {
                operation,
                file,
                source,
            }
        }
    }

    pub(crate) fn corrupt(file: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Self::Corrupt {
            file: file.to_path_buf(),
            offset,
            reason: reason.into(),
        }
    }

    /// Whether waiting for disk space is the remedy.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }
}
