//! A batch: the records of all commands that were evaluated together. It is one entry of the replicated log.
//!
//! ```text
//! byte     format (1)
//! 8 bytes  position of the first record, little endian
//! 8 bytes  time stamp of all its records, epoch milliseconds, little endian
//! records  see record.rs
//! ```

use crate::failure::Rejection;
use crate::intent::{Intent, ValueType};
use crate::key::Key;
use crate::origin::Origin;
use crate::record::{self, DecodeError, Record, RecordType};
use crate::value::{RecordValue, RejectionValue};

const FORMAT: u8 = 1;
const HEADER: usize = 17;
/// Bytes reserved at most for a batch that begins.
const MAX_RESERVE: usize = 64 * 1024;

/// What a record is: its type, and what it says about what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    pub record_type: RecordType,
    pub value_type: ValueType,
    pub intent: u8,
}

/// Collects the records of a batch. Reused from batch to batch, so that writing allocates only while buffers grow.
#[derive(Debug, Default)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    /// Size of the last batch: the next one will need about as much.
    last_size: usize,
    next_position: u64,
    timestamp: i64,
    /// Of each record of the batch.
    kinds: Vec<Kind>,
}

/// A point within a batch.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    records: usize,
    bytes: usize,
}

impl BatchWriter {
    /// `next_position`: the position of the first record to be written.
    pub fn new(next_position: u64) -> BatchWriter {
        BatchWriter {
            next_position,
            ..BatchWriter::default()
        }
    }

    /// Sets the time of the records to come. Only an empty batch takes a new time: one batch has one.
    pub fn begin(&mut self, timestamp: i64) {
        if self.is_empty() {
            self.timestamp = timestamp;
        }
    }

    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    pub fn event<V: RecordValue>(&mut self, key: Key, intent: V::Intent, value: &V) {
        self.open(RecordType::Event, V::VALUE_TYPE, intent.id());
        let head = (RecordType::Event, V::VALUE_TYPE, intent.id(), V::VERSION);
        record::write(&mut self.bytes, head, key, value);
    }

    /// The header of an accepted or refused command; it is the source of the records after it.
    /// Its body is its origin, and empty when that says nothing: the command's payload is not kept.
    pub fn command(&mut self, key: Key, value_type: ValueType, intent: u8, origin: &Origin) {
        self.open(RecordType::Command, value_type, intent);
        let head = (RecordType::Command, value_type, intent, 1);
        match origin.is_plain() {
            true => record::write(&mut self.bytes, head, key, &()),
            false => record::write(&mut self.bytes, head, key, origin),
        }
    }

    pub fn rejection(
        &mut self,
        key: Key,
        value_type: ValueType,
        intent: u8,
        rejection: &Rejection,
    ) {
        self.open(RecordType::CommandRejection, value_type, intent);
        let head = (RecordType::CommandRejection, value_type, intent, 1);
        let body = RejectionValue {
            rejection_type: rejection.kind,
            rejection_reason: rejection.reason.to_string(),
        };
        record::write(&mut self.bytes, head, key, &body);
    }

    /// Makes room for a record of this kind.
    fn open(&mut self, record_type: RecordType, value_type: ValueType, intent: u8) {
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.reserve(self.last_size.min(MAX_RESERVE));
            self.bytes.push(FORMAT);
            self.bytes
                .extend_from_slice(&self.next_position.to_le_bytes());
            self.bytes.extend_from_slice(&self.timestamp.to_le_bytes());
        }
        self.kinds.push(Kind {
            record_type,
            value_type,
            intent,
        });
        self.next_position += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Bytes so far, header included.
    pub fn size(&self) -> usize {
        if self.is_empty() { 0 } else { self.bytes.len() }
    }

    /// Position of the record that will be written next.
    pub fn next_position(&self) -> u64 {
        self.next_position
    }

    /// Where the batch stands now; see [`BatchWriter::rollback`].
    pub fn mark(&self) -> Mark {
        Mark {
            records: self.len(),
            bytes: self.size(),
        }
    }

    /// Takes back the records since the mark: a command that changed nothing and refused nothing leaves no trace.
    pub fn rollback(&mut self, mark: Mark) {
        self.next_position -= (self.len() - mark.records) as u64;
        self.kinds.truncate(mark.records);
        self.bytes.truncate(mark.bytes);
    }

    /// Hands out the finished batch and starts an empty one. `None` when nothing was written.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.take_with_kinds().map(|(batch, _)| batch)
    }

    /// As [`BatchWriter::take`], with the kinds of its records in their order.
    pub fn take_with_kinds(&mut self) -> Option<(Vec<u8>, Vec<Kind>)> {
        if self.is_empty() {
            return None;
        }
        self.last_size = self.bytes.len();
        let reserve = self.len().min(MAX_RESERVE / size_of::<Kind>());
        let kinds = std::mem::replace(&mut self.kinds, Vec::with_capacity(reserve));
        Some((std::mem::take(&mut self.bytes), kinds))
    }

    /// Throws away what was written and goes on at `next_position`.
    pub fn reset(&mut self, next_position: u64) {
        self.kinds.clear();
        self.bytes.clear();
        self.next_position = next_position;
    }
}

/// A place between two records of a batch.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Place {
    pub(crate) at: usize,
    pub(crate) position: u64,
}

impl Place {
    /// Position of the record that comes next.
    pub fn position(self) -> u64 {
        self.position
    }
}

/// Reads a batch back, record by record.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    bytes: &'a [u8],
    at: usize,
    position: u64,
    timestamp: i64,
    source: Option<u64>,
    command: &'a [u8],
}

impl<'a> BatchReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<BatchReader<'a>, DecodeError> {
        let (format, rest) = bytes.split_first().ok_or(DecodeError::Truncated(0))?;
        if *format != FORMAT {
            return Err(DecodeError::Unknown {
                what: "batch format",
                id: *format,
                at: 0,
            });
        }
        let (position, rest) = rest.split_first_chunk().ok_or(DecodeError::Truncated(0))?;
        let timestamp = rest.first_chunk().ok_or(DecodeError::Truncated(0))?;
        Ok(BatchReader {
            bytes,
            at: HEADER,
            position: u64::from_le_bytes(*position),
            timestamp: i64::from_le_bytes(*timestamp),
            source: None,
            command: &[],
        })
    }

    /// Position of the record that comes next.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Where the reader stands.
    pub fn place(&self) -> Place {
        Place {
            at: self.at,
            position: self.position,
        }
    }

    /// Goes to a place in this batch where a reader has stood before a command, or at the end.
    pub fn go_to(&mut self, place: Place) {
        (self.at, self.position) = (place.at, place.position);
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Goes past the next record if it is an event of this kind about `key`, without reading its body. `head` is value type,
    /// intent and version.
    #[inline]
    pub fn skip_event(&mut self, head: (ValueType, u8, u8), key: Key) -> bool {
        match record::skip_event(self.bytes, self.at, head, key) {
            Some(end) => {
                self.at = end;
                self.position += 1;
                true
            }
            None => false,
        }
    }
}

impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<Record<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let mut record = match record::read(self.bytes, &mut self.at) {
            Ok(record) => record,
            Err(e) => {
                self.at = self.bytes.len();
                return Some(Err(e));
            }
        };
        record.position = self.position;
        record.timestamp = self.timestamp;
        if record.record_type == RecordType::Command {
            self.source = Some(self.position);
            self.command = record.body;
        } else {
            record.source = self.source;
        }
        record.command = self.command;
        self.position += 1;
        Some(Ok(record))
    }
}
