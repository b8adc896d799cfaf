//! The status of a partition, readable from outside without asking its thread.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_protocol::Key;
use skep_replication::Members;
use skep_service::{PartitionHealth, PartitionRole};

use super::busiest::Busy;
use super::checkpoint::CheckpointMeta;
use super::leadership::Leadership;
use crate::confirmation::ReplicaTerm;
use crate::flow_control::{InboxCapacity, RequestLimit, WriteLimit};

/// Banned process instances with the reasons.
pub type Bans = Arc<[(Key, Arc<str>)]>;

/// A hibernating partition updates nothing; older findings expire after this time.
const BUSIEST_FOR: Duration = Duration::from_secs(10);

/// The reason that operators see for a leader whose thread hangs.
const HANGS: &str = "the partition's thread does not respond, as when a disk does not answer; another node should lead";

/// Maximum number of banned instances listed by key.
pub const MAX_LISTED_BANS: usize = 1000;

#[derive(Debug, Default)]
pub struct JobCounts {
    pub waiting: AtomicUsize,
    pub activated: AtomicUsize,
}

/// New partitions, as far as the first partition knows of them (0: it knows of none), and slots that move to them.
#[derive(Debug, Default)]
pub struct Scaling {
    /// The desired number of partitions.
    pub desired: AtomicU32,
    /// The number of partitions that have everything a partition needs.
    pub whole: AtomicU32,
    /// The version of the routing up to which all partitions have moved their slots.
    pub relocated: AtomicU64,
    /// Slots of this partition that are to move to another one.
    pub slots_to_move: AtomicUsize,
    /// Rows that move with the correlation keys of this partition.
    pub correlation_rows: AtomicUsize,
}

/// Effects of a disk with little space.
#[derive(Debug, Default)]
pub struct Space {
    /// The log is kept although the disk is nearly full, because backups are required.
    pub kept_for_backup: AtomicBool,
    /// The leader's snapshot does not fit on the disk: the replica stays behind.
    pub no_room: AtomicBool,
    /// This replica accepts no entries: the others are a majority without it.
    pub spared: AtomicBool,
}

#[derive(Debug)]
pub struct PartitionStatus {
    pub partition: u32,
    role: AtomicU8,
    pub leadership: Leadership,
    /// Why the partition has stopped, if it has.
    failure: Mutex<Option<String>>,
    pub limit: Arc<RequestLimit>,
    pub writes: WriteLimit,
    /// Free bytes on the disk; [`u64::MAX`] while unknown.
    pub disk_free: AtomicU64,
    /// Capacity of the inbox for commands.
    pub inbox_capacity: Arc<InboxCapacity>,
    /// Capacity of the inbox for messages of other replicas.
    pub replica_capacity: Arc<InboxCapacity>,
    /// The log cannot grow: its disk is full.
    pub stalled: AtomicBool,
    /// The local data is no longer needed: the partition ends without a checkpoint.
    pub abandoned: AtomicBool,
    /// The disk is nearly full: space that can be freed is freed.
    pub disk_low: AtomicBool,
    pub space: Space,
    pub processing_paused: AtomicBool,
    /// Position of the newest evaluated record, and of the newest committed one.
    pub processed_position: AtomicU64,
    pub committed_position: AtomicU64,
    pub checkpoint_position: AtomicU64,
    pub checkpoint_index: AtomicU64,
    pub checkpoint_term: AtomicU64,
    pub log_index: AtomicU64,
    /// Entries up to here are committed and in the state.
    pub applied: AtomicU64,
    /// This replica as a member of its group, and all members.
    member: AtomicU64,
    members: Mutex<Members>,
    pub live_element_instances: AtomicUsize,
    pub open_incidents: AtomicUsize,
    pub buffered_messages: AtomicUsize,
    pub jobs: JobCounts,
    pub banned_instances: AtomicUsize,
    pub scaling: Scaling,
    /// The first [`MAX_LISTED_BANS`] of them, with the reasons.
    banned: Mutex<Bans>,
    /// Instances that wrote many of the latest records, and when that was determined.
    busiest: Mutex<Option<(Instant, Arc<[Busy]>)>>,
    pub state_bytes: AtomicUsize,
    /// Epoch milliseconds of the last checkpoint that reached the store; 0 before the first.
    pub checkpoint_time: AtomicI64,
    /// The state's clock while it is pinned by `PUT /v2/clock`, epoch milliseconds; `i64::MIN` otherwise.
    pub pinned_clock: AtomicI64,
}

impl PartitionStatus {
    pub fn new(partition: u32, limit: RequestLimit, writes: WriteLimit) -> PartitionStatus {
        PartitionStatus {
            partition,
            role: AtomicU8::new(2),
            leadership: Leadership::default(),
            failure: Mutex::new(None),
            limit: Arc::new(limit),
            writes,
            disk_free: AtomicU64::new(u64::MAX),
            inbox_capacity: Arc::default(),
            replica_capacity: Arc::default(),
            stalled: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            disk_low: AtomicBool::new(false),
            space: Space::default(),
            processing_paused: AtomicBool::new(false),
            processed_position: AtomicU64::new(0),
            committed_position: AtomicU64::new(0),
            checkpoint_position: AtomicU64::new(0),
            checkpoint_index: AtomicU64::new(0),
            checkpoint_term: AtomicU64::new(0),
            log_index: AtomicU64::new(0),
            applied: AtomicU64::new(0),
            member: AtomicU64::new(0),
            members: Mutex::default(),
            live_element_instances: AtomicUsize::new(0),
            open_incidents: AtomicUsize::new(0),
            buffered_messages: AtomicUsize::new(0),
            jobs: JobCounts::default(),
            banned_instances: AtomicUsize::new(0),
            scaling: Scaling::default(),
            banned: Mutex::new(Arc::from([])),
            busiest: Mutex::new(None),
            state_bytes: AtomicUsize::new(0),
            checkpoint_time: AtomicI64::new(0),
            pinned_clock: AtomicI64::new(i64::MIN),
        }
    }

