//! Receives a snapshot. As its parts arrive, a separate thread builds the next content of the store from them. The replica's own files
//! change only once all parts are durable: without disk space for the snapshot, the replica stays as it was.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use skep_replication::{EntryId, Group, LogEvidence, Part};
use skep_storage::StorageError;
use skep_storage::kv::{Staged, Staging, StreamReader};

use super::background::Task;
use super::checkpointer::Checkpointer;
use super::environment::Environment;
use super::installing;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::core::CoreError;
use crate::partition::message::Report;

/// Delay before retrying a snapshot that found no space, if free space is about the same: something else may have changed.
const TRY_AGAIN: Duration = Duration::from_secs(60);
/// The delay doubles with each attempt, up to this.
const TRY_SELDOM: Duration = Duration::from_secs(600);
/// An increase in free space by more than this is significant.
const NOTABLE: u64 = 8 << 20;

/// Receives snapshots for this replica.
#[derive(Debug)]
pub struct SnapshotReceiver {
    /// Where the next snapshot is built. The store itself may be busy.
    staging: Staging,
    snapshot: Option<IncomingSnapshot>,
    /// Set if there was no space for a snapshot.
    lack: Option<Lack>,
    /// The checkpoint of an installed snapshot, until the log reaches it.
    installing: Option<u64>,
}

#[derive(Debug)]
struct IncomingSnapshot {
    arrival: u64,
    /// The newest part.
    part: Part,
    /// Passes parts to the thread while more are expected.
    parts: Option<Sender<(Part, Bytes)>>,
    builder: Option<Task>,
    /// The thread's result, once it has ended.
    outcome: Outcome,
    built: Option<Built>,
}

type Outcome = Arc<Mutex<Option<Result<Built, StorageError>>>>;

/// The snapshot as the next content of the store.
#[derive(Debug)]
struct Built {
    staged: Staged,
    meta: CheckpointMeta,
}

/// When a retry is worthwhile.
#[derive(Debug)]
struct Lack {
    /// With this many free bytes, retry at once.
    enough: u64,
    /// Otherwise retry at this time.
    then: Instant,
    wait: Duration,
}

impl SnapshotReceiver {
    fn new(staging: Staging) -> SnapshotReceiver {
        SnapshotReceiver {
            staging,
            snapshot: None,
            lack: None,
            installing: None,
        }
    }

    /// Resumes after a restart: a snapshot may have been installed when the node stopped.
    pub fn going_on(staging: Staging, found: LogEvidence) -> SnapshotReceiver {
        let mut snapshot_receiver = SnapshotReceiver::new(staging);
        snapshot_receiver.installing = found.installing.map(|checkpoint| checkpoint.index);
        snapshot_receiver
    }

    /// A part of a snapshot has arrived.
    ///
    /// # Errors
    /// The snapshot cannot be built here.
    pub fn take_in(
        &mut self,
        (part, last): (Part, bool),
        bytes: Bytes,
        group: &mut Group,
        env: &Environment,
        now: Instant,
    ) -> Result<Taken, CoreError> {
        if part.number == 0 {
            self.snapshot = None;
            let lack = self.lack.as_ref();
            if lack.is_some_and(|l| now < l.then && env.free_bytes() < l.enough) {
                env.status.space.no_room.store(true, Ordering::Relaxed);
                group.abandon_snapshot(part);
                return Ok(Taken::Refused);
            }
            self.snapshot = Some(self.begin(part, env)?);
        }
        if let Some(snapshot) = self.of(part.arrival) {
            snapshot.part = part;
            if let Some(parts) = &snapshot.parts {
                // A builder that has ended says why.
                let _ = parts.send((part, bytes));
            }
            snapshot.parts.take_if(|_| last);
        }
        Ok(match part.number {
            0 => Taken::Begun,
            _ => Taken::Continued,
        })
    }

    fn of(&mut self, arrival: u64) -> Option<&mut IncomingSnapshot> {
        let snapshot = self.snapshot.as_mut();
        snapshot.filter(|snapshot| snapshot.arrival == arrival)
    }

    fn begin(&self, part: Part, env: &Environment) -> Result<IncomingSnapshot, CoreError> {
        // The leader keeps few unacknowledged parts in flight.
        let (parts, arrived) = crossbeam_channel::unbounded();
        let staging = self.staging.clone();
        let (stays_free, inbox) = (env.stays_free(), env.inbox.clone());
        let outcome = Outcome::default();
        let done = outcome.clone();
        let work = move || {
            let taken = inbox.clone();
            let taken = move |part| taken.send(Report::SnapshotTaken(part));
            let build = || build(staging, (arrived, taken), stays_free);
            let built = catch_unwind(AssertUnwindSafe(build));
            let panicked = |_| Err(StorageError::Snapshot("the store panicked".into()));
            *done.lock() = Some(built.unwrap_or_else(panicked));
            inbox.send(Report::SnapshotBuilt {
                arrival: part.arrival,
            });
        };
        let builder = env.background.run("snapshot", Box::new(work));
        let builder = builder.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        Ok(IncomingSnapshot {
            arrival: part.arrival,
            part,
            parts: Some(parts),
            builder: Some(builder),
            outcome,
            built: None,
        })
    }

