//! This node's member of the metadata group: its thread and its files.
//!
//! There are few entries. The thread writes them to the log, and the state to a file after each one, so only the last entry has to be
//! recovered.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use skep_cluster::{Entry, State, node_of};
use skep_replication::{EntryId, Message as ReplicaMessage, Output, Remedy};
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::log::{Frame, Log, LogConfig};

use super::Cluster;
pub(super) use super::metadata_member::GROUP;
use super::metadata_member::{
    Admission, MetadataError, MetadataMember, OnDisk, Surroundings, failed,
};
use super::state::DIRECTORY;
use super::wire::{ClusterMessage, NodeMessage};
use crate::directory::write_durably;
use crate::ending::Running;
use crate::partition::thread::{HEARTBEAT_TICKS, HIBERNATE_AFTER_TICKS};
use crate::replica_file::ReplicaOf;
use crate::started::Started;

/// Maximum number of waiting messages: dropped ones are repeated.
const MAX_WAITING: usize = 1024;
/// How long to wait before retrying a write after the disk was full.
const RETRY: Duration = Duration::from_millis(250);
/// A log of a few entries needs no large files.
const SEGMENT_BYTES: u64 = 1 << 20;
const STATE: &str = "state";
/// In place of a leader: this member ignores messages, so it cannot know who leads.
const DEAF: u64 = u64::MAX;

pub(super) enum MetadataEvent {
    Message(Box<ReplicaMessage>),
    /// Proposes the entry if this member leads. Otherwise the entry is lost, and its sender waits in vain.
    Propose(Entry),
    /// Another node has been silent since then.
    NodeSilent {
        node: u32,
        since: Instant,
    },
    /// Nobody listens at the address of another node.
    Gone {
        node: u32,
    },
    Stop,
}

/// The member as seen from other threads.
pub(super) struct MetadataGroup {
    pub(super) own: u64,
    inbox: Sender<MetadataEvent>,
    /// The member that leads; 0: unknown; [`DEAF`]: the disk is full.
    leader: Arc<AtomicU64>,
    /// It waits for an event.
    hibernates: Arc<AtomicBool>,
    /// Why the member takes no part, while it does not.
    trouble: Arc<Mutex<Option<String>>>,
    thread: Running,
}

/// The member's thread.
struct Worker {
    member: MetadataMember,
    here: Here,
    tick: Duration,
    hibernates: Arc<AtomicBool>,
}

/// The node, as the member sees it.
struct Here {
    cluster: Weak<Cluster>,
    directory: PathBuf,
    log: Log,
    inbox: Receiver<MetadataEvent>,
    leader: Arc<AtomicU64>,
    trouble: Arc<Mutex<Option<String>>>,
    stopped: bool,
}

impl MetadataGroup {
    pub(super) fn notify(&self, event: MetadataEvent) {
        // Events that do not fit are repeated.
        let _ = self.inbox.try_send(event);
    }

    pub(super) fn leader(&self) -> Option<u64> {
        let leader = self.leader.load(Ordering::Acquire);
        Some(leader).filter(|member| ![0, DEAF].contains(member))
    }

    /// Whether the disk is full: it takes part again once there is room, and may be needed for a majority then.
    pub(super) fn is_deaf(&self) -> bool {
        self.leader.load(Ordering::Acquire) == DEAF
    }

    /// Why the member takes no part, while it does not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    pub(super) fn hibernates(&self) -> bool {
        self.hibernates.load(Ordering::Acquire)
    }

    pub(super) fn leads(&self) -> bool {
        self.leader() == Some(self.own)
    }

    /// A member with this thread, which heeds no events.
    #[cfg(test)]
    pub(super) fn with_thread(own: u64, thread: std::thread::JoinHandle<()>) -> MetadataGroup {
        let (inbox, _) = crossbeam_channel::bounded(1);
        MetadataGroup {
            own,
            inbox,
            leader: Arc::default(),
            hibernates: Arc::default(),
            trouble: Arc::default(),
            thread: Running::new(Some(thread)),
        }
    }

    #[cfg(test)]
    pub(super) fn is_ending(&self) -> bool {
        self.thread.is_ending()
    }

    /// Ends the thread. False: it still runs at the deadline and may write to its files, which nobody else may use until a later call returns
    /// true.
    pub(super) fn stop_until(&self, deadline: Instant) -> bool {
        let ended = self.thread.wait_until(deadline, "ends-state", |thread| {
            let inbox = self.inbox.clone();
            let ends = move || {
                // The queue of a thread that hangs may be full.
                let _ = inbox.send(MetadataEvent::Stop);
                if let Some(thread) = thread {
                    let _ = thread.join();
                }
            };
            vec![("the thread", Box::new(ends))]
        });
        let Err(overdue) = ended else {
            return true;
        };
        self.leader.store(0, Ordering::Release);
        let reason = "this node takes no part in changes of the cluster: its thread for them does not end, as the disk of cluster-state may \
                      not answer";
        *self.trouble.lock() = Some(reason.to_string());
        if overdue.is_first {
            tracing::error!(code = "CLUSTER_STATE", %reason, "the data directory stays locked until this process has ended");
        }
        false
    }
}

