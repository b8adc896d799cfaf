//! This node's member of the group that holds what the cluster knows of itself.
//!
//! Its entries are few: a thread of its own writes them to the log, and the state to a file after each, so that there is nothing to
//! recover but what came last.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use skep_cluster::{Entry, State};
use skep_replication::{
    EntryId, Event, Group, GroupConfig, Message as ReplicaMessage, Output, RecoveredLog, Role,
    SnapshotPoll, SnapshotSource,
};
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::log::{Frame, Log, LogConfig};

use super::Cluster;
use crate::directory::write_durably;
use crate::replica_file::ReplicaOf;

/// The number of the group among those of the partitions.
pub(super) const GROUP: u32 = 0;
/// Messages that may wait: others are said again.
const MAX_WAITING: usize = 1024;
/// How long to wait before a write is tried again after the disk was full.
const RETRY: Duration = Duration::from_millis(250);
/// A log of a few entries needs no large files.
const SEGMENT_BYTES: u64 = 1 << 20;
const STATE: &str = "state";
/// Instead of a leader: who leads is not heard.
const DEAF: u64 = u64::MAX;

pub(super) enum Told {
    Message(Box<ReplicaMessage>),
    /// If this member leads. Otherwise it is lost, and whoever waits for it does so in vain.
    Propose(Entry),
    Stop,
}

/// What others see of the member.
pub(super) struct OwnGroup {
    pub(super) own: u64,
    inbox: Sender<Told>,
    /// The member that leads; 0: none is known; [`DEAF`]: the disk is full.
    leader: Arc<AtomicU64>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// The state with the entry up to which it goes.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    index: u64,
    term: u64,
    state: State,
}

pub(super) struct Worker {
    pub(super) cluster: Weak<Cluster>,
    directory: PathBuf,
    tick: Duration,
    pub(super) group: Group,
    log: Log,
    pub(super) state: State,
    applied: EntryId,
    /// Own entries that are not committed.
    proposed: VecDeque<(u64, Entry)>,
    inbox: Receiver<Told>,
    leader: Arc<AtomicU64>,
    /// How the cluster begins, if it has not.
    first: Option<State>,
    arriving: Vec<u8>,
    stopped: bool,
}

/// The member could not be started, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the cluster's own state: {0}")]
pub struct OwnGroupError(String);

fn failed(error: impl std::fmt::Display) -> OwnGroupError {
    OwnGroupError(error.to_string())
}

impl OwnGroup {
    pub(super) fn tell(&self, told: Told) {
        // What does not fit is said again.
        let _ = self.inbox.try_send(told);
    }

    pub(super) fn leader(&self) -> Option<u64> {
        let leader = self.leader.load(Ordering::Acquire);
        Some(leader).filter(|member| ![0, DEAF].contains(member))
    }

    pub(super) fn leads(&self) -> bool {
        self.leader() == Some(self.own)
    }

