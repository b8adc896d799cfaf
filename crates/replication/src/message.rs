//! Messages between the members of a group, and their bytes.
//!
//! ```text
//! crc u32 (of what follows) | version u8 | kind u8 | flags u8 | group | from | to | term | log term | index | commit
//! | commit term | hint | priority (zigzag) | context | number of entries | entry* | payload
//! entry: term | tag u8 | payload        (indices follow on `index`)
//! ```
//! Numbers without a width are LEB128; byte strings are preceded by their length. Fields are only ever added, at the end.

use bytes::Bytes;

use crate::codec::{Cursor, put_bytes, put_number};
use crate::error::MessageError;

const VERSION: u8 = 1;
const FLAG_REJECT: u8 = 1;
const FLAG_LAST: u8 = 2;

/// The kinds of messages; the numbers are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    Append = 1,
    AppendResponse = 2,
    Heartbeat = 3,
    HeartbeatResponse = 4,
    Vote = 5,
    VoteResponse = 6,
    PreVote = 7,
    PreVoteResponse = 8,
    TimeoutNow = 9,
    SnapshotChunk = 10,
    SnapshotAck = 11,
    Hibernate = 12,
    /// A leader steps down because no majority answers it.
    Resignation = 13,
}

impl Kind {
    /// The name, for people to read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "AppendRequest",
            Self::AppendResponse => "AppendResponse",
            Self::Heartbeat => "HeartbeatRequest",
            Self::HeartbeatResponse => "HeartbeatResponse",
            Self::Vote => "VoteRequest",
            Self::VoteResponse => "VoteResponse",
            Self::PreVote => "PollRequest",
            Self::PreVoteResponse => "PollResponse",
            Self::TimeoutNow => "TransferRequest",
            Self::SnapshotChunk => "InstallRequest",
            Self::SnapshotAck => "InstallResponse",
            Self::Hibernate => "RestRequest",
            Self::Resignation => "Resignation",
        }
    }

    /// Whether it is a request, as opposed to an answer.
    pub fn is_request(self) -> bool {
        self.name().ends_with("Request")
    }

    /// Whether only a leader sends this.
    pub fn is_of_leader(self) -> bool {
        matches!(
            self,
            Self::Append | Self::Heartbeat | Self::SnapshotChunk | Self::Hibernate
        )
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Append,
            2 => Self::AppendResponse,
            3 => Self::Heartbeat,
            4 => Self::HeartbeatResponse,
            5 => Self::Vote,
            6 => Self::VoteResponse,
            7 => Self::PreVote,
            8 => Self::PreVoteResponse,
            9 => Self::TimeoutNow,
            10 => Self::SnapshotChunk,
            11 => Self::SnapshotAck,
            12 => Self::Hibernate,
            13 => Self::Resignation,
            _ => return None,
        })
    }
}

/// An entry on its way to a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireEntry {
    pub(crate) term: u64,
    pub(crate) tag: u8,
    pub(crate) payload: Bytes,
}

/// A message between two members of a group. Convert it to bytes with [`Message::encode`]; these may be lost, repeated, delayed or
/// reordered without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(crate) kind: Kind,
    pub(crate) group: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) term: u64,
    pub(crate) log_term: u64,
    /// The index before the entries; the index of a snapshot in chunks.
    pub(crate) index: u64,
    /// The leader's commit index; in snapshot chunks and their answers the number of the transfer.
    pub(crate) commit: u64,
    pub(crate) commit_term: u64,
    /// Where a rejected append may continue; the number of a snapshot chunk; the member that should stand for election
    /// first when a leader resigns.
    pub(crate) hint: u64,
    pub(crate) priority: i64,
    pub(crate) reject: bool,
    /// The last chunk of a snapshot.
    pub(crate) last: bool,
    pub(crate) context: Bytes,
    pub(crate) entries: Vec<WireEntry>,
    /// A chunk of a snapshot.
    pub(crate) payload: Bytes,
}