/// The last stored state, if it can be read; other code reports the error if not.
pub(super) fn stored_state(directory: &Path) -> Option<State> {
    super::metadata_member::stored_state(&std::fs::read(directory.join(STATE)).ok()?)
}

fn started<'a>(cluster: &'a Cluster, directory: &'a Path, replica: &ReplicaOf) -> Started<'a> {
    Started {
        root: &cluster.config.directory,
        name: DIRECTORY.to_string(),
        directory,
        member: replica.own,
        remedy: Remedy::of_member(replica.own, &replica.members.voters),
    }
}

/// Opens the member's files and starts its thread. `first` is the cluster's initial state, if it has none yet.
pub(super) fn start(
    cluster: &Arc<Cluster>,
    replica: ReplicaOf,
    first: Option<State>,
) -> Result<MetadataGroup, MetadataError> {
    let directory = cluster.metadata_directory();
    let started = started(cluster, &directory, &replica);
    let starts = started.check().map_err(failed)?;
    create_dir_durably(&directory).map_err(failed)?;
    if ReplicaOf::read(&directory).map_err(failed)?.as_ref() != Some(&replica) {
        replica.write(&directory).map_err(failed)?;
    }
    let stored = match std::fs::read(directory.join(STATE)) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let config = LogConfig {
        segment_bytes: SEGMENT_BYTES,
        spare_segments: 0,
        ..LogConfig::default()
    };
    let (log, recovered) =
        Log::open(Arc::new(RealDisk), directory.join("log"), config).map_err(failed)?;
    started.begins(starts).map_err(failed)?;
    let found = OnDisk {
        log: recovered,
        source: Box::new(log.reader()),
        stored,
    };
    let own = replica.own;
    let mut config = MetadataMember::config(own, replica.members);
    config.heartbeat_ticks = HEARTBEAT_TICKS as usize;
    config.hibernate_after_ticks = Some(HIBERNATE_AFTER_TICKS);
    let member = MetadataMember::open(config, found, first)?;
    let (inbox, events) = crossbeam_channel::bounded(MAX_WAITING);
    let leader = Arc::new(AtomicU64::new(0));
    let hibernates = Arc::new(AtomicBool::new(false));
    let trouble = Arc::new(Mutex::new(None));
    cluster.state_is(member.state());
    let here = Here {
        cluster: Arc::downgrade(cluster),
        directory,
        log,
        inbox: events,
        leader: leader.clone(),
        trouble: trouble.clone(),
        stopped: false,
    };
    let worker = Worker {
        member,
        here,
        tick: cluster.config.tick(),
        hibernates: hibernates.clone(),
    };
    let thread = std::thread::Builder::new()
        .name("cluster-state".to_string())
        .spawn(move || worker.run())
        .map_err(failed)?;
    Ok(MetadataGroup {
        own,
        inbox,
        leader,
        hibernates,
        trouble,
        thread: Running::new(Some(thread)),
    })
}

impl Worker {
    fn run(mut self) {
        if let Err(error) = self.work()
            && !self.here.stopped
        {
            self.here.leader.store(0, Ordering::Release);
            *self.here.trouble.lock() = Some(format!(
                "this node no longer takes part in changes of the cluster: {error}"
            ));
            tracing::error!(code = "CLUSTER_STATE", %error, "this node no longer takes part in changes of the cluster");
        }
    }

