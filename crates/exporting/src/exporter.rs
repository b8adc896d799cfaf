//! What takes in the committed records of a partition: secondary storage, or an exporter of records.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skep_protocol::Key;
use skep_protocol::json::Ancestor;

use crate::metrics::{Bulk, Sink, Tally};
use crate::status::Status;
use crate::target_error::TargetError;

/// A place in the log of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Index of an entry.
    pub entry: u64,
    /// Position of its last record, or of the last one before it.
    pub record: u64,
    /// Its time, epoch milliseconds.
    pub timestamp: i64,
}

/// Driven by a thread of its own (see [`crate::Driver`]): no call has to be quick, nothing else waits for it, and what fails is
/// tried again. The reasons of failures are shown to operators.
///
/// The calls come in this order: [`open`](Exporter::open), then [`take`](Exporter::take) for each entry, and
/// [`flush`](Exporter::flush) when the window ends, when [`is_full`](Exporter::is_full) or when somebody
/// [`waits`](Exporter::is_awaited). After any failure it begins again with `open`.
pub trait Exporter: Send + 'static {
    /// Prepares to export; connects, if that is needed. Must neither lose nor repeat: answers with `Some(position)` when the
    /// target itself knows up to where it goes (what was taken in after it is forgotten, and read again), and with `None`
    /// when what was taken in is still here and goes with the next flush.
    fn open(&mut self) -> Result<Option<Position>, TargetError>;

    /// Takes in the records of an entry and counts them; tells the position of the last of them, and their time.
    fn take(
        &mut self,
        entry: u64,
        payload: &[u8],
        tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError>;

    /// What was taken in and not flushed.
    fn bulk(&self) -> Bulk;

    /// So much was taken in that it is to be flushed before there is more.
    fn is_full(&self) -> bool;

    /// How long entries are taken in before they are flushed together.
    fn window(&self) -> Duration;

    /// Somebody waits for what was committed until now: the window is not waited for. Told once for each demand.
    fn is_awaited(&mut self) -> bool {
        false
    }

    /// Stores what was taken in. `to`: up to where that goes.
    fn flush(&mut self, to: Position) -> Result<(), TargetError>;

    /// Makes what was flushed survive anything; from time to time, and at the end.
    fn sync(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Up to where the log is not needed any more.
    fn durable(&self) -> Position;

    /// What it wants to find again when it goes on behind [`durable`](Exporter::durable).
    fn metadata(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The log begins after entries that were not taken in: they are gone. It goes on behind `to`.
    fn lost(&mut self, _to: u64) {}

    /// Maintenance between batches of records; called often, also under load: it is the exporter that sees to it that this
    /// takes little of the time. For how long there is nothing of that to do.
    fn maintain(&mut self) -> Result<Duration, TargetError> {
        Ok(Duration::MAX)
    }

    /// A stop waits until everything that is committed is stored. Only what has its target at hand can say so.
    fn finishes(&self) -> bool {
        false
    }
}

/// An exporter of records, as it is configured.
#[derive(Clone, Debug)]
pub struct ExporterConfig {
    /// Its name.
    pub id: String,
    pub make: Arc<dyn Make>,
}

/// Makes an exporter when it is to begin.
pub trait Make: Send + Sync + Debug {
    fn exporter(&self, beginning: Beginning) -> Box<dyn Exporter>;

    /// What it writes to.
    fn sink(&self) -> Sink {
        Sink::Other
    }
}

/// What an exporter of records begins with.
#[derive(Debug)]
pub struct Beginning {
    pub partition: u32,
    /// Up to where it has got.
    pub position: Position,
    /// What it has left there; see [`Exporter::metadata`].
    pub metadata: Vec<u8>,
    /// What others see of it.
    pub status: Arc<Status>,
    pub known: Known,
}

/// What the records before an entry have told of what still lives.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// That entry.
    pub entry: u64,
    /// The bodies of the PROCESS records.
    pub definitions: Arc<[Bytes]>,
    /// The element instances with their places.
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
