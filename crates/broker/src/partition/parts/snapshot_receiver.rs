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
    /// The thread that builds a snapshot, or removes one, and the number of that: one at a time, in one place.
    builder: Option<(u64, Task)>,
    /// What `builder` makes although nobody wants it any more.
    unwanted: Option<Outcome>,
    /// The snapshot whose builder has ended while a checkpoint was being stored.
    waiting: Option<u64>,
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
    /// Passes parts to the thread while more are expected. The leader keeps few unacknowledged parts in flight.
    parts: Option<Sender<(Part, Bytes)>>,
    /// Until the thread begins, which it does when the one before has ended.
    arrived: Option<Receiver<(Part, Bytes)>>,
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
            builder: None,
            unwanted: None,
            waiting: None,
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
            self.forget(env);
            let lack = self.lack.as_ref();
            // An unwanted snapshot that is still being built takes the space that is looked for.
            let is_taken = |l: &Lack| self.builder.is_some() || env.free_bytes() < l.enough;
            if lack.is_some_and(|l| now < l.then && is_taken(l)) {
                env.status.space.no_room.store(true, Ordering::Relaxed);
                group.abandon_snapshot(part);
                return Ok(Taken::Refused);
            }
            self.snapshot = Some(IncomingSnapshot::new(part));
            self.build_next(env)?;
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

    /// Begins to build the snapshot, unless an earlier one is still being built: its builder ends without the parts that it lacks, and
    /// reports that.
    fn build_next(&mut self, env: &Environment) -> Result<(), CoreError> {
        let Some(snapshot) = self.snapshot.as_mut().filter(|_| self.builder.is_none()) else {
            return Ok(());
        };
        let Some(arrived) = snapshot.arrived.take() else {
            return Ok(());
        };
        let (staging, stays_free) = (self.staging.clone(), env.stays_free());
        let (arrival, done, inbox) = (
            snapshot.arrival,
            snapshot.outcome.clone(),
            env.inbox.clone(),
        );
        let work = move || {
            let taken = inbox.clone();
            let taken = move |part| taken.send(Report::SnapshotTaken(part));
            let build = || build(staging, (arrived, taken), stays_free);
            let built = catch_unwind(AssertUnwindSafe(build));
            let panicked = |_| Err(StorageError::Snapshot("the store panicked".into()));
            *done.lock() = Some(built.unwrap_or_else(panicked));
            inbox.send(Report::SnapshotBuilt { arrival });
        };
        let builder = env.background.run("snapshot", Box::new(work));
        let builder = builder.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        self.builder = Some((arrival, builder));
        Ok(())
    }

    /// A checkpoint is being stored: the snapshot is looked at when that is done.
    pub fn waits_for_checkpoint(&mut self, arrival: u64) {
        self.waiting = Some(arrival);
    }

    /// Returns once the snapshot that has waited for a checkpoint.
    pub fn take_waiting(&mut self) -> Option<u64> {
        self.waiting.take()
    }

    /// Whether a snapshot is about to take the place of the state.
    pub fn is_ready(&self) -> bool {
        let snapshot = self.snapshot.as_ref();
        snapshot.is_some_and(|snapshot| snapshot.built.is_some())
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
        // Its thread ends with its report.
        self.builder.take_if(|(of, _)| *of == arrival);
        let Some(snapshot) = self.of(arrival) else {
            let unwanted = self.unwanted.take();
            let built = unwanted.and_then(|outcome| outcome.lock().take()?.ok());
            if let Some(built) = built {
                self.remove(arrival, built, env);
            }
            if let Some(lack) = self.lack.as_mut().filter(|_| self.builder.is_none()) {
                // Without the files of this one.
                lack.enough = enough(env);
            }
            self.build_next(env)?;
            return Ok(false);
        };
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
        self.forget(env);
        let before = self.lack.as_ref();
        let wait = before.map_or(TRY_AGAIN, |lack| (lack.wait * 2).min(TRY_SELDOM));
        self.lack = Some(Lack {
            enough: enough(env),
            then: now + wait,
            wait,
        });
        env.status.space.no_room.store(true, Ordering::Relaxed);
        tracing::error!(
            code = "SNAPSHOT_NO_ROOM",
            partition = env.partition(),
            free_mib = env.free_bytes() >> 20,
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

    /// The snapshot is not needed, or there is no space for it. Its builder ends by itself, because no more parts come.
    pub fn forget(&mut self, env: &Environment) {
        let Some(snapshot) = self.snapshot.take() else {
            return;
        };
        let arrival = snapshot.arrival;
        if self.builder.as_ref().is_some_and(|(of, _)| *of == arrival) {
            self.unwanted = Some(snapshot.outcome);
        } else if let Some(built) = snapshot.built {
            self.remove(arrival, built, env);
        }
    }

    /// Removes the files of a snapshot that is not wanted, before the next one is built in their place. They may be many.
    fn remove(&mut self, arrival: u64, built: Built, env: &Environment) {
        debug_assert!(self.builder.is_none(), "one snapshot has files at a time");
        let inbox = env.inbox.clone();
        let work = move || {
            drop(built);
            inbox.send(Report::SnapshotBuilt { arrival });
        };
        // If that cannot begin, they are removed by now.
        let remover = env.background.run("snapshot", Box::new(work)).ok();
        self.builder = remover.map(|task| (arrival, task));
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
        // The builder's thread would be too early, although its snapshot is durable by then. The directory has one mark. The log may not have
        // been replaced yet for the snapshot before this one: without its mark, a crash leaves a log that looks as if it had lost its end.
        // And the entries of this one may come through the log before it is adopted. Its mark would stay, and excuse a log that has lost
        // its end once the replica stores a checkpoint of its own at the same entry.
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

/// Free bytes that would be notably more than there are now.
fn enough(env: &Environment) -> u64 {
    let free = env.free_bytes();
    let notable = (free.saturating_sub(env.stays_free()) / 8).max(NOTABLE);
    free.saturating_add(notable)
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

impl IncomingSnapshot {
    fn new(part: Part) -> IncomingSnapshot {
        let (parts, arrived) = crossbeam_channel::unbounded();
        IncomingSnapshot {
            arrival: part.arrival,
            part,
            parts: Some(parts),
            arrived: Some(arrived),
            outcome: Outcome::default(),
            built: None,
        }
    }
}

impl Drop for SnapshotReceiver {
    fn drop(&mut self) {
        // The partition's thread ends: its directory may be moved or opened after that.
        self.snapshot = None;
        if let Some((_, builder)) = self.builder.take() {
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
