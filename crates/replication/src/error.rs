//! Errors of a group, a proposal, a message.

use skep_storage::StorageError;
use skep_storage::log::EntryId;

/// Advice for a member that has lost data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// It is the only copy.
    RestoreBackup,
    /// There are other copies, and a backup contradicts what this member has acknowledged since.
    ReplaceMember,
}

impl Remedy {
    /// The advice for a member of a group with these voters.
    pub fn of_member(node: u64, voters: &[u64]) -> Remedy {
        match voters {
            [only] if *only == node => Remedy::RestoreBackup,
            _ => Remedy::ReplaceMember,
        }
    }
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Remedy::RestoreBackup => {
                "This is the only copy: restore a backup with skep restore, or a copy of the whole data directory"
            }
            Remedy::ReplaceMember => {
                "Remove this member and add it again, so that it gets a copy of the others' data; never restore it from a backup, which \
                 lacks the entries it has acknowledged since"
            }
        })
    }
}

/// Why a group cannot start or continue. The partition must stop; committed data stays safe on the other members and on disk.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    #[error("the settings of replication group {group} are wrong: {reason}")]
    Config { group: u32, reason: String },
    #[error(
        "the log of replication group {group} ends at entry {last}, but its checkpoint holds entry {checkpoint}: \
         entries that were acknowledged are missing. {remedy}"
    )]
    LogBehindCheckpoint {
        group: u32,
        last: u64,
        checkpoint: u64,
        remedy: Remedy,
    },
    #[error(
        "the log of replication group {group} ends at entry {last}, but the embedded search store holds entry {exported}, which was \
         committed before: entries that were acknowledged are missing. {remedy}"
    )]
    LogBehindExport {
        group: u32,
        last: u64,
        exported: u64,
        remedy: Remedy,
    },
    #[error(
        "the log of replication group {group} begins after entry {base}, but its checkpoint holds only up to entry \
         {checkpoint}: the entries between are missing. {remedy}"
    )]
    CheckpointBehindLog {
        group: u32,
        base: u64,
        checkpoint: u64,
        remedy: Remedy,
    },
    #[error(
        "the log of replication group {group} has a different entry {checkpoint} than its checkpoint: they are from different times. \
         {remedy}"
    )]
    LogContradictsCheckpoint {
        group: u32,
        checkpoint: u64,
        remedy: Remedy,
    },
    #[error(
        "replication group {group} has lost data on this node: the leader knows that entry {expected} was stored here, \
         but the log ends at {last}. {remedy}"
    )]
    LostEntries {
        group: u32,
        expected: u64,
        last: u64,
        remedy: Remedy,
    },
    #[error(
        "replication group {group}: the leader {leader} has an entry {index} of term {theirs}, but the entry committed here is of term \
         {ours}: a majority of the members has lost data, or the data of this member is from another time. This member no longer takes \
         part, and keeps its data. If others were emptied or restored from a backup, stop them before anything is removed: this member \
         may hold the data that they have lost"
    )]
    CommittedElsewhere {
        group: u32,
        leader: u64,
        index: u64,
        theirs: u64,
        ours: u64,
    },
    #[error("the stored state of replication group {group} cannot be read: {reason}")]
    State { group: u32, reason: String },
    #[error("replication group {group} cannot read its log: {source}")]
    Log { group: u32, source: StorageError },
    #[error("the consensus library refused to start replication group {group}: {reason}")]
    Library { group: u32, reason: String },
}

/// Why a proposal was not taken. Nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Send it to the leader.
    #[error("this node does not lead the group; the leader is {leader:?}")]
    NotLeader { leader: Option<u64> },
    /// Leadership is being handed over; try again with the next leader.
    #[error("leadership is being transferred to node {to}")]
    Transferring { to: u64 },
    /// Wait for commits. The limit is [`crate::GroupConfig::max_uncommitted_bytes`].
    #[error("{uncommitted} bytes are proposed but not committed, which is the limit")]
    TooMuchUncommitted { uncommitted: usize },
    /// Larger than a log frame may be.
    #[error("a payload of {size} bytes is larger than the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
}

/// Why the members of a group cannot be changed now. Nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Ask the leader.
    #[error("this node does not lead the group; the leader is {leader:?}")]
    NotLeader { leader: Option<u64> },
    /// An earlier change has not taken effect, or leadership is being transferred to another member.
    #[error("another change of the group is under way")]
    Busy,
    /// The result would not be a valid group, or the members differ from what the change presupposes.
    #[error("{0}")]
    Impossible(&'static str),
}

/// Bytes that are not a message of this or an earlier version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("the message ends too early")]
    Truncated,
    #[error("the checksum of the message does not match")]
    Checksum,
    #[error("format version {0} of replication messages is not known; upgrade this node")]
    Version(u8),
    #[error("message kind {0} is not known")]
    Kind(u8),
    #[error("a field of the message is out of range")]
    Range,
}

/// An index with its term as text.
pub(crate) fn show(id: EntryId) -> String {
    format!("{} (term {})", id.index, id.term)
}
