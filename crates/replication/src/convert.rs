//! Converts between our messages and the library's.

use bytes::Bytes;
use raft::eraftpb::{self, MessageType};

use crate::entries::{is_entry, raft_entry, stored};
use crate::message::{Kind, Message, WireEntry};

/// Terms and indices from the network must stay below this, so that the library's arithmetic cannot overflow.
pub(crate) const MAX_NUMBER: u64 = 1 << 60;

/// A message of the library for the network. `None` for kinds that do not travel (snapshots travel in chunks).
pub(crate) fn to_wire(group: u32, mut message: eraftpb::Message) -> Option<Message> {
    let kind = match message.get_msg_type() {
        MessageType::MsgAppend => Kind::Append,
        MessageType::MsgAppendResponse => Kind::AppendResponse,
        MessageType::MsgHeartbeat => Kind::Heartbeat,
        MessageType::MsgHeartbeatResponse => Kind::HeartbeatResponse,
        MessageType::MsgRequestVote => Kind::Vote,
        MessageType::MsgRequestVoteResponse => Kind::VoteResponse,
        MessageType::MsgRequestPreVote => Kind::PreVote,
        MessageType::MsgRequestPreVoteResponse => Kind::PreVoteResponse,
        MessageType::MsgTimeoutNow => Kind::TimeoutNow,
        _ => return None,
    };
    // On the wire, entry indices are implied by the message's index. A message that breaks this would be wrong at the receiver; if it is
    // dropped, it is merely repeated.
    let mut next = message.index;
    let continuous = message.entries.iter().all(|entry| {
        next += 1;
        entry.index == next
    });
    if !continuous {
        return None;
    }
    let mut wire = Message::new(kind, group, message.from, message.to, message.term);
    wire.log_term = message.log_term;
    wire.index = message.index;
    wire.commit = message.commit;
    wire.commit_term = message.commit_term;
    wire.hint = message.reject_hint;
    wire.priority = message.priority;
    wire.reject = message.reject;
    wire.context = message.take_context();
    wire.entries = message
        .take_entries()
        .into_iter()
        .map(|entry| {
            let (tag, payload) = stored(&entry);
            WireEntry {
                term: entry.term,
                tag,
                payload,
            }
        })
        .collect();
    Some(wire)
}

/// Converts a message from the network for the library. Checks for everything that would make the library panic and that does not depend on
/// its state. `None` if it is refused.
pub(crate) fn from_wire(wire: Message) -> Option<eraftpb::Message> {
    let kind = match wire.kind {
        Kind::Append => MessageType::MsgAppend,
        Kind::AppendResponse => MessageType::MsgAppendResponse,
        Kind::Heartbeat => MessageType::MsgHeartbeat,
        Kind::HeartbeatResponse => MessageType::MsgHeartbeatResponse,
        Kind::Vote => MessageType::MsgRequestVote,
        Kind::VoteResponse => MessageType::MsgRequestVoteResponse,
        Kind::PreVote => MessageType::MsgRequestPreVote,
        Kind::PreVoteResponse => MessageType::MsgRequestPreVoteResponse,
        Kind::TimeoutNow => MessageType::MsgTimeoutNow,
        Kind::SnapshotChunk | Kind::SnapshotAck | Kind::Resignation | Kind::Hibernate => {
            return None;
        }
    };
    let numbers = [
        wire.term,
        wire.log_term,
        wire.index,
        wire.commit,
        wire.commit_term,
        wire.hint,
    ];
    // A term of 0 marks the library's local messages, which no node may send.
    if wire.term == 0 || numbers.iter().any(|number| *number >= MAX_NUMBER) {
        return None;
    }
    // Only the beginning of all logs has term 0. The library mistakes an index beyond its log for one of term 0.
    if wire.kind == Kind::Append && (wire.index == 0) != (wire.log_term == 0) {
        return None;
    }
    let mut message = eraftpb::Message::default();
    message.set_msg_type(kind);
    message.from = wire.from;
    message.to = wire.to;
    message.term = wire.term;
    message.log_term = wire.log_term;
    message.index = wire.index;
    message.commit = wire.commit;
    message.commit_term = wire.commit_term;
    message.reject_hint = wire.hint;
    message.priority = wire.priority;
    message.deprecated_priority = u64::try_from(wire.priority).unwrap_or(0);
    message.reject = wire.reject;
    message.context = wire.context;
    let mut index = wire.index;
    let mut term = wire.log_term;
    let mut entries = Vec::with_capacity(wire.entries.len());
    for entry in wire.entries {
        index += 1;
        if entry.term < term || entry.term > wire.term || !is_entry(entry.tag, &entry.payload) {
            return None;
        }
        term = entry.term;
        entries.push(raft_entry(index, entry.term, entry.tag, entry.payload));
    }
    message.set_entries(entries.into());
    Some(message)
}

/// An own entry as a proposal to the library.
pub(crate) fn proposal(node: u64, tag: u8, payload: Bytes) -> eraftpb::Message {
    let mut message = eraftpb::Message::default();
    message.set_msg_type(MessageType::MsgPropose);
    message.from = node;
    message.set_entries(vec![raft_entry(0, 0, tag, payload)].into());
    message
}
