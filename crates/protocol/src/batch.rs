//! A batch: the records of all commands that were evaluated together. It is one entry of the replicated log.
//!
//! ```text
//! byte     format (1)
//! 8 bytes  position of the first record, little endian
//! 8 bytes  time stamp of all its records, epoch milliseconds, little endian
//! records  see record.rs
//! ```

use std::any::Any;

use crate::failure::Rejection;
use crate::header_view::HeaderView;
use crate::intent::{Intent, ValueType};
use crate::key::{self, Key};
use crate::origin::Origin;
use crate::record::{self, DecodeError, Raw, Record, RecordType};
use crate::tenant::TenantId;
use crate::value::{ProcessInstanceValue, RecordValue, RejectionValue};

const FORMAT: u8 = 1;
const HEADER: usize = 17;
/// Bytes reserved at most for a batch that begins.
const MAX_RESERVE: usize = 64 * 1024;

/// Kind of a record: its record type, value type and intent.
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
    /// The event that was written last, if another one may join it.
    last: Option<Last>,
}

/// An event in the life of an element, or a run of them, at the end of a batch.
#[derive(Debug)]
struct Last {
    key: Key,
    value: ProcessInstanceValue,
    /// Where it begins.
    at: usize,
    /// Where its body ends.
    end: usize,
    /// Events that have joined the first.
    more: usize,
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

    /// Sets the time of the following records. Only an empty batch takes a new time: one batch has one.
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
        // The compiler knows the type of each value. Only those of elements have runs.
        let value_of_element = (value as &dyn Any).downcast_ref::<ProcessInstanceValue>();
        if let Some(value) = value_of_element
            && let Some(last) = &self.last
            && last.key == key
            && last.value == *value
            && last.more < record::MAX_MORE
        {
            self.join(intent.id());
            return;
        }
        let at = self.bytes.len();
        let head = (
            RecordType::Event,
            V::VALUE_TYPE,
            intent.id(),
            value.version(),
        );
        record::write(&mut self.bytes, head, key, value);
        self.last = value_of_element.map(|value| Last {
            key,
            value: value.clone(),
            at,
            end: self.bytes.len(),
            more: 0,
        });
    }

    /// One more event of the last run.
    fn join(&mut self, intent: u8) {
        let Some(last) = &mut self.last else {
            return;
        };
        if last.more == 0 {
            if let Some(record_type) = self.bytes.get_mut(last.at) {
                *record_type = record::RUN;
            }
            self.bytes.push(0);
        }
        last.more += 1;
        if let Some(count) = self.bytes.get_mut(last.end) {
            *count = last.more as u8;
        }
        self.bytes.push(intent);
    }

    /// The header of an accepted or refused command; it is the source of the records after it. Its body is its origin, or
    /// empty if that is plain: the command's payload is not kept.
    pub fn command(&mut self, key: Key, value_type: ValueType, intent: u8, origin: &Origin) {
        self.open(RecordType::Command, value_type, intent);
        self.last = None;
        let head = (RecordType::Command, value_type, intent, 1);
        if origin.is_plain() {
            record::write(&mut self.bytes, head, key, &())
        } else {
            record::write(&mut self.bytes, head, key, origin)
        }
    }

    /// A rejection of a command that is about nothing, or about something of the default tenant.
    pub fn rejection(
        &mut self,
        key: Key,
        value_type: ValueType,
        intent: u8,
        rejection: &Rejection,
    ) {
        self.rejection_for(&TenantId::default(), key, (value_type, intent), rejection);
    }

    /// A rejection of a command that is about something of this tenant. Any tenant but the default one follows the body: what an earlier
    /// version writes has none, and what it reads of a body ends before it.
    pub fn rejection_for(
        &mut self,
        tenant: &TenantId,
        key: Key,
        (value_type, intent): (ValueType, u8),
        rejection: &Rejection,
    ) {
        self.open(RecordType::CommandRejection, value_type, intent);
        self.last = None;
        let head = (RecordType::CommandRejection, value_type, intent, 1);
        let body = RejectionValue {
            rejection_type: rejection.kind,
            rejection_reason: rejection.reason.to_string(),
        };
        if tenant.is_default() {
            record::write(&mut self.bytes, head, key, &body);
        } else {
            record::write(&mut self.bytes, head, key, &(body, tenant));
        }
    }

    /// Makes room for a record of this kind.
    fn open(&mut self, record_type: RecordType, value_type: ValueType, intent: u8) {
        if self.is_empty() {
            self.bytes.clear();
            // A little more than the last: one byte too few would copy the whole.
            let likely = self.last_size + self.last_size / 8;
            self.bytes.reserve(likely.min(MAX_RESERVE));
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
    pub fn mark(&mut self) -> Mark {
        // A record that joins one before the mark could not be rolled back.
        self.last = None;
        Mark {
            records: self.len(),
            bytes: self.size(),
        }
    }

    /// Takes back the records since the mark: a command without changes and without a rejection leaves no trace.
    pub fn rollback(&mut self, mark: Mark) {
        self.next_position -= (self.len() - mark.records) as u64;
        self.kinds.truncate(mark.records);
        self.bytes.truncate(mark.bytes);
        self.last = None;
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
        self.last = None;
        let reserve = self.len().min(MAX_RESERVE / size_of::<Kind>());
        let kinds = std::mem::replace(&mut self.kinds, Vec::with_capacity(reserve));
        Some((std::mem::take(&mut self.bytes), kinds))
    }

    /// Discards the records and continues at `next_position`.
    pub fn reset(&mut self, next_position: u64) {
        self.kinds.clear();
        self.bytes.clear();
        self.last = None;
        self.next_position = next_position;
    }
}

/// An offset between two records of a batch.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Offset {
    pub(crate) at: usize,
    pub(crate) position: u64,
}

