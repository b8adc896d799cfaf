//! The segmented log of one partition.
//!
//! Frames are only ever appended. All frames of one append go out in one write, followed by one `fdatasync`; an entry whose index is not
//! greater than the last one replaces the log from there on (Raft's truncation). Each frame records up to which position the log was
//! durable when it was written, which is how recovery tells a torn tail (cut it) from corruption (refuse to start).

mod ahead;
mod append;
mod frame;
mod index;
mod reader;
mod recovery;
mod segment;
mod writer;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

pub use ahead::Preparation;
pub use append::AppendTimes;
pub use frame::{Frame, MAX_PAYLOAD};
pub use index::EntryId;
pub use reader::{Entry, LogReader};
pub use writer::{LogWriter, Report, WriterConfig, WriterStopped};

use self::frame::Position;
use self::index::Index;
use self::segment::{Segment, Spare, parse_segment_name};
use crate::StorageError;
use crate::disk::{Disk, RealDisk};

/// How a log is laid out on disk.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// A segment is closed before it would grow past this many bytes (a larger single append still goes into one).
    /// Default 128 MiB, at most 1 GiB.
    pub segment_bytes: u64,
    /// A file that was not written ahead grows by this much at a time, with zeros, so that appends seldom change metadata. Default 1 MiB.
    pub grow_bytes: u64,
    /// Number of compacted segment files kept for reuse, because overwriting is the cheapest way to append. Default 2: as many as a
    /// checkpoint frees under load.
    pub spare_segments: usize,
    /// In appends of at least this many bytes, payloads of 4 KiB and more are compressed with LZ4 where that saves an eighth: large appends
    /// wait for the disk's bandwidth, small ones would only wait for the compression. Default 512 KiB.
    pub compress_from: u64,
    /// A fixed salt for checksums, for golden files; `None` (default) takes a random one per segment.
    pub salt: Option<u64>,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 128 << 20,
            grow_bytes: 1 << 20,
            spare_segments: 2,
            compress_from: 512 << 10,
            salt: None,
        }
    }
}

/// Findings from opening a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Entries up to this one exist only in a checkpoint.
    pub base: EntryId,
    /// The last entry (the base if there is none).
    pub last: EntryId,
    /// The latest [`Frame::State`].
    pub state: Option<Bytes>,
    /// The first index of each term above the base, in ascending order: `(index, term)`.
    pub terms: Vec<EntryId>,
    /// The entries above the base whose tag is not 0, in ascending order.
    pub tagged: Vec<u64>,
}

/// An open log. One owner writes; [`Log::reader`] hands out readers.
pub struct Log {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    config: LogConfig,
    /// Oldest first; the last one is being written.
    segments: VecDeque<Arc<Segment>>,
    /// Offset of the next frame in the last segment.
    end: u64,
    /// Bytes of the last segment's file that can be overwritten.
    allocated: u64,
    durable: Position,
    index: Arc<RwLock<Index>>,
    state: Option<Bytes>,
    spares: Vec<Spare>,
    poisoned: Option<String>,
    buffer: Vec<u8>,
}

impl Log {
    /// Opens the log in a directory, creating it if there is none, and verifies every frame.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] names file and offset; the partition must then not start.
    pub fn open(
        disk: Arc<dyn Disk>,
        directory: impl AsRef<Path>,
        config: LogConfig,
    ) -> Result<(Self, Recovered), StorageError> {
        recovery::open(disk, directory.as_ref(), config)
    }

    /// Whether a log was ever begun in this directory of a real disk.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn is_there(directory: &Path) -> std::io::Result<bool> {
        match RealDisk.list(directory) {
            Ok(names) => Ok(names.iter().any(|name| parse_segment_name(name).is_some())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A reader for any thread.
    pub fn reader(&self) -> LogReader {
        LogReader {
            index: Arc::clone(&self.index),
        }
    }

    /// The entry before the first one in the log.
    pub fn base(&self) -> EntryId {
        self.index.read().base()
    }

    /// The last entry (the base if there is none).
    pub fn last(&self) -> EntryId {
        self.index.read().last()
    }

    /// The generation of the segment that is being written.
    fn generation(&self) -> u64 {
        self.segments.back().map_or(0, |segment| segment.generation)
    }

    /// Bytes on disk, without spare files.
    pub fn disk_bytes(&self) -> u64 {
        self.segments
            .iter()
            .filter_map(|segment| segment.file.len().ok())
            .sum()
    }
}
