//! Checkpoints of the state: captured when the state is evaluated up to some entry, and stored in the background once that entry is
//! committed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use skep_engine::state::{State, StoreError};
use skep_engine::{Engine, EngineConfig};
use skep_protocol::value::ExportingValue;
use skep_storage::StorageError;
use skep_storage::kv::{FjallKv, KvStore, KvView, Staged, Staging};

use super::environment::Environment;
use super::exporters::Exporters;
use super::log_pins::LogPins;
use super::log_pipe::LogPipe;
use crate::metrics::nanos;
use crate::partition::checkpoint::{CheckpointMeta, StoredRows};
use crate::partition::core::{CoreError, PartitionCore};
use crate::partition::message::Report;
use crate::partition::pending_rows::PendingRows;

/// Delay before a failed checkpoint is retried.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Minimum pause between two checkpoints that are made because rows fill the memory.
const CROWDED_PAUSE: Duration = Duration::from_secs(5);
/// A checkpoint is taken once changed rows fill one part in this many of the memory for rows.
const DIRTY_PART: usize = 8;

pub struct Checkpointer {
    kv: Arc<Mutex<FjallKv>>,
    rows: PendingRows,
    current: Option<Captured>,
    captures: u64,
    waiters: Vec<Sender<Result<(), String>>>,
    last: Instant,
    log_bytes: u64,
    pins: LogPins,
}

struct Captured {
    number: u64,
    meta: CheckpointMeta,
    /// The exporter settings and positions in the captured state.
    exporting: ExportingValue,
    started: Instant,
    /// Whether it is being stored, which begins once its entry is committed.
    is_storing: bool,
    /// The state that it was captured from was replaced: nothing follows from it once it is stored.
    is_abandoned: bool,
}

impl Checkpointer {
    pub fn new(kv: FjallKv, rows: PendingRows, pins: LogPins, now: Instant) -> Checkpointer {
        Checkpointer {
            kv: Arc::new(Mutex::new(kv)),
            rows,
            current: None,
            captures: 0,
            waiters: Vec::new(),
            last: now,
            log_bytes: 0,
            pins,
        }
    }

    /// The entries that backups keep in the log.
    pub fn pins(&mut self) -> &mut LogPins {
        &mut self.pins
    }

    /// Whether no checkpoint is on its way to the store.
    pub fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    /// Whether a checkpoint is being stored.
    pub fn is_storing(&self) -> bool {
        (self.current.as_ref()).is_some_and(|captured| captured.is_storing)
    }

    /// The bytes of rows that are captured now.
    pub fn captured_rows(&self) -> usize {
        self.rows.len()
    }