impl Offset {
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
    /// The run whose events are being read; usually nothing is left of it.
    run: Raw<'a>,
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
            run: Raw::default(),
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
    pub fn offset(&self) -> Offset {
        Offset {
            at: self.at,
            position: self.position,
        }
    }

    /// Moves to a place in this batch where a reader has stood before a command, or at the end.
    pub fn go_to(&mut self, offset: Offset) {
        (self.at, self.position) = (offset.at, offset.position);
        self.run.more = &[];
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len() && self.run.more.is_empty()
    }

    /// Skips the next records if they are events of this value type and version about `key`, with these intents, without
    /// reading their bodies. False also if such events are not adjacent.
    #[inline]
    pub fn skip_events<const N: usize>(
        &mut self,
        kind: (ValueType, u8),
        intents: [u8; N],
        key: Key,
    ) -> bool {
        self.skip(kind, intents, key::to_wire(key)).is_some()
    }

    // Intents are compared one by one: comparing them as slices waits until they have been written to memory.
    #[inline(always)]
    fn skip<const N: usize>(
        &mut self,
        (value_type, version): (ValueType, u8),
        intents: [u8; N],
        key: u64,
    ) -> Option<()> {
        let mut wanted = intents.into_iter();
        let mut run = self.run;
        let mut at = self.at;
        if run.more.is_empty() {
            run = record::read_raw(self.bytes, &mut at)?;
            let [record_type, _, first, _] = run.head;
            if record_type != RecordType::Event as u8 || Some(first) != wanted.next() {
                return None;
            }
        }
        let [_, of, _, in_version] = run.head;
        if run.key != key || of != value_type as u8 || in_version != version {
            return None;
        }
        for intent in wanted {
            let (next, rest) = run.more.split_first()?;
            if *next != intent {
                return None;
            }
            run.more = rest;
        }
        if at == self.at || run.more.is_empty() {
            self.run.more = run.more;
        } else {
            self.run = run;
        }
        self.at = at;
        self.position += N as u64;
        Some(())
    }

    /// A view of the next record's header, without skipping it, and the place behind it. `None` also if it cannot be read.
    #[inline(always)]
    pub fn header_view(&self) -> Option<(HeaderView<'a>, AfterHeader<'a>)> {
        let (mut run, mut at) = (self.run, self.at);
        if let Some((intent, more)) = run.more.split_first() {
            let [_, _, in_run, _] = &mut run.head;
            (*in_run, run.more) = (*intent, more);
        } else {
            run = record::read_raw(self.bytes, &mut at)?;
        }
        Some((HeaderView::of(&run), AfterHeader { at, run }))
    }