impl Message {
    pub(crate) fn new(kind: Kind, group: u32, from: u64, to: u64, term: u64) -> Self {
        Self {
            kind,
            group,
            from,
            to,
            term,
            log_term: 0,
            index: 0,
            commit: 0,
            commit_term: 0,
            hint: 0,
            priority: 0,
            reject: false,
            last: false,
            context: Bytes::new(),
            entries: Vec::new(),
            payload: Bytes::new(),
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The number of entries in the message.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The index of the last entry in the message.
    pub fn last_entry(&self) -> Option<u64> {
        let carries = !self.entries.is_empty();
        carries.then(|| self.index + self.entries.len() as u64)
    }

    /// A follower reports that it has all entries up to this one on its disk.
    pub fn stored_up_to(&self) -> Option<u64> {
        (self.kind == Kind::AppendResponse && !self.reject).then_some(self.index)
    }

    /// The number of its group.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The node that sent it.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// The node it is meant for.
    pub fn to(&self) -> u64 {
        self.to
    }

    /// Whether it carries a part of a snapshot. A transport may send such messages with lower priority.
    pub fn is_snapshot(&self) -> bool {
        self.kind == Kind::SnapshotChunk
    }

    /// Whether the receiver needs disk space for it.
    pub fn fills_disk(&self) -> bool {
        !self.entries.is_empty() || self.is_snapshot()
    }

    /// Whether both carry entries from the same term's leader, and the other's entries directly follow these.
    pub(crate) fn is_continued_by(&self, other: &Self) -> bool {
        let last = self.entries.last();
        self.kind == Kind::Append
            && other.kind == Kind::Append
            && self.term == other.term
            && last.is_some_and(|last| last.term == other.log_term)
            && self.index + self.entries.len() as u64 == other.index
    }

    /// Bytes of payload inside, for limits.
    pub fn payload_bytes(&self) -> usize {
        let entries: usize = self.entries.iter().map(|entry| entry.payload.len()).sum();
        entries + self.payload.len()
    }

    /// Encodes the message.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(64 + self.payload_bytes() + 16 * self.entries.len());
        out.extend_from_slice(&[0; 4]);
        out.push(VERSION);
        out.push(self.kind as u8);
        let reject = if self.reject { FLAG_REJECT } else { 0 };
        out.push(reject | if self.last { FLAG_LAST } else { 0 });
        let priority = ((self.priority << 1) ^ (self.priority >> 63)) as u64;
        for number in [
            u64::from(self.group),
            self.from,
            self.to,
            self.term,
            self.log_term,
            self.index,
            self.commit,
            self.commit_term,
            self.hint,
            priority,
        ] {
            put_number(&mut out, number);
        }
        put_bytes(&mut out, &self.context);
        put_number(&mut out, self.entries.len() as u64);
        for entry in &self.entries {
            put_number(&mut out, entry.term);
            out.push(entry.tag);
            put_bytes(&mut out, &entry.payload);
        }
        put_bytes(&mut out, &self.payload);
        let crc = crc32fast::hash(out.get(4..).unwrap_or_default());
        if let Some(head) = out.get_mut(..4) {
            head.copy_from_slice(&crc.to_le_bytes());
        }
        out.into()
    }

    /// Reads a message; its payloads share memory with the bytes.
    pub fn decode(mut bytes: Bytes) -> Result<Self, MessageError> {
        if bytes.len() < 4 {
            return Err(MessageError::Truncated);
        }
        let crc = bytes.split_to(4);
        if crc != crc32fast::hash(&bytes).to_le_bytes()[..] {
            return Err(MessageError::Checksum);
        }
        let mut cursor = Cursor(bytes);
        let version = cursor.byte()?;
        if version != VERSION {
            return Err(MessageError::Version(version));
        }
        let kind = cursor.byte()?;
        let kind = Kind::from_byte(kind).ok_or(MessageError::Kind(kind))?;
        let flags = cursor.byte()?;
        let group = u32::try_from(cursor.number()?).map_err(|_| MessageError::Range)?;
        let (from, to, term) = (cursor.number()?, cursor.number()?, cursor.number()?);
        let mut message = Self::new(kind, group, from, to, term);
        message.reject = flags & FLAG_REJECT != 0;
        message.last = flags & FLAG_LAST != 0;
        message.log_term = cursor.number()?;
        message.index = cursor.number()?;
        message.commit = cursor.number()?;
        message.commit_term = cursor.number()?;
        message.hint = cursor.number()?;
        let priority = cursor.number()?;
        message.priority = (priority >> 1) as i64 ^ -((priority & 1) as i64);
        message.context = cursor.bytes()?;
        let count = cursor.number()?;
        // Each entry takes at least three bytes, which bounds what a wrong count can allocate.
        if count > cursor.0.len() as u64 / 3 {
            return Err(MessageError::Truncated);
        }
        for _ in 0..count {
            message.entries.push(WireEntry {
                term: cursor.number()?,
                tag: cursor.byte()?,
                payload: cursor.bytes()?,
            });
        }
        message.payload = cursor.bytes()?;
        Ok(message)
    }
}
