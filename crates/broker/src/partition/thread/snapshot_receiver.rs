//! Receives a snapshot. As its parts come, a thread of its own builds the next content of the store from them. Nothing that
//! the replica has changes before all of it is durable: without room for it the replica stays what it was.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use bytes::Bytes;
use crossbeam_channel::Receiver;
use skep_replication::Part;
use skep_storage::kv::{Staged, Staging, StreamReader};
use skep_storage::space::{SpaceProbe, StatvfsProbe};

use super::*;

/// After this time a snapshot is tried again that found no room, if the room is about the same: something else may have changed.
const TRY_AGAIN: Duration = Duration::from_secs(60);
/// The time doubles with each attempt, up to this.
const TRY_SELDOM: Duration = Duration::from_secs(600);
/// More room than this is notably more.
const NOTABLE: u64 = 8 << 20;

/// Receives snapshots for this replica.
#[derive(Debug)]
pub(super) struct SnapshotReceiver {
    /// Where the next one is built. The store itself may be busy.
    staging: Staging,
    snapshot: Option<IncomingSnapshot>,
    /// There was no room for one.
    lack: Option<Lack>,
    /// The checkpoint of one that was installed, until the log reaches it.
    pub(super) installing: Option<u64>,
}

#[derive(Debug)]
struct IncomingSnapshot {
    arrival: u64,
    /// The newest part.
    part: Part,
    /// To the thread, while more is to come.
    parts: Option<Sender<(Part, Bytes)>>,
    builder: Option<JoinHandle<Result<Built, StorageError>>>,
    built: Option<Built>,
}

/// The snapshot as the next content of the store.
#[derive(Debug)]
struct Built {
    staged: Staged,
    meta: CheckpointMeta,
}

/// When it is worth while to try again.
#[derive(Debug)]
struct Lack {
    /// With so many bytes free, at once.
    enough: u64,
    /// Else then.
    then: Instant,
    wait: Duration,
}

impl SnapshotReceiver {
    pub(super) fn new(staging: Staging) -> SnapshotReceiver {
        SnapshotReceiver {
            staging,
            snapshot: None,
            lack: None,
            installing: None,
        }
    }

    /// One may have been installed when the node ended.
    pub(super) fn going_on(staging: Staging, found: LogEvidence) -> SnapshotReceiver {
        let mut snapshot_receiver = SnapshotReceiver::new(staging);
        snapshot_receiver.installing = found.installing.map(|checkpoint| checkpoint.index);
        snapshot_receiver
    }
}

impl Drop for IncomingSnapshot {
    fn drop(&mut self) {
        // The thread ends when no more comes; what it has built is removed, and nobody else builds meanwhile.
        self.parts = None;
        let _ = self.builder.take().map(JoinHandle::join);
    }
}

impl Partition {
    /// Below so many free bytes the disk takes nothing of other replicas.
    fn stays_free(&self) -> u64 {
        let disk = &self.config.disk;
        if disk.monitoring_enabled {
            disk.replication
        } else {
            0
        }
    }

    /// Free bytes of the disk; one that does not say has room.
    fn free_bytes(&self) -> u64 {
        let probe = StatvfsProbe::new(self.directory());
        probe.free_bytes().unwrap_or(u64::MAX)
    }

    /// A part of a snapshot is here.
    pub(super) fn take_in(
        &mut self,
        part: Part,
        last: bool,
        bytes: Bytes,
    ) -> Result<(), CoreError> {
        if part.number == 0 {
            self.snapshot_receiver.snapshot = None;
            let lack = self.snapshot_receiver.lack.as_ref();
            if lack.is_some_and(|l| Instant::now() < l.then && self.free_bytes() < l.enough) {
                self.status.no_room.store(true, Ordering::Relaxed);
                self.core.group_mut().abandon_snapshot(part);
                return Ok(());
            }
            self.replica_metrics.snapshot_begins();
            self.snapshot_receiver.snapshot = Some(self.begin(part)?);
        }
        let snapshot = self.snapshot_receiver.snapshot.as_mut();
        if let Some(snapshot) = snapshot.filter(|s| s.arrival == part.arrival) {
            snapshot.part = part;
            if let Some(parts) = &snapshot.parts {
                // A thread that has ended says why.
                let _ = parts.send((part, bytes));
            }
            snapshot.parts.take_if(|_| last);
        }
        Ok(())
    }

    fn begin(&self, part: Part) -> Result<IncomingSnapshot, CoreError> {
        // The leader has few parts on their way that were not taken.
        let (parts, arrived) = crossbeam_channel::unbounded();
        let staging = self.snapshot_receiver.staging.clone();
        let (stays_free, inbox) = (self.stays_free(), self.own_inbox.clone());
        let work = move || {
            let taken = inbox.clone();
            let taken = move |part| taken.send(Report::SnapshotTaken(part));
            let build = || build(staging, (arrived, taken), stays_free);
            let built = catch_unwind(AssertUnwindSafe(build));
            inbox.send(Report::SnapshotBuilt {
                arrival: part.arrival,
            });
            built.unwrap_or_else(|_| Err(StorageError::Snapshot("the store panicked".into())))
        };
        let thread = std::thread::Builder::new().name("snapshot".into());
        let builder = thread
            .spawn(work)
            .map_err(|error| CoreError::Snapshot(error.to_string()))?;
        Ok(IncomingSnapshot {
            arrival: part.arrival,
            part,
            parts: Some(parts),
            builder: Some(builder),
            built: None,
        })
    }