    /// Skips a record that was viewed.
    #[inline(always)]
    pub fn pass(&mut self, ahead: AfterHeader<'a>) {
        self.at = ahead.at;
        match ahead.run.more {
            [] => self.run.more = &[],
            _ => self.run = ahead.run,
        }
        self.position += 1;
    }

    /// The viewed event, for a reader that stood at this place.
    #[inline(always)]
    pub fn event(&self, event: &HeaderView<'a>, offset: Offset) -> Result<Record<'a>, DecodeError> {
        let record = record::of_header_view(event);
        let mut record = record.ok_or_else(|| record::damage(self.bytes, offset.at))?;
        record.position = offset.position;
        record.timestamp = self.timestamp;
        record.source = self.source;
        record.command = self.command;
        Ok(record)
    }
}

/// Behind a record that was viewed.
#[derive(Clone, Copy, Debug)]
pub struct AfterHeader<'a> {
    at: usize,
    run: Raw<'a>,
}

impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<Record<'a>, DecodeError>;

    // Otherwise a record would be copied on its way, which waits until it has been written to memory.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end() {
            return None;
        }
        let offset = self.offset();
        let Some((header_view, ahead)) = self.header_view() else {
            self.at = self.bytes.len();
            return Some(Err(record::damage(self.bytes, offset.at)));
        };
        self.pass(ahead);
        let mut record = match self.event(&header_view, offset) {
            Ok(record) => record,
            Err(error) => {
                self.go_to(Offset {
                    at: self.bytes.len(),
                    ..offset
                });
                return Some(Err(error));
            }
        };
        if record.record_type == RecordType::Command {
            self.source = Some(offset.position);
            self.command = record.body;
            (record.source, record.command) = (None, record.body);
        }
        Some(Ok(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::ProcessInstanceIntent as Life;
    use crate::value::ProcessInstanceValue;

    fn element(element: u32) -> ProcessInstanceValue {
        ProcessInstanceValue {
            process_definition_key: Key::new(1, 3),
            process_instance_key: Key::new(1, 7),
            element,
            flow_scope_key: Key::new(1, 7),
            parent_process_instance_key: Key::NONE,
            parent_element_instance_key: Key::NONE,
            root_process_instance_key: Key::new(1, 7),
            consumed_flows: 0,
        }
    }

    const LIFE: [Life; 4] = [
        Life::ElementActivating,
        Life::ElementActivated,
        Life::ElementCompleting,
        Life::ElementCompleted,
    ];

    /// Position, intent, key and element of each record.
    fn read(batch: &[u8]) -> Vec<(u64, Life, Key, u32)> {
        let records = BatchReader::new(batch).unwrap().map(|record| {
            let record = record.unwrap();
            let value: ProcessInstanceValue = record.value().unwrap();
            let intent = Life::from_id(record.intent).unwrap();
            (record.position, intent, record.key, value.element)
        });
        records.collect()
    }

    #[test]
    fn the_tenant_of_a_rejection_follows_what_earlier_versions_read() {
        use crate::failure::RejectionType;
        let rejection = Rejection::new(RejectionType::InvalidState, "CREATE", "no start event");
        let written = |tenant: Option<&str>| {
            let mut out = BatchWriter::new(1);
            let of = (ValueType::ProcessInstanceCreation, 0);
            match tenant.map(TenantId::new) {
                Some(tenant) => out.rejection_for(&tenant, Key::NONE, of, &rejection),
                None => out.rejection(Key::NONE, of.0, of.1, &rejection),
            }
            out.take().unwrap()
        };
        for (tenant, expected) in [(None, ""), (Some(""), ""), (Some("acme"), "acme")] {
            let batch = written(tenant);
            let record = BatchReader::new(&batch).unwrap().next().unwrap().unwrap();
            assert_eq!(record.tenant_of_rejection(), TenantId::new(expected));
            let value: RejectionValue = record.decode().unwrap();
            assert_eq!(value.rejection_type, RejectionType::InvalidState);
            assert_eq!(value.rejection_reason, "no start event");
        }
        assert_eq!(written(None), written(Some("")));
        let for_acme = written(Some("acme"));
        assert!(for_acme.ends_with(b"\x0eno start event\x04acme"));
    }

    #[test]
    fn events_that_differ_in_their_intents_alone_take_a_byte_each_and_are_read_one_by_one() {
        let mut out = BatchWriter::new(10);
        let mut expected = Vec::new();
        let mut size = 0;
        for (key, number) in [(8, 1), (8, 2), (9, 2)] {
            for intent in LIFE {
                out.event(Key::new(1, key), intent, &element(number));
                let position = 10 + expected.len() as u64;
                expected.push((position, intent, Key::new(1, key), number));
                // The first record that joins adds the byte that counts them.
                let alone = intent == LIFE[0];
                let joined = out.size() - size;
                assert!(alone || joined == 1 || joined == 2 && intent == LIFE[1]);
                size = out.size();
            }
        }
        assert_eq!(out.len(), 12);
        assert_eq!(read(&out.take().unwrap()), expected);
    }

    #[test]
    fn a_run_that_is_too_long_continues_in_another() {
        let mut out = BatchWriter::new(1);
        for i in 0..1000 {
            out.event(Key::new(1, 8), LIFE[i % 4], &element(1));
        }
        let records = read(&out.take().unwrap());
        assert_eq!(records.len(), 1000);
        assert!((0..1000).all(|i| records[i].0 == 1 + i as u64 && records[i].1 == LIFE[i % 4]));
    }

    #[test]
    fn a_rollback_keeps_what_was_written_before_the_mark() {
        let mut out = BatchWriter::new(1);
        let key = Key::new(1, 8);
        out.event(key, LIFE[0], &element(1));
        out.event(key, LIFE[1], &element(1));
        let mark = out.mark();
        out.event(key, LIFE[2], &element(1));
        out.rollback(mark);
        out.event(key, LIFE[3], &element(1));
        let intents: Vec<Life> = read(&out.take().unwrap()).iter().map(|r| r.1).collect();
        assert_eq!(intents, [LIFE[0], LIFE[1], LIFE[3]]);
    }

    #[test]
    fn a_batch_that_ends_within_a_run_is_damaged() {
        let mut out = BatchWriter::new(1);
        for intent in LIFE {
            out.event(Key::new(1, 8), intent, &element(1));
        }
        let batch = out.take().unwrap();
        let mut reader = BatchReader::new(&batch[..batch.len() - 1]).unwrap();
        assert_eq!(reader.next(), Some(Err(DecodeError::Truncated(HEADER))));
        assert_eq!(reader.next(), None);
    }

    #[test]
    fn events_are_passed_over_alone_and_several_at_once() {
        let mut out = BatchWriter::new(1);
        let (key, other) = (Key::new(1, 8), Key::new(1, 9));
        for intent in LIFE {
            out.event(key, intent, &element(1));
        }
        out.event(other, LIFE[0], &element(1));
        let batch = out.take().unwrap();
        let kind = (ValueType::ProcessInstance, 1);
        let ids = LIFE.map(Life::id);
        for apart in 0..=4 {
            let mut reader = BatchReader::new(&batch).unwrap();
            assert!(!reader.skip_events(kind, ids, other));
            assert!(!reader.skip_events((ValueType::Job, 1), ids, key));
            assert!(!reader.skip_events((ValueType::ProcessInstance, 2), ids, key));
            assert!(!reader.skip_events(kind, [ids[0], ids[2]], key));
            for intent in ids.iter().take(apart) {
                assert!(!reader.is_at_end() && reader.skip_events(kind, [*intent], key));
            }
            assert!(apart > 2 || !reader.skip_events(kind, [ids[apart + 1]], key));
            assert!(match apart {
                0 => reader.skip_events(kind, ids, key),
                1 => reader.skip_events(kind, [ids[1], ids[2], ids[3]], key),
                2 => reader.skip_events(kind, [ids[2], ids[3]], key),
                3 => reader.skip_events(kind, [ids[3]], key),
                _ => true,
            });
            assert!(!reader.skip_events(kind, [ids[0]], key));
            let offset = reader.offset();
            let (event, ahead) = reader.header_view().unwrap();
            assert_eq!((reader.position(), event.key), (5, other));
            let record = reader.event(&event, offset);
            assert_eq!(Some(record), reader.clone().next());
            reader.pass(ahead);
            assert_eq!((reader.position(), reader.is_at_end()), (6, true));
        }
    }
}