    pub fn since_last(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last)
    }

    /// This many bytes became durable in the log.
    pub fn log_grows(&mut self, bytes: u64) {
        self.log_bytes += bytes;
    }

    /// Registers a waiter, which is notified when the next checkpoint is done.
    pub fn waits(&mut self, waiter: Option<Sender<Result<(), String>>>) {
        self.waiters.extend(waiter);
    }

    /// Takes the changed rows out of the state. They are stored once their entry is committed. False if there is nothing to capture, or not
    /// now.
    pub fn capture(&mut self, core: &mut PartitionCore, now: Instant) -> bool {
        if self.current.is_some() || core.is_stale() || core.engine().batch_len() > 0 {
            return false;
        }
        let (index, term) = core.evaluated();
        if index == 0 {
            // A new partition that is not even leader yet: waiting for its first entry would delay a stop forever.
            self.notify_waiters(&Ok(()));
            return false;
        }
        let next_position = core.engine().next_position();
        let oldest_node = core.engine().config().oldest_node.version();
        let state = &mut core.engine_mut().state;
        state.checkpoint(&mut self.rows.capture(oldest_node));
        debug_assert!(self.current.is_none(), "one checkpoint at a time");
        self.captures += 1;
        self.current = Some(Captured {
            number: self.captures,
            meta: CheckpointMeta {
                index,
                term,
                next_position,
            },
            exporting: state.exporting.value().clone(),
            started: now,
            is_storing: false,
            is_abandoned: false,
        });
        self.last = now;
        self.log_bytes = 0;
        true
    }

    /// Begins to store the captured rows, once they are committed.
    ///
    /// # Errors
    /// Storing cannot begin: [`Checkpointer::failed`] must follow.
    pub fn store(&mut self, applied: u64, env: &Environment) -> Result<(), String> {
        let Some(captured) = &mut self.current else {
            return Ok(());
        };
        if captured.is_storing || captured.meta.index > applied {
            return Ok(());
        }
        let (number, meta) = (captured.number, captured.meta);
        debug_assert_eq!(
            number, self.captures,
            "the last capture is the one that is stored"
        );
        let (kv, inbox) = (self.kv.clone(), env.inbox.clone());
        // A rebuild waits until this has ended before it clears them.
        let rows = self.rows.clone();
        let status = env.status.clone();
        let store = move || {
            let mut kv = kv.lock();
            let stored = catch_unwind(AssertUnwindSafe(|| rows.store(&mut *kv, meta)));
            let stored = match stored {
                Ok(stored) => stored.map_err(|error| error.to_string()),
                Err(_) => Err("the store panicked, see the log of the node".to_string()),
            };
            if stored.is_ok()
                && status.disk_low.load(Ordering::Relaxed)
                && let Err(error) = kv.reclaim()
            {
                tracing::warn!(code = "CHECKPOINT_FAILED", partition = status.partition, %error, "the store cannot release disk space");
            }
            drop(kv);
            let result = stored.map(|()| meta);
            inbox.send(Report::CheckpointDone { number, result });
        };
        let task = env.background.run("checkpoint", Box::new(store));
        task.map_err(|error| error.to_string())?;
        captured.is_storing = true;
        Ok(())
    }

    /// A checkpoint is stored, or could not be.
    pub fn done(
        &mut self,
        (number, result): (u64, Result<CheckpointMeta, String>),
        (core, exporters, log): (&mut PartitionCore, &mut Exporters, &mut LogPipe),
        env: &Environment,
        now: Instant,
    ) {
        let captured = self.current.take_if(|captured| captured.number == number);
        let Some(captured) = captured else {
            return;
        };
        if captured.is_abandoned {
            self.rows.clear();
            return;
        }
        let meta = match result {
            Ok(meta) => meta,
            Err(reason) => return self.failed(reason, env, now),
        };
        debug_assert!(
            meta.index <= core.applied(),
            "a checkpoint holds only what is committed"
        );
        self.rows.clear();
        exporters.stored(captured.exporting);
        env.status.checkpoint_is(meta);
        let time = env.clock.now();
        env.status.checkpoint_time.store(time, Ordering::Relaxed);
        env.metrics.checkpoints.inc();
        let time = now.saturating_duration_since(captured.started);
        env.metrics.checkpoint.observe(nanos(time));
        let evicted = core.engine_mut().state.evict(env.memory_share());
        if evicted > 0 {
            tracing::debug!(partition = env.partition(), evicted, "cold rows evicted");
        }
        let disk_low = env.status.disk_low.load(Ordering::Relaxed);
        let mut compactable = exporters.compactable(meta.index, disk_low);
        if !disk_low {
            // A node that is away finds what it lacks in the log, as long as there is space for it.
            let others = env.effect_sink.others(env.partition());
            compactable = compactable.min(others.replicated);
        }
        let unpinned = self.pins.compactable(compactable, disk_low, now);
        let holds = disk_low && unpinned < compactable;
        env.status
            .space
            .kept_for_backup
            .store(holds, Ordering::Relaxed);
        compactable = unpinned;
        debug_assert!(
            compactable <= meta.index,
            "the log keeps what the checkpoint lacks"
        );
        if let Some(id) = core.group_mut().compact(compactable) {
            debug_assert!(id.index <= compactable);
            log.compact(id, now);
        }
        self.notify_waiters(&Ok(()));
    }

    /// The captured rows cannot be stored. They stay readable in memory and are part of the next checkpoint.
    pub fn failed(&mut self, reason: String, env: &Environment, now: Instant) {
        self.current = None;
        self.again_soon(env, now);
        tracing::error!(code = "CHECKPOINT_FAILED", partition = env.partition(), %reason, "checkpoint failed");
        self.notify_waiters(&Err(reason));
    }

    fn notify_waiters(&mut self, result: &Result<(), String>) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(result.clone());
        }
    }

    /// The next checkpoint must not wait for a whole period: the log grows meanwhile.
    fn again_soon(&mut self, env: &Environment, now: Instant) {
        let period = env.config.snapshot_period.saturating_sub(RETRY_AFTER);
        self.last = now.checked_sub(period).unwrap_or(self.last);
    }

    /// Leadership is lost, and the state is that of this entry: a capture from after it is void.
    pub fn is_void_behind(&mut self, kept: u64, env: &Environment, now: Instant) {
        let is_void = |captured: &mut Captured| !captured.is_storing && captured.meta.index > kept;
        if self.current.take_if(is_void).is_some() {
            self.again_soon(env, now);
        }
    }

    /// The state is about to be replaced: drops a checkpoint that is not being stored yet. False while one is being stored: the state must
    /// stay until that is done, and nothing else follows from it. The store must not change while a state is read from it, as rows of a later
    /// checkpoint would be newer than the entries that are applied to them.
    pub fn abandon(&mut self) -> bool {
        if let Some(captured) = &mut self.current
            && captured.is_storing
        {
            captured.is_abandoned = true;
            return false;
        }
        self.current = None;
        self.rows.clear();
        true
    }

    /// Whether a checkpoint should be made now.
    pub fn is_due(&self, core: &PartitionCore, env: &Environment, now: Instant) -> bool {
        let state = &core.engine().state;
        // Only rows that are in the store can leave memory.
        let crowded = state.resident_bytes() > env.memory_share()
            && (self.since_last(now) >= CROWDED_PAUSE || self.is_overfull(core, env));
        // A checkpoint holds its rows in memory until they are written: many small checkpoints need less than one large one.
        let heavy = state.dirty_bytes() > env.memory_share() / DIRTY_PART;
        let due = crowded
            || heavy
            || self.since_last(now) >= env.config.snapshot_period
            || self.log_bytes >= env.config.snapshot_log_bytes;
        due && has_unsaved(core, env)
    }

    /// Whether rows exceed their memory by half, and a checkpoint can make room: deferred work, which can create rows without limit, waits
    /// for it.
    pub fn is_overfull(&self, core: &PartitionCore, env: &Environment) -> bool {
        let share = env.memory_share();
        core.engine().state.resident_bytes() > share + share / 2
            && (has_unsaved(core, env) || !self.is_idle())
    }

    /// How long it may take until a checkpoint is due, if nothing else happens.
    pub fn until_due(&self, core: &PartitionCore, env: &Environment, now: Instant) -> Duration {
        if has_unsaved(core, env) {
            (env.config.snapshot_period).saturating_sub(self.since_last(now))
        } else {
            Duration::MAX
        }
    }

    /// An engine with the state of the last checkpoint.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open_engine(
        &self,
        config: &EngineConfig,
    ) -> Result<(Engine, CheckpointMeta), CoreError> {
        open_engine(&self.kv.lock(), &self.rows, config)
    }

    /// A view of the last checkpoint. `None` while one is being stored.
    pub fn view(&self) -> Option<Box<dyn KvView>> {
        self.kv.try_lock().and_then(|kv| kv.view().ok())
    }

    /// Makes a snapshot the content of the store. Returns where the next one is built.
    ///
    /// # Errors
    /// The snapshot cannot take the store's place.
    pub fn adopt(&self, staged: Staged) -> Result<Staging, StorageError> {
        let mut kv = self.kv.lock();
        kv.adopt(staged)?;
        Ok(kv.staging())
    }
}

fn has_unsaved(core: &PartitionCore, env: &Environment) -> bool {
    core.applied() > env.status.checkpoint_index.load(Ordering::Relaxed)
}

/// Opens an engine with the state in the store, ready for the entries after it.
///
/// # Errors
/// The store cannot be read.
pub fn open_engine(
    kv: &FjallKv,
    pending: &PendingRows,
    config: &EngineConfig,
) -> Result<(Engine, CheckpointMeta), CoreError> {
    let meta = kv.meta().map_err(|e| StoreError(e.to_string()))?;
    let meta = CheckpointMeta::read(meta.as_deref())?;
    let rows = StoredRows {
        reader: kv.reader(),
        pending: pending.clone(),
    };
    let state = State::open_to_replay(config.partition, Arc::new(rows))?;
    Ok((Engine::new(config.clone(), state, meta.next_position), meta))
}