    /// Either all of the snapshot is ready to take the place of the state, or it cannot be built.
    pub(super) fn snapshot_built(&mut self, arrival: u64) -> Result<(), CoreError> {
        let snapshot = self.snapshot_receiver.snapshot.as_mut();
        let Some(snapshot) = snapshot.filter(|s| s.arrival == arrival) else {
            return Ok(());
        };
        let Some(builder) = snapshot.builder.take() else {
            return Ok(());
        };
        let part = snapshot.part;
        match builder.join() {
            Ok(Ok(built)) => {
                snapshot.built = Some(built);
                self.core.group_mut().snapshot_taken(part);
                Ok(())
            }
            Ok(Err(error)) if error.is_disk_full() => {
                self.give_up(part, &error.to_string());
                Ok(())
            }
            Ok(Err(error)) => Err(CoreError::Snapshot(error.to_string())),
            Err(_) => Err(CoreError::Snapshot("its thread panicked".to_string())),
        }
    }

    /// While the disk is so low that nothing of other replicas is taken, no more parts come: the room of those that came is wanted.
    pub(super) fn spare_snapshot(&mut self) {
        let snapshot = self.snapshot_receiver.snapshot.as_ref();
        let part = snapshot.filter(|s| s.parts.is_some()).map(|s| s.part);
        if let Some(part) = part
            && self.status.spared.load(Ordering::Relaxed)
        {
            self.give_up(part, "the disk is nearly full");
        }
    }

    /// There is no room for the snapshot. The leader offers it again by itself.
    fn give_up(&mut self, part: Part, error: &str) {
        self.forget_snapshot();
        let free = self.free_bytes();
        let before = self.snapshot_receiver.lack.as_ref();
        let wait = before.map_or(TRY_AGAIN, |lack| (lack.wait * 2).min(TRY_SELDOM));
        let notable = (free.saturating_sub(self.stays_free()) / 8).max(NOTABLE);
        self.snapshot_receiver.lack = Some(Lack {
            enough: free.saturating_add(notable),
            then: Instant::now() + wait,
            wait,
        });
        self.status.no_room.store(true, Ordering::Relaxed);
        tracing::error!(
            code = "SNAPSHOT_NO_ROOM",
            partition = self.status.partition,
            free_mib = free >> 20,
            stays_free_mib = self.stays_free() >> 20,
            error,
            "there is no room for the leader's snapshot: the replica stays behind until there is"
        );
        self.core.group_mut().abandon_snapshot(part);
    }

    /// The log reaches the checkpoint of the snapshot that was installed: from here on it never ends before it.
    pub(super) fn snapshot_is_followed(&mut self) {
        let committed = self.core.group().commit_index();
        let installing = &mut self.snapshot_receiver.installing;
        if installing.take_if(|at| *at <= committed).is_some()
            && let Err(error) = installing::clear(&self.directory())
        {
            tracing::warn!(partition = self.status.partition, %error, "the mark of an installed snapshot cannot be removed");
        }
    }

    /// It is not needed, or there is no room for it.
    pub(super) fn forget_snapshot(&mut self) {
        self.snapshot_receiver.snapshot = None;
        self.replica_metrics.snapshot_ends(false);
    }

    /// The replica gets on, with entries or by a snapshot.
    pub(super) fn gets_on(&mut self) {
        let no_room = &self.status.no_room;
        if no_room.load(Ordering::Relaxed) && no_room.swap(false, Ordering::Relaxed) {
            tracing::info!(
                partition = self.status.partition,
                "the replica is not behind for lack of room any more"
            );
        }
    }

    /// The snapshot becomes the content of the store.
    pub(super) fn adopt_snapshot(&mut self) -> Result<CheckpointMeta, CoreError> {
        let mut snapshot = self.snapshot_receiver.snapshot.take();
        let Some(built) = snapshot.as_mut().and_then(|s| s.built.take()) else {
            return Err(CoreError::Snapshot("it is not there".to_string()));
        };
        let checkpoint = EntryId {
            index: built.meta.index,
            term: built.meta.term,
        };
        let marked = installing::mark(&self.directory(), checkpoint);
        marked.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        let mut kv = self.kv.lock();
        let adopted = kv.adopt(built.staged);
        adopted.map_err(|error| CoreError::Snapshot(error.to_string()))?;
        self.snapshot_receiver = SnapshotReceiver::new(kv.staging());
        self.snapshot_receiver.installing = Some(checkpoint.index);
        drop(kv);
        self.gets_on();
        Ok(built.meta)
    }
}

/// The parts of a snapshot as they come. Of each it is said when the next one is wanted.
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
