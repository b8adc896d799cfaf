//! One record in a batch: a small self-describing header, then the body.
//!
//! ```text
//! byte 0   record type (0 event, 1 command, 2 rejection)
//! byte 1   value type id
//! byte 2   intent id
//! byte 3   version of the body
//! varint   key, partition in the low bits (see key.rs); 0 for none
//! varint   length of the body
//! bytes    body: postcard
//! ```
//!
//! Position, time stamp and source are not repeated in each record: the batch gives the first position and the time, and
//! the source of an event is the command record that precedes it in the batch.

use crate::fields::Fields;
use crate::intent::ValueType;
use crate::key::{self, Key};
use crate::origin::Origin;
use crate::value::RecordValue;

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

/// A record as it stands in its batch; the body is not decoded.
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
        Fields::new(self.body, self.value_type, self.version)
    }

    /// Decodes the body, also that of an earlier version.
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

    /// Where the command comes from that caused this record, or that this record is.
    pub fn origin(&self) -> Origin {
        if self.command.is_empty() {
            return Origin::default();
        }
        postcard::from_bytes(self.command).unwrap_or_default()
    }

    pub fn intent_name(&self) -> &'static str {
        self.value_type.intent_name(self.intent)
    }
}

/// Appends one record to a batch's bytes. The body is written in place; only a body of 128 bytes or more is moved, to make
/// room for the longer number in front of it.
pub(crate) fn write<T: serde::Serialize>(
    out: &mut Vec<u8>,
    head: (RecordType, ValueType, u8, u8),
    key: Key,
    body: &T,
) {
    let (record_type, value_type, intent, version) = head;
    out.extend_from_slice(&[record_type as u8, value_type as u8, intent, version]);
    write_varint(out, key::to_wire(key));
    let at = out.len();
    out.push(0);
    // Serializing plain data into a growing vector cannot fail: the flavor below has no error.
    let _ = postcard::serialize_with_flavor::<T, _, ()>(body, Appended(out));
    let length = out.len() - at - 1;
    match out.get_mut(at) {
        Some(place) if length < 0x80 => *place = length as u8,
        _ => {
            let mut number = Vec::with_capacity(10);
            write_varint(&mut number, length as u64);
            out.splice(at..=at, number);
        }
    }
}

/// Lets postcard append to a vector by slices; its own growing flavor goes byte by byte.
struct Appended<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Appended<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Serializes any plain value to the same encoding as record bodies (state rows, commands between partitions).
pub fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    let _ = postcard::serialize_with_flavor::<T, _, ()>(value, Appended(&mut out));
    out
}

/// The inverse of [`encode`].
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(bytes).map_err(|e| e.to_string())
}

pub(crate) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
pub(crate) fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first & 0x80 == 0 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Where the event at `at` ends if it has this head and key; `None` for any other record.
#[inline]
pub(crate) fn skip_event(
    bytes: &[u8],
    mut at: usize,
    (value_type, intent, version): (ValueType, u8, u8),
    key: Key,
) -> Option<usize> {
    let head: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    if *head != [RecordType::Event as u8, value_type as u8, intent, version] {
        return None;
    }
    at += 4;
    if read_varint(bytes, &mut at)? != key::to_wire(key) {
        return None;
    }
    let length = read_varint(bytes, &mut at)?;
    let end = at.checked_add(usize::try_from(length).ok()?)?;
    (end <= bytes.len()).then_some(end)
}

/// Reads the record at `at`; the caller fills in position, source and time.
#[inline]
pub(crate) fn read<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Record<'a>, DecodeError> {
    let start = *at;
    let truncated = || DecodeError::Truncated(start);
    let head: &[u8; 4] = bytes
        .get(start..)
        .and_then(|b| b.first_chunk())
        .ok_or_else(truncated)?;
    let record_type = match head[0] {
        0 => RecordType::Event,
        1 => RecordType::Command,
        2 => RecordType::CommandRejection,
        id => {
            return Err(DecodeError::Unknown {
                what: "record type",
                id,
                at: start,
            });
        }
    };
    let value_type = ValueType::from_id(head[1]).ok_or(DecodeError::Unknown {
        what: "value type",
        id: head[1],
        at: start,
    })?;
    *at += 4;
    let key = read_varint(bytes, at).ok_or_else(truncated)?;
    let length = read_varint(bytes, at).ok_or_else(truncated)?;
    let end = at
        .checked_add(usize::try_from(length).map_err(|_| truncated())?)
        .ok_or_else(truncated)?;
    let body = bytes.get(*at..end).ok_or_else(truncated)?;
    *at = end;
    Ok(Record {
        position: 0,
        source: None,
        command: &[],
        timestamp: 0,
        record_type,
        value_type,
        intent: head[2],
        version: head[3],
        key: key::from_wire(key),
        body,
    })
}