    /// The last checkpoint that is in the store.
    pub(super) fn checkpoint_is(&self, meta: CheckpointMeta) {
        debug_assert!(meta.next_position > 0, "positions begin at 1");
        debug_assert!(
            meta.index >= self.checkpoint_index.load(Ordering::Relaxed),
            "checkpoints go forward"
        );
        self.checkpoint_index.store(meta.index, Ordering::Relaxed);
        self.checkpoint_term.store(meta.term, Ordering::Relaxed);
        let position = meta.next_position - 1;
        self.checkpoint_position.store(position, Ordering::Relaxed);
    }

    /// Banned instances with the reasons, at most [`MAX_LISTED_BANS`].
    pub fn banned(&self) -> Bans {
        self.banned.lock().clone()
    }

    pub(super) fn set_banned(&self, count: usize, listed: Vec<(Key, Arc<str>)>) {
        self.banned_instances.store(count, Ordering::Relaxed);
        *self.banned.lock() = listed.into();
    }

    /// Process instances that have written many of the latest records, busiest first. Empty if nothing was written lately.
    pub fn busiest(&self) -> Arc<[Busy]> {
        match &*self.busiest.lock() {
            Some((found, busiest)) if found.elapsed() < BUSIEST_FOR => Arc::clone(busiest),
            _ => Arc::default(),
        }
    }

    pub(super) fn set_busiest(&self, busiest: Vec<Busy>) {
        *self.busiest.lock() = Some((Instant::now(), busiest.into()));
    }

    /// A leader whose thread hangs is inactive: it takes nothing.
    pub fn role(&self) -> PartitionRole {
        match self.role.load(Ordering::Acquire) {
            0 if self.leadership.hangs() => PartitionRole::Inactive,
            0 => PartitionRole::Leader,
            1 => PartitionRole::Follower,
            _ => PartitionRole::Inactive,
        }
    }

    pub fn set_role(&self, role: PartitionRole) {
        if role != PartitionRole::Leader {
            self.leadership.ends();
        }
        let role = match role {
            PartitionRole::Leader => 0,
            PartitionRole::Follower => 1,
            PartitionRole::Inactive => 2,
        };
        self.role.store(role, Ordering::Release);
    }

    /// The node that leads the partition, as far as its local replica knows.
    pub fn leader(&self) -> Option<u32> {
        self.leadership.leader()
    }

    pub fn term(&self) -> u64 {
        self.leadership.term()
    }

    /// This replica with its term, once it has read it.
    pub fn replica_term(&self) -> Option<ReplicaTerm> {
        let (member, term) = (self.member(), self.term());
        (term > 0).then_some(ReplicaTerm { member, term })
    }

    /// From now on commands are accepted here, in this term.
    pub(super) fn begins_to_lead(&self, term: u64) {
        self.leadership.begins(term);
        self.set_role(PartitionRole::Leader);
    }

    /// This replica as a member of its group; 0 if it could not start.
    pub fn member(&self) -> u64 {
        self.member.load(Ordering::Acquire)
    }

    /// All members, as far as this replica has applied its log.
    pub fn members(&self) -> Members {
        self.members.lock().clone()
    }

    pub(super) fn is_member(&self, own: u64, members: &Members) {
        *self.members.lock() = members.clone();
        self.member.store(own, Ordering::Release);
    }

    pub fn fail(&self, reason: String) {
        self.failure.lock().get_or_insert(reason);
        self.leadership.forget();
        self.set_role(PartitionRole::Inactive);
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Whether the replica leads, and others could lead instead, as far as its thread has said.
    pub(super) fn has_begun_to_lead(&self) -> bool {
        self.role.load(Ordering::Acquire) == 0 && self.members.lock().voters.len() > 1
    }

    /// Why the replica does nothing, although it is there.
    pub fn trouble(&self) -> Option<String> {
        let hangs = || self.leadership.hangs().then(|| HANGS.to_string());
        self.failure().or_else(hangs)
    }

    /// Whether the replica works: it has not stopped, and its thread does not hang.
    pub fn works(&self) -> bool {
        self.failure.lock().is_none() && !self.leadership.hangs()
    }

    /// Position of the newest committed record.
    pub fn committed(&self) -> u64 {
        self.committed_position.load(Ordering::Relaxed)
    }

    pub fn health(&self) -> PartitionHealth {
        if !self.works() {
            PartitionHealth::Dead
        } else if self.stalled.load(Ordering::Relaxed)
            || self.space.no_room.load(Ordering::Relaxed)
            || self.role() == PartitionRole::Inactive
        {
            PartitionHealth::Unhealthy
        } else {
            PartitionHealth::Healthy
        }
    }
}