    pub(super) fn stop(&self) {
        let _ = self.inbox.send(Told::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

/// The state that was stored last, if it can be read: whoever has to know says so if not.
pub(super) fn stored_state(directory: &Path) -> Option<State> {
    let bytes = std::fs::read(directory.join(STATE)).ok()?;
    let stored: Stored = serde_json::from_slice(&bytes).ok()?;
    Some(stored.state).filter(State::is_founded)
}

/// Opens the member's files and starts its thread. `first` is how the cluster begins if it has not.
pub(super) fn start(
    cluster: &Arc<Cluster>,
    replica: ReplicaOf,
    first: Option<State>,
) -> Result<OwnGroup, OwnGroupError> {
    let directory = cluster.own_group_directory();
    create_dir_durably(&directory).map_err(failed)?;
    if ReplicaOf::read(&directory).map_err(failed)?.as_ref() != Some(&replica) {
        replica.write(&directory).map_err(failed)?;
    }
    let stored = match std::fs::read(directory.join(STATE)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Stored::default(),
        Err(error) => return Err(failed(error)),
    };
    let config = LogConfig {
        segment_bytes: SEGMENT_BYTES,
        spare_segments: 0,
        ..LogConfig::default()
    };
    let (log, recovered) =
        Log::open(Arc::new(RealDisk), directory.join("log"), config).map_err(failed)?;
    let applied = EntryId {
        index: stored.index,
        term: stored.term,
    };
    let recovered = RecoveredLog {
        log: recovered,
        checkpoint: applied,
        source: Box::new(log.reader()),
    };
    let own = replica.own;
    let is_first = replica.members.voters.first() == Some(&own);
    let begins = first.is_some() && is_first && recovered.log.last.index == 0;
    let mut group = GroupConfig::joining(GROUP, own, replica.members);
    group.heartbeat_ticks = 4;
    let (inbox, told) = crossbeam_channel::bounded(MAX_WAITING);
    let leader = Arc::new(AtomicU64::new(0));
    let mut worker = Worker {
        cluster: Arc::downgrade(cluster),
        directory,
        tick: cluster.config.tick(),
        group: Group::open(group, recovered).map_err(failed)?,
        log,
        state: stored.state,
        applied,
        proposed: VecDeque::new(),
        inbox: told,
        leader: leader.clone(),
        first,
        arriving: Vec::new(),
        stopped: false,
    };
    cluster.state_is(&worker.state);
    if begins {
        // Nobody leads a group that begins: its first member need not wait until that is noticed.
        let patience = 2 * worker.group.config().election_ticks;
        (0..patience).for_each(|_| worker.group.tick());
    }
    let thread = std::thread::Builder::new()
        .name("cluster-state".to_string())
        .spawn(move || worker.run())
        .map_err(failed)?;
    Ok(OwnGroup {
        own,
        inbox,
        leader,
        thread: Mutex::new(Some(thread)),
    })
}

impl Worker {
    fn run(mut self) {
        if let Err(error) = self.work()
            && !self.stopped
        {
            self.leader.store(0, Ordering::Release);
            tracing::error!(code = "CLUSTER_STATE", %error, "this node takes no part in changes of the cluster any more");
        }
    }

    fn work(&mut self) -> Result<(), OwnGroupError> {
        let mut next_tick = Instant::now() + self.tick;
        let mut out = Output::default();
        loop {
            self.poll(&mut out)?;
            match self.inbox.recv_deadline(next_tick) {
                Ok(Told::Message(message)) => self.group.receive(message.from(), *message),
                Ok(Told::Propose(entry)) => self.propose(entry),
                Ok(Told::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    next_tick = Instant::now() + self.tick;
                    self.group.tick();
                    self.lead();
                }
            }
        }
    }

    /// What only the leader does, again and again until it has come about.
    fn lead(&mut self) {
        if !matches!(self.group.role(), Role::Leader { .. }) || !self.proposed.is_empty() {
            return;
        }
        if !self.state.is_founded() {
            if let Some(first) = self.first.clone() {
                self.propose(Entry::Found(Box::new(first)));
            }
            return;
        }
        self.carry_out();
    }

    pub(super) fn propose(&mut self, entry: Entry) {
        if let Ok(id) = self.group.propose(entry.encode().into()) {
            self.proposed.push_back((id.index, entry));
        }
    }

    fn poll(&mut self, out: &mut Output) -> Result<(), OwnGroupError> {
        let before = self.applied;
        loop {
            out.clear();
            self.group.poll(out).map_err(failed)?;
            let idle = out.is_empty();
            for message in out.messages.drain(..) {
                if let Some(cluster) = self.cluster.upgrade() {
                    cluster.replicate(&message);
                }
            }
            for append in out.appends.drain(..) {
                self.append(&append.frames)?;
                self.group.persisted(append.number);
            }
            for event in std::mem::take(&mut out.events) {
                self.handle(event)?;
            }
            if idle {
                break;
            }
        }
        let leader = self.group.leader().unwrap_or(0);
        self.leader.store(leader, Ordering::Release);
        if self.applied != before {
            self.keep()?;
        }
        Ok(())
    }

    fn append(&mut self, frames: &[Frame]) -> Result<(), OwnGroupError> {
        while let Err(error) = self.log.append(frames) {
            self.wait_for_room(error.is_disk_full(), &error)?;
        }
        Ok(())
    }

    /// Until a write that found the disk full is to be tried again. Meanwhile this member is deaf, and another one leads: what it was
    /// told comes again.
    fn wait_for_room(
        &mut self,
        full: bool,
        error: &dyn std::fmt::Display,
    ) -> Result<(), OwnGroupError> {
        if !full {
            return Err(failed(error));
        }
        if self.leader.swap(DEAF, Ordering::AcqRel) != DEAF {
            tracing::error!(code = "CLUSTER_STATE", %error, "this node takes no part in changes of the cluster until its disk has room");
        }
        let until = Instant::now() + RETRY;
        loop {
            match self.inbox.recv_deadline(until) {
                Ok(Told::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stopped = true;
                    return Err(failed("the node stops"));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
            }
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), OwnGroupError> {
        match event {
            Event::Committed { index } => {
                while let Some((_, entry)) = self.proposed.pop_front_if(|(at, _)| *at <= index) {
                    self.state.apply(entry);
                }
                self.applied_is(index);
            }
            Event::Apply(committed) => {
                if !committed.payload.is_empty() {
                    self.state
                        .apply(Entry::decode(&committed.payload).map_err(failed)?);
                }
                self.applied_is(committed.index);
            }
            Event::Role(Role::Leader { .. }) => {}
            // What was proposed and is committed comes again as an entry of the log.
            Event::Role(_) => self.proposed.clear(),
            Event::Members(members) => tracing::debug!(?members, "members of the cluster's state"),
            Event::ProduceSnapshot { to } => {
                let whole = self.encoded()?;
                self.group
                    .offer_snapshot(to, self.applied, Box::new(Whole(Some(whole))));
            }
            Event::SnapshotChunk { first, bytes, .. } => {
                if first {
                    self.arriving.clear();
                }
                self.arriving.extend_from_slice(&bytes);
            }
            Event::DiscardSnapshot => self.arriving.clear(),
            Event::InstallSnapshot { id } => {
                let whole = std::mem::take(&mut self.arriving);
                let stored: Stored = serde_json::from_slice(&whole).map_err(failed)?;
                self.state = stored.state;
                self.applied = id;
                self.keep()?;
                self.group.snapshot_installed(id.index);
            }
        }
        Ok(())
    }

    fn applied_is(&mut self, index: u64) {
        let term = self.group.term_at(index).unwrap_or(self.applied.term);
        self.applied = EntryId { index, term };
    }

    fn encoded(&self) -> Result<Bytes, OwnGroupError> {
        let stored = Stored {
            index: self.applied.index,
            term: self.applied.term,
            state: self.state.clone(),
        };
        Ok(serde_json::to_vec_pretty(&stored).map_err(failed)?.into())
    }

    /// Stores the state and lets everybody here see it.
    fn keep(&mut self) -> Result<(), OwnGroupError> {
        let bytes = self.encoded()?;
        let file = self.directory.join(STATE);
        while let Err(error) = write_durably(&file, &bytes) {
            let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&error.kind());
            self.wait_for_room(full, &error)?;
        }
        if let Some(id) = self.group.compact(self.applied.index) {
            match self.log.compact(id.index, id.term) {
                // It is left for the next time.
                Err(error) if error.is_disk_full() => {}
                compacted => compacted.map_err(failed)?,
            }
        }
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.state_is(&self.state);
        }
        Ok(())
    }
}

/// A snapshot that is one chunk.
struct Whole(Option<Bytes>);

impl SnapshotSource for Whole {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        self.0.take().map_or(SnapshotPoll::End, SnapshotPoll::Chunk)
    }
}
