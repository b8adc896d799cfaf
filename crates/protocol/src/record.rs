//! One record in a batch: a small self-describing header, then the body.
//!
//! ```text
//! byte 0   record type (0 event, 1 command, 2 rejection, 3 a run of events)
//! byte 1   value type id
//! byte 2   intent id
//! byte 3   version of the body
//! varint   key, partition in the low bits (see key.rs); 1 for none
//! varint   length of the body
//! bytes    body: postcard
//! ```
//!
//! Most events of an element's life say the same of it one after the other: it activates, is activated, completes, is
//! completed. Those that differ in their intents alone are written as a run: the first of them, then a byte that says how many
//! more there are, then a byte for the intent of each. Whoever reads a batch gets them one by one.
//!
//! Position, time stamp and source are not repeated in each record: the batch gives the first position and the time, and
//! the source of an event is the command record that precedes it in the batch.

use crate::encoder::Encoder;
use crate::fields::Fields;
use crate::header_view::{HeaderView, Skim};
use crate::intent::ValueType;
use crate::key::{self, Key};
use crate::origin::{Claims, Origin};
use crate::tenant::TenantId;
use crate::value::{RecordValue, RejectionValue};
use crate::varint;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordType {
    Event = 0,
    Command = 1,
    CommandRejection = 2,
}

impl RecordType {
    pub fn name(self) -> &'static str {
        match self {
            RecordType::Event => "EVENT",
            RecordType::Command => "COMMAND",
            RecordType::CommandRejection => "COMMAND_REJECTION",
        }
    }
}

/// A record in its batch; the body is not decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    pub position: u64,
    /// Position of the command that caused this record; `None` for the command itself.
    pub source: Option<u64>,
    /// Body of that command's header, or of this record's own; empty if there is none.
    pub(crate) command: &'a [u8],
    /// Epoch milliseconds.
    pub timestamp: i64,
    pub record_type: RecordType,
    pub value_type: ValueType,
    pub intent: u8,
    pub version: u8,
    pub key: Key,
    pub body: &'a [u8],
    /// The body and what follows it in the batch.
    pub(crate) tail: &'a [u8],
}

/// Record type of a run of events.
pub(crate) const RUN: u8 = 3;

/// Events of a run beside the first.
pub(crate) const MAX_MORE: usize = u8::MAX as usize;

/// A record, or a run of events, in its batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw<'a> {
    /// Record type (that of an event, for a run), value type, intent, version of the body.
    pub head: [u8; 4],
    pub key: u64,
    /// The body and what follows it in the batch.
    pub tail: &'a [u8],
    /// Bytes of the body.
    pub length: usize,
    /// Intents of the further events of a run.
    pub more: &'a [u8],
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    #[error("the batch ends within a record at byte {0}")]
    Truncated(usize),
    #[error("unknown {what} {id} at byte {at}: the log was written by a newer version of Skep")]
    Unknown {
        what: &'static str,
        id: u8,
        at: usize,
    },
    #[error("the body of {value_type:?} (version {version}) cannot be read: {reason}")]
    Body {
        value_type: ValueType,
        version: u8,
        reason: String,
    },
}

impl<'a> Record<'a> {
    /// The fields of the body, to be read one after the other.
    pub fn fields(&self) -> Fields<'a> {
        let body = Skim::new(self.tail, self.body.len());
        Fields::new(body, self.value_type, self.version)
    }

    /// A text of the body.
    pub fn text(&self, bytes: &'a [u8]) -> Result<&'a str, DecodeError> {
        str::from_utf8(bytes).map_err(|e| DecodeError::Body {
            value_type: self.value_type,
            version: self.version,
            reason: e.to_string(),
        })
    }

    /// Decodes the body, even that of an earlier version.
    pub fn value<V: RecordValue>(&self) -> Result<V, DecodeError> {
        if self.version == V::VERSION {
            return self.decode();
        }
        V::read_earlier(self.version, self.body).ok_or(DecodeError::Unknown {
            what: "body version",
            id: self.version,
            at: 0,
        })
    }

    /// Decodes the body as any shape (rejections and command headers have their own).
    pub fn decode<T: serde::de::DeserializeOwned>(&self) -> Result<T, DecodeError> {
        postcard::from_bytes(self.body).map_err(|e| DecodeError::Body {
            value_type: self.value_type,
            version: self.version,
            reason: e.to_string(),
        })
    }

    /// Of a rejection: the tenant of what the command is about. It follows the body, unless it is the default one.
    pub fn tenant_of_rejection(&self) -> TenantId {
        let rest = postcard::take_from_bytes::<RejectionValue>(self.body);
        let rest = rest.map_or(&[][..], |(_, rest)| rest);
        postcard::from_bytes(rest).unwrap_or_default()
    }

    /// The origin of the command that caused this record, or that this record is.
    pub fn origin(&self) -> Origin {
        if self.command.is_empty() {
            return Origin::of(Claims::Anonymous);
        }
        postcard::from_bytes(self.command).unwrap_or_else(|_| Origin::of(Claims::Anonymous))
    }

    pub fn intent_name(&self) -> &'static str {
        self.value_type.intent_name(self.intent)
    }
}

