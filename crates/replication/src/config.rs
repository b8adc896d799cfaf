//! The settings of a group, and its initial state.

use skep_storage::StorageError;
use skep_storage::log::{Entry, EntryId, LogReader, Recovered};

use crate::error::GroupError;
use crate::evidence::LogEvidence;
use crate::members::Members;
use crate::state::HardState;

/// The settings of one group. Ticks are calls of [`crate::Group::tick`].
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// Number of the group (its partition).
    pub group: u32,
    /// The number of this member. Not 0.
    pub node: u64,
    /// The initial members, including this node: as voter or, if it joins later, as learner. Stored members take
    /// precedence.
    pub members: Members,
    /// The leader sends a heartbeat after this many ticks. Default 2.
    pub heartbeat_ticks: usize,
    /// A follower that hears nothing for this many ticks, up to twice as many (chosen at random), stands for election; a
    /// leader that no majority answers steps down after one and a half times as many at the latest. Default 20.
    pub election_ticks: usize,
    /// A leader steps down when its oldest write is not durable after this many ticks, as long as the others are a majority without it.
    /// `None`, the default: after `election_ticks`.
    pub write_ticks: Option<usize>,
    /// After this many ticks without work the group hibernates; its owner must then call [`crate::Group::note_silent`] for
    /// silent nodes. `None`, the default: it never hibernates.
    pub hibernate_after_ticks: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
    /// A node of higher priority wins over nodes of lower priority whose logs are equal. Default 0.
    pub priority: i64,
    /// Payload bytes in one append message. Default 1 MiB.
    pub max_message_bytes: u64,
    /// Append messages to one follower that may be unanswered. Default 256.
    pub max_inflight_messages: usize,
    /// Payload bytes that may be proposed but not yet committed. Default 64 MiB.
    pub max_uncommitted_bytes: usize,
    /// Payload bytes of durable entries that are kept in memory for followers and for applying; older ones are read from
    /// the log. Entries that are not durable yet are kept in addition. Default 8 MiB.
    pub max_cached_bytes: usize,
    /// Appends that may be handed out and not reported as persisted; see [`crate::Group::persisted`]. Default 64.
    pub max_unpersisted_appends: usize,
    /// Payload bytes handed out for applying by one poll. Default 4 MiB.
    pub max_apply_bytes: usize,
    /// Snapshot chunks to one follower that may be unanswered. Default 4.
    pub max_inflight_chunks: usize,
}

impl GroupConfig {
    /// Defaults for a group of these voters.
    pub fn new(group: u32, node: u64, voters: Vec<u64>) -> Self {
        Self {
            group,
            node,
            members: Members::bootstrap(voters),
            heartbeat_ticks: 2,
            election_ticks: 20,
            write_ticks: None,
            hibernate_after_ticks: None,
            seed: node.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(group),
            priority: 0,
            max_message_bytes: 1 << 20,
            max_inflight_messages: 256,
            max_uncommitted_bytes: 64 << 20,
            max_cached_bytes: 8 << 20,
            max_unpersisted_appends: 64,
            max_apply_bytes: 4 << 20,
            max_inflight_chunks: 4,
        }
    }

    pub(crate) fn check(&self) -> Result<(), GroupError> {
        let reason = if self.node == 0 || self.members.contains(0) {
            "node 0 does not exist; nodes are numbered from 1"
        } else if !self.members.contains(self.node) {
            "this node is not among the members"
        } else if self.heartbeat_ticks == 0 || self.election_ticks <= self.heartbeat_ticks {
            "the election time must be longer than the heartbeat interval, which must not be 0"
        } else if self.max_unpersisted_appends == 0
            || self.max_inflight_messages == 0
            || self.max_inflight_chunks == 0
        {
            "a limit of 0 would let nothing through"
        } else {
            return Ok(());
        };
        Err(GroupError::Config {
            group: self.group,
            reason: reason.into(),
        })
    }

    /// The stored members; those of the settings if none are stored, or if the settings are newer.
    pub(crate) fn members_of(&self, stored: &HardState) -> Result<Members, GroupError> {
        match &stored.members {
            None => Ok(self.members.clone()),
            Some((own, members)) if *own == self.node => {
                let newer = self.members.index > members.index;
                Ok(if newer { &self.members } else { members }.clone())
            }
            Some((own, _)) => Err(GroupError::Config {
                group: self.group,
                reason: format!(
                    "the log belongs to member {own}, but this is member {}",
                    self.node
                ),
            }),
        }
    }

    /// The library's settings for a member whose state goes up to `applied`.
    pub(crate) fn library(&self, applied: u64) -> raft::Config {
        raft::Config {
            id: self.node,
            election_tick: self.election_ticks,
            heartbeat_tick: self.heartbeat_ticks,
            applied,
            max_size_per_msg: self.max_message_bytes,
            max_inflight_msgs: self.max_inflight_messages,
            check_quorum: true,
            pre_vote: true,
            // The library's own merging of appends can join entries to a message that ends before them; see `merge`.
            batch_append: false,
            // See `commit`.
            skip_bcast_commit: true,
            priority: self.priority,
            max_uncommitted_size: raft::NO_LIMIT,
            max_committed_size_per_ready: 1 << 20,
            ..Default::default()
        }
    }

    /// Defaults for a member that joins a group with these members.
    pub fn joining(group: u32, node: u64, members: Members) -> Self {
        let mut config = Self::new(group, node, Vec::new());
        config.members = members;
        config
    }
}

/// Where a group reads entries that it no longer holds in memory.
pub trait EntrySource: Send {
    /// Entries from `from` to before `to`, stopping after about `max_bytes` but never before the first one. All entries
    /// asked for are durable.
    fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<Entry>, StorageError>;
}

impl EntrySource for LogReader {
    fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<Entry>, StorageError> {
        LogReader::read(self, from, to, max_bytes)
    }
}

/// Recovered data with which a group starts.
pub struct RecoveredLog {
    /// The report of opening the log.
    pub log: Recovered,
    /// The position of the newest checkpoint (the snapshot that a new follower would get), or zero. Entries up to here count as committed
    /// and applied; later ones are handed out for applying.
    pub checkpoint: EntryId,
    /// Reads the log.
    pub source: Box<dyn EntrySource>,
    /// Facts about the log from outside of it.
    pub evidence: LogEvidence,
}