    fn work(&mut self) -> Result<(), MetadataError> {
        // A member that starts up need not wait for its first tick.
        let mut next_tick = Instant::now();
        let mut out = Output::default();
        loop {
            self.member.poll(&mut out, &mut self.here)?;
            let group = self.member.group();
            // A member that was removed hears nothing of later leaders.
            let is_member = group.members().contains(group.config().node);
            let leader = group.leader().filter(|_| is_member).unwrap_or(0);
            if self.here.leader.swap(leader, Ordering::AcqRel) == DEAF {
                *self.here.trouble.lock() = None;
            }
            let hibernates = self.member.hibernates();
            self.hibernates.store(hibernates, Ordering::Release);
            let event = if hibernates {
                self.here.inbox.recv().map_err(RecvTimeoutError::from)
            } else {
                self.here.inbox.recv_deadline(next_tick)
            };
            match event {
                Ok(MetadataEvent::Message(message)) => self.member.receive(*message),
                Ok(MetadataEvent::Propose(entry)) => self.member.propose(entry),
                Ok(MetadataEvent::NodeSilent { node, since }) => self.note_silent(node, since),
                Ok(MetadataEvent::Gone { node }) => {
                    self.member.gone(|member| node_of(member) == Some(node));
                }
                Ok(MetadataEvent::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    next_tick = Instant::now() + self.tick;
                    self.member.tick(&mut self.here);
                    self.hibernate_while_all_are_alive();
                }
            }
        }
    }

    /// Reports members on silent nodes to the group: a hibernating replica would not notice that they are gone.
    fn hibernate_while_all_are_alive(&mut self) {
        if self.member.group().hibernates()
            && let Some(cluster) = self.here.cluster.upgrade()
        {
            let silent = |member| node_of(member).is_some_and(|node| !cluster.is_alive(node));
            self.member.note_silent(silent, 0);
        }
    }

    fn note_silent(&mut self, node: u32, since: Instant) {
        let ticks = since.elapsed().as_nanos() / self.tick.as_nanos().max(1);
        let ticks = usize::try_from(ticks).unwrap_or(usize::MAX);
        let silent = |member| node_of(member) == Some(node);
        self.member.note_silent(silent, ticks);
    }
}

impl Here {
    /// Waits until a write that found the disk full is to be retried. Meanwhile this member ignores messages, and another one leads:
    /// whatever it missed is sent again.
    fn wait_for_room(
        &mut self,
        full: bool,
        error: &dyn std::fmt::Display,
    ) -> Result<(), MetadataError> {
        if !full {
            return Err(failed(error));
        }
        if self.leader.swap(DEAF, Ordering::AcqRel) != DEAF {
            *self.trouble.lock() = Some(format!(
                "this node takes no part in changes of the cluster until the disk of {} has room: {error}",
                self.directory.display()
            ));
            tracing::error!(code = "CLUSTER_STATE", %error, "this node takes no part in changes of the cluster until its disk has room");
        }
        let until = Instant::now() + RETRY;
        loop {
            match self.inbox.recv_deadline(until) {
                Ok(MetadataEvent::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stopped = true;
                    return Err(failed("the node stops"));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
            }
        }
    }
}

impl Surroundings for Here {
    fn send(&mut self, message: ReplicaMessage) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.replicate(&message);
        }
    }

    fn append(&mut self, frames: &[Frame]) -> Result<(), MetadataError> {
        while let Err(error) = self.log.append(frames) {
            self.wait_for_room(error.is_disk_full(), &error)?;
        }
        Ok(())
    }

    fn keep(&mut self, stored: &[u8]) -> Result<(), MetadataError> {
        let file = self.directory.join(STATE);
        while let Err(error) = write_durably(&file, stored) {
            let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&error.kind());
            self.wait_for_room(full, &error)?;
        }
        Ok(())
    }

    fn compact(&mut self, upto: EntryId) -> Result<(), MetadataError> {
        match self.log.compact(upto.index, upto.term) {
            // Left for the next time.
            Err(error) if error.is_disk_full() => Ok(()),
            compacted => compacted.map_err(failed),
        }
    }

    fn state_is(&mut self, state: &State) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.state_is(state);
        }
    }

    fn admit(&mut self, node: u32, admission: Admission) {
        let Some(cluster) = self.cluster.upgrade() else {
            return;
        };
        let message = ClusterMessage::Admit {
            member: admission.member,
            members: admission.members,
            state: admission.state.encode(),
        };
        cluster.send(node, &NodeMessage::Cluster(message));
    }

    fn now(&self) -> i64 {
        super::changes::now()
    }
}
