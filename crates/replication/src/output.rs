//! The tasks that a group gives its owner.

use bytes::Bytes;
use skep_storage::log::{EntryId, Frame};

use crate::members::Members;
use crate::message::Message;

/// A node's role in its group. It begins as a follower without a leader, which is not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It may propose. Reported when every earlier entry has been handed out for applying, so the state is complete.
    Leader { term: u64 },
    /// It follows this node, as far as it knows. A node that was leader must drop its speculative state: its proposals may be replaced.
    /// Committed ones are handed out again for applying, after the last index that was reported as committed.
    Follower { leader: Option<u64> },
    /// It asks for votes.
    Candidate,
}

/// Frames to append to the log, in one write with one flush. Then call [`crate::Group::persisted`] with the number. Numbers ascend; several
/// appends may be in progress, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub number: u64,
    pub frames: Vec<Frame>,
}

/// A committed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub index: u64,
    pub term: u64,
    /// Empty for entries of the group itself: nothing to apply, only the position moves.
    pub payload: Bytes,
}

/// Identifies a part of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Distinguishes snapshots that arrive one after the other.
    pub arrival: u64,
    /// The number of the part within its snapshot, from 0.
    pub number: u64,
}

/// Something that happened. Events of one poll, and of successive polls, are in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// All own proposals of this term of leadership up to this index are committed: release their effects.
    Committed { index: u64 },
    /// Apply an entry that this node did not propose in its current leadership. In index order without gaps.
    Apply(Committed),
    /// The role changed.
    Role(Role),
    /// The members changed: these belong to the group now, perhaps without this member.
    Members(Members),
    /// A follower needs a snapshot. Answer with [`crate::Group::offer_snapshot`] when one can be read, or with
    /// [`crate::Group::refuse_snapshot`].
    ProduceSnapshot { to: u64 },
    /// Bytes of a snapshot that is being received. Keep them aside, then call [`crate::Group::snapshot_taken`], for the last ones when
    /// everything that needs space is done; or [`crate::Group::abandon_snapshot`]. The first part begins a new snapshot: forget earlier
    /// ones.
    SnapshotChunk {
        id: EntryId,
        part: Part,
        /// There are no more parts.
        last: bool,
        bytes: Bytes,
    },
    /// All chunks were taken: durably replace the state by the snapshot, then call [`crate::Group::snapshot_installed`]. The group does
    /// nothing else until then. The log begins after `id`; the snapshot may contain more than up to there.
    InstallSnapshot { id: EntryId },
    /// The snapshot that was taken is not needed: forget it.
    DiscardSnapshot,
}

/// The result of one poll.
#[derive(Debug, Default)]
pub struct Output {
    /// For the log writer, in this order.
    pub appends: Vec<Append>,
    /// For other nodes ([`Message::to`]). They may be sent at once and may be lost.
    pub messages: Vec<Message>,
    /// In this order.
    pub events: Vec<Event>,
    /// True if a limit was reached: handle this output, then poll again.
    pub more: bool,
}

impl Output {
    /// Empties it for the next poll.
    pub fn clear(&mut self) {
        self.appends.clear();
        self.messages.clear();
        self.events.clear();
        self.more = false;
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.appends.is_empty() && self.messages.is_empty() && self.events.is_empty() && !self.more
    }
}
