//! The interface of exporters, which consume the committed records of a partition: secondary storage and record exporters.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skep_protocol::Key;
use skep_protocol::json::Ancestor;

use crate::metrics::{Bulk, Sink, Tally};
use crate::status::Status;
use crate::target_error::TargetError;

/// A position in the log of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Index of an entry.
    pub entry: u64,
    /// Position of the last record in the entry, or before it.
    pub record: u64,
    /// Timestamp of the entry in epoch milliseconds.
    pub timestamp: i64,
}

/// An exporter, driven by a thread of its own (see [`crate::Driver`]): calls may block, because nothing else waits for them,
/// and failures are retried. Failure reasons are shown to operators.
///
/// The calls come in this order: [`open`](Exporter::open), then [`take`](Exporter::take) for each entry, and
/// [`flush`](Exporter::flush) when the window ends, when [`is_full`](Exporter::is_full), or when somebody
/// [`waits`](Exporter::is_awaited). After any failure it starts over with `open`.
pub trait Exporter: Send + 'static {
    /// Prepares for exporting, and connects if necessary. Must neither lose nor repeat records. Returns `Some(position)` if the
    /// target itself knows its position: entries taken in after it are discarded and read again. Returns `None` if entries
    /// taken in are still here and will be written by the next flush.
    fn open(&mut self) -> Result<Option<Position>, TargetError>;

    /// Takes in the records of an entry and counts them. Returns the position of the last record and the timestamp.
    fn take(
        &mut self,
        entry: u64,
        payload: &[u8],
        tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError>;

    /// Records taken in but not flushed yet.
    fn bulk(&self) -> Bulk;

    /// Whether the collected records must be flushed before more are taken in.
    fn is_full(&self) -> bool;

    /// How long entries are collected before they are flushed together.
    fn window(&self) -> Duration;

    /// Whether somebody waits for changes committed so far, so that the window ends early. True once for each demand.
    fn is_awaited(&mut self) -> bool {
        false
    }

    /// Stores the collected records. `to`: the position they reach.
    fn flush(&mut self, to: Position) -> Result<(), TargetError>;

    /// Makes flushed data durable. Called from time to time and at the end.
    fn sync(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// The position up to which the log is no longer needed.
    fn durable(&self) -> Position;

    /// State that the exporter needs when it continues after [`durable`](Exporter::durable).
    fn metadata(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The log starts after entries that were not taken in, and these are lost. Exporting continues after `to`.
    fn lost(&mut self, _to: u64) {}

    /// Does maintenance between batches of records. Called often, also under load; the exporter itself limits the share of time
    /// this takes. Returns how long there is nothing more to do.
    fn maintain(&mut self) -> Result<Duration, TargetError> {
        Ok(Duration::MAX)
    }

    /// Whether a stop waits until all committed entries are stored. Only for exporters with a local target.
    fn finishes(&self) -> bool {
        false
    }
}

/// A configured record exporter.
#[derive(Clone, Debug)]
pub struct ExporterConfig {
    /// The exporter's name.
    pub id: String,
    pub make: Arc<dyn Make>,
}

/// Creates exporters from their settings.
pub trait Make: Send + Sync + Debug {
    fn exporter(&self, beginning: Beginning) -> Box<dyn Exporter>;

    /// The kind of target it writes to.
    fn sink(&self) -> Sink {
        Sink::Other
    }
}

/// The state with which a record exporter starts.
#[derive(Debug)]
pub struct Beginning {
    pub partition: u32,
    /// The position it has reached.
    pub position: Position,
    /// The metadata stored for that position; see [`Exporter::metadata`].
    pub metadata: Vec<u8>,
    /// Its status, shared with others.
    pub status: Arc<Status>,
    pub known: Known,
}

/// Knowledge from the records before an entry about everything that is still alive.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The entry.
    pub entry: u64,
    /// Bodies of the PROCESS records.
    pub definitions: Arc<[Bytes]>,
    /// Element instances with their ancestors.
    pub elements: Arc<[(Key, Ancestor)]>,
}

impl<E: Exporter + ?Sized> Exporter for Box<E> {
    fn open(&mut self) -> Result<Option<Position>, TargetError> {
        (**self).open()
    }

    fn take(
        &mut self,
        entry: u64,
        payload: &[u8],
        tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError> {
        (**self).take(entry, payload, tally)
    }

    fn bulk(&self) -> Bulk {
        (**self).bulk()
    }

    fn is_full(&self) -> bool {
        (**self).is_full()
    }

    fn window(&self) -> Duration {
        (**self).window()
    }

    fn is_awaited(&mut self) -> bool {
        (**self).is_awaited()
    }

    fn flush(&mut self, to: Position) -> Result<(), TargetError> {
        (**self).flush(to)
    }

    fn sync(&mut self) -> Result<(), TargetError> {
        (**self).sync()
    }

    fn durable(&self) -> Position {
        (**self).durable()
    }

    fn metadata(&self) -> Vec<u8> {
        (**self).metadata()
    }

    fn lost(&mut self, to: u64) {
        (**self).lost(to);
    }

    fn maintain(&mut self) -> Result<Duration, TargetError> {
        (**self).maintain()
    }

    fn finishes(&self) -> bool {
        (**self).finishes()
    }
}