    /// Either the whole snapshot is ready to take the place of the state, or it cannot be built. True if there is no space for it.
    ///
    /// # Errors
    /// It cannot be built for a reason other than lack of space.
    pub fn built(
        &mut self,
        arrival: u64,
        group: &mut Group,
        env: &Environment,
        now: Instant,
    ) -> Result<bool, CoreError> {
        let Some(snapshot) = self.of(arrival) else {
            return Ok(false);
        };
        let Some(builder) = snapshot.builder.take() else {
            return Ok(false);
        };
        builder.wait();
        let part = snapshot.part;
        let outcome = snapshot.outcome.lock().take();
        match outcome {
            Some(Ok(built)) => {
                snapshot.built = Some(built);
                group.snapshot_taken(part);
                Ok(false)
            }
            Some(Err(error)) if error.is_disk_full() => {
                self.give_up(part, &error.to_string(), group, env, now);
                Ok(true)
            }
            Some(Err(error)) => Err(CoreError::Snapshot(error.to_string())),
            None => Err(CoreError::Snapshot("its builder panicked".to_string())),
        }
    }

    /// While the disk is so low that nothing from other replicas is accepted, drops the incoming snapshot to free the space of its parts.
    /// True if one was given up.
    pub fn spare(&mut self, group: &mut Group, env: &Environment, now: Instant) -> bool {
        let snapshot = self.snapshot.as_ref();
        let part = snapshot.filter(|s| s.parts.is_some()).map(|s| s.part);
        let part = part.filter(|_| env.status.space.spared.load(Ordering::Relaxed));
        if let Some(part) = part {
            self.give_up(part, "the disk is nearly full", group, env, now);
        }
        part.is_some()
    }

    /// There is no space for the snapshot. The leader offers it again by itself.
    fn give_up(
        &mut self,
        part: Part,
        error: &str,
        group: &mut Group,
        env: &Environment,
        now: Instant,
    ) {
        self.forget();
        let free = env.free_bytes();
        let before = self.lack.as_ref();
        let wait = before.map_or(TRY_AGAIN, |lack| (lack.wait * 2).min(TRY_SELDOM));
        let notable = (free.saturating_sub(env.stays_free()) / 8).max(NOTABLE);
        self.lack = Some(Lack {
            enough: free.saturating_add(notable),
            then: now + wait,
            wait,
        });
        env.status.space.no_room.store(true, Ordering::Relaxed);
        tracing::error!(
            code = "SNAPSHOT_NO_ROOM",
            partition = env.partition(),
            free_mib = free >> 20,
            stays_free_mib = env.stays_free() >> 20,
            error,
            "the disk has no space for the leader's snapshot: the replica stays behind until there is"
        );
        group.abandon_snapshot(part);
    }

    /// The log reaches the checkpoint of the installed snapshot: from here on it never ends before it.
    pub fn is_followed(&mut self, committed: u64, env: &Environment) {
        let installing = &mut self.installing;
        if installing.take_if(|at| *at <= committed).is_some()
            && let Err(error) = installing::clear(&env.directory())
        {
            tracing::warn!(partition = env.partition(), %error, "the marker of an installed snapshot cannot be removed");
        }
    }

    /// The snapshot is not needed, or there is no space for it.
    pub fn forget(&mut self) {
        self.snapshot = None;
    }

    /// Makes the snapshot the content of the store.
    ///
    /// # Errors
    /// The snapshot is not there, or cannot take the store's place.
    pub fn adopt(
        &mut self,
        checkpointer: &Checkpointer,
        env: &Environment,
    ) -> Result<CheckpointMeta, CoreError> {
        let mut snapshot = self.snapshot.take();
        let Some(built) = snapshot.as_mut().and_then(|s| s.built.take()) else {
            return Err(CoreError::Snapshot("it is not there".to_string()));
        };
        let checkpoint = EntryId {
            index: built.meta.index,
            term: built.meta.term,
        };
        let marked = installing::mark(&env.directory(), checkpoint);
        marked.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        let adopted = checkpointer.adopt(built.staged);
        let staging = adopted.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        *self = SnapshotReceiver::new(staging);
        self.installing = Some(checkpoint.index);
        gets_on(env);
        Ok(built.meta)
    }
}

/// Outcome of receiving a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is the first part.
    Begun,
    Continued,
    /// There is no space.
    Refused,
}

/// The replica makes progress, with entries or by a snapshot.
pub fn gets_on(env: &Environment) {
    let no_room = &env.status.space.no_room;
    if no_room.load(Ordering::Relaxed) && no_room.swap(false, Ordering::Relaxed) {
        tracing::info!(
            partition = env.partition(),
            "the replica is no longer behind for lack of disk space"
        );
    }
}

impl Drop for IncomingSnapshot {
    fn drop(&mut self) {
        // The builder ends when no more parts come; its result is removed, and nobody else builds meanwhile.
        self.parts = None;
        if let Some(builder) = self.builder.take() {
            builder.wait();
        }
    }
}

/// The parts of a snapshot as they arrive. After each, it reports that the next one is wanted.
struct Parts<T> {
    arrived: Receiver<(Part, Bytes)>,
    taken: T,
    part: Option<Part>,
}

impl<T: Fn(Part)> Iterator for Parts<T> {
    type Item = Result<Bytes, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(part) = self.part.take() {
            (self.taken)(part);
        }
        let (part, bytes) = self.arrived.recv().ok()?;
        self.part = Some(part);
        Some(Ok(bytes))
    }
}

fn build(
    staging: Staging,
    (arrived, taken): (Receiver<(Part, Bytes)>, impl Fn(Part) + Send),
    stays_free: u64,
) -> Result<Built, StorageError> {
    let rows = StreamReader::new(Parts {
        arrived,
        taken,
        part: None,
    })?;
    let meta = rows.meta().map(<[u8]>::to_vec);
    let position = CheckpointMeta::read(meta.as_deref());
    let position = position.map_err(|error| StorageError::Snapshot(error.to_string()))?;
    let staged = staging.build(Box::new(rows), meta, stays_free)?;
    Ok(Built {
        staged,
        meta: position,
    })
}