/// Appends one record to a batch's bytes. The body is written in place; only a body of 128 bytes
/// or more is moved, to make room for the longer number in front of it.
pub(crate) fn write<T: serde::Serialize>(
    out: &mut Vec<u8>,
    head: (RecordType, ValueType, u8, u8),
    key: Key,
    body: &T,
) {
    let (record_type, value_type, intent, version) = head;
    out.extend_from_slice(&[record_type as u8, value_type as u8, intent, version]);
    varint::write(out, key::to_wire(key));
    let at = out.len();
    out.push(0);
    append(out, body);
    let length = out.len() - at - 1;
    match out.get_mut(at) {
        Some(place) if length < 0x80 => *place = length as u8,
        _ => {
            let mut number = Vec::with_capacity(10);
            varint::write(&mut number, length as u64);
            out.splice(at..=at, number);
        }
    }
}

/// Serializes any plain value to the same encoding as record bodies (state rows, commands between partitions).
pub fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    append(&mut out, value);
    out
}

fn append<T: serde::Serialize>(out: &mut Vec<u8>, value: &T) {
    let written = value.serialize(&mut Encoder(out));
    debug_assert!(written.is_ok(), "lengths of plain data are known before");
}

/// The inverse of [`encode`].
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(bytes).map_err(|e| e.to_string())
}

/// Reads the record at `at`; `None` if it is damaged.
#[inline(always)]
pub(crate) fn read_raw<'a>(bytes: &'a [u8], at: &mut usize) -> Option<Raw<'a>> {
    let mut head: [u8; 4] = *bytes.get(*at..)?.first_chunk()?;
    let mut next = *at + 4;
    let key = varint::read_long(bytes, &mut next)?;
    let length = usize::try_from(varint::read(bytes, &mut next)?).ok()?;
    let tail = bytes.get(next..)?;
    let mut behind = tail.get(length..)?;
    let mut more: &[u8] = &[];
    if let [record_type, ..] = &mut head
        && *record_type == RUN
    {
        *record_type = RecordType::Event as u8;
        let (count, rest) = behind.split_first()?;
        (more, behind) = rest.split_at_checked(usize::from(*count))?;
    }
    *at = bytes.len() - behind.len();
    Some(Raw {
        head,
        key,
        tail,
        length,
        more,
    })
}

/// The record behind a header view; the caller supplies its position.
#[inline(always)]
pub(crate) fn of_header_view<'a>(header_view: &HeaderView<'a>) -> Option<Record<'a>> {
    let [record_type, value_type, intent, version] = header_view.head;
    let (tail, length) = header_view.body.all();
    Some(Record {
        position: 0,
        source: None,
        command: &[],
        timestamp: 0,
        record_type: match record_type {
            0 => RecordType::Event,
            1 => RecordType::Command,
            2 => RecordType::CommandRejection,
            _ => return None,
        },
        value_type: ValueType::from_id(value_type)?,
        intent,
        version,
        key: header_view.key,
        body: tail.get(..length)?,
        tail,
    })
}

/// Why the record at `at` cannot be read.
#[cold]
pub(crate) fn damage(bytes: &[u8], at: usize) -> DecodeError {
    let head = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
    let unknown = |what, id| DecodeError::Unknown { what, id, at };
    match head {
        Some([record_type, ..]) if *record_type > RUN => unknown("record type", *record_type),
        Some([_, value_type, ..]) if ValueType::from_id(*value_type).is_none() => {
            unknown("value type", *value_type)
        }
        _ => DecodeError::Truncated(at),
    }
}
