//! The thread that reads the committed log and fills the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use skep_protocol::value::ProcessValue;

use super::freshness::Freshness;
use super::{Config, Status};
use crate::changes::Changes;
use crate::definitions::{Definition, Definitions};
use crate::log::{CommittedLog, LogError, LogProgress};
use crate::project::Projection;
use crate::sqlite::{Position, SqliteError, Writer};

/// Bytes of the log that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// A window ends early when it has so many rows, or so many bytes of texts: memory is bounded.
const MAX_ROWS: usize = 20_000;
const MAX_BYTES: usize = 8 << 20;
/// What was flushed is made safe from power cuts this often at least.
const SYNC_EVERY: Duration = Duration::from_secs(5);
/// Sync earlier after so many rows: the write-ahead file stays small.
const SYNC_ROWS: usize = 100_000;
/// A store that fails is tried again after this, and then less and less often.
const RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY: Duration = Duration::from_secs(10);
/// Ended instances are looked for this often, and so many are deleted at a time.
const FORGET_EVERY: Duration = Duration::from_secs(1);
const FORGET_SLICE: usize = 200;
/// Bytes of the thread's stack. It compiles models, which nest as deep on the partition's thread, and needs as much.
const STACK_BYTES: usize = 8 << 20;
/// Without anything to do the thread looks around this often.
const IDLE: Duration = Duration::from_secs(1);

pub struct Exporter<L> {
    writer: Writer,
    log: L,
    config: Config,
    progress: Arc<LogProgress>,
    freshness: Arc<Freshness>,
    status: Arc<Status>,
    /// Known once it starts.
    partition: u32,
    definitions: Definitions,
    changes: Changes,
    /// See [`Projection::text`].
    text: String,
    /// Up to where `changes` go.
    read: Position,
    flushed: Position,
    window_began: Option<Instant>,
    rows_since_sync: usize,
    last_sync: Instant,
    next_forget: Instant,
}

impl<L: CommittedLog> Exporter<L> {
    pub fn new(
        writer: Writer,
        log: L,
        config: Config,
        progress: Arc<LogProgress>,
        freshness: Arc<Freshness>,
        status: Arc<Status>,
    ) -> Exporter<L> {
        let position = writer.position().unwrap_or_default();
        Exporter {
            writer,
            log,
            config,
            progress,
            freshness,
            status,
            partition: 0,
            definitions: Definitions::default(),
            changes: Changes::default(),
            text: String::new(),
            read: position,
            flushed: position,
            window_began: None,
            rows_since_sync: 0,
            last_sync: Instant::now(),
            next_forget: Instant::now() + FORGET_EVERY,
        }
    }

    pub fn start(
        mut self,
        partition: u32,
        definitions: Vec<Bytes>,
    ) -> Option<std::thread::JoinHandle<()>> {
        self.partition = partition;
        let status = self.status.clone();
        let work = move || {
            // A bug here must not look like a store that is merely behind.
            let worked = catch_unwind(AssertUnwindSafe(|| {
                self.progress.attach();
                self.seed(&definitions);
                drop(definitions);
                self.run(partition);
            }));
            if worked.is_err() {
                let reason = "the thread that fills secondary storage panicked; this is a bug, see the log of the node";
                tracing::error!(
                    code = "PANIC",
                    partition,
                    reason,
                    "secondary storage is not written any more"
                );
                *status.fault.lock() = Some(reason.to_string());
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("export-{partition}"))
            .stack_size(STACK_BYTES);
        match thread.spawn(work) {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::error!(code = "SECONDARY_STORAGE", partition, %error, "secondary storage cannot be filled");
                None
            }
        }
    }

    /// Definitions that the state knows and a new file does not.
    fn seed(&mut self, bodies: &[Bytes]) {
        for body in bodies {
            let Ok(value) = skep_protocol::record::decode::<ProcessValue>(body) else {
                continue;
            };
            let key = value.process_definition_key;
            if self.definitions.get(key, &self.writer).is_none() {
                self.definitions
                    .insert(key, Some(Arc::new(Definition::new(&value))));
                self.changes
                    .definition(key, value.bpmn_process_id.clone(), body.to_vec());
            }
        }
    }

    fn run(&mut self, partition: u32) {
        let mut pause = RETRY;
        loop {
            match self.step() {
                Ok(Step::Stopped) => return,
                Ok(Step::Went) => {
                    pause = RETRY;
                    if self.status.fault.lock().take().is_some() {
                        tracing::info!(partition, "secondary storage is written again");
                    }
                }
                Err(reason) => {
                    let known = self.status.fault.lock().replace(reason.clone());
                    if known.as_ref() != Some(&reason) {
                        tracing::error!(code = "SECONDARY_STORAGE", partition, %reason, "secondary storage is not written; the log is kept until it is");
                    }
                    if self.status.stopping.load(Ordering::Acquire) {
                        return;
                    }
                    std::thread::park_timeout(pause);
                    pause = (pause * 2).min(MAX_RETRY);
                }
            }
        }
    }

    fn step(&mut self) -> Result<Step, String> {
        let stopping = self.status.stopping.load(Ordering::Acquire);
        let demanded = self.freshness.take_demand();
        let went = self.take_in()?;
        let caught_up = self.read.entry >= self.progress.committed();
        let age = self
            .window_began
            .map_or(Duration::ZERO, |began| began.elapsed());
        let is_full = self.changes.len() >= MAX_ROWS || self.changes.bytes() >= MAX_BYTES;
        let due = is_full || age >= self.config.window || (caught_up && (demanded || stopping));
        if due && self.read != self.flushed {
            self.flush().map_err(|e| e.to_string())?;
        }
        if caught_up {
            if stopping {
                self.sync().map_err(|e| e.to_string())?;
                return Ok(Step::Stopped);
            }
            self.keep_house().map_err(|e| e.to_string())?;
        }
        if !went {
            self.rest();
        }
        Ok(Step::Went)
    }

    /// Waits for entries, for the end of the window, or for somebody who asks.
    fn rest(&mut self) {
        let at_most = match self.window_began {
            Some(began) => self.config.window.saturating_sub(began.elapsed()),
            None => IDLE,
        };
        if self.window_began.is_some() {
            // Entries that are committed meanwhile are taken in when the window ends.
            std::thread::park_timeout(at_most);
        } else {
            self.progress.sleep(self.read.entry, at_most);
        }
    }

    /// Reads entries that were committed meanwhile. False when there are none.
    fn take_in(&mut self) -> Result<bool, String> {
        let (from, to) = (self.read.entry + 1, self.progress.committed() + 1);
        if from >= to || self.changes.len() >= MAX_ROWS || self.changes.bytes() >= MAX_BYTES {
            return Ok(false);
        }
        let entries = match self.log.read(from, to, READ_BYTES) {
            Ok(entries) => entries,
            Err(LogError::Compacted { first }) => {
                tracing::error!(
                    code = "SECONDARY_STORAGE",
                    from,
                    first,
                    "secondary storage lacks entries that the log no longer has: what happened in them cannot be searched"
                );
                self.read.entry = first.saturating_sub(1);
                return Ok(true);
            }
            Err(error) => return Err(error.to_string()),
        };
        let Some((last, _)) = entries.last() else {
            return Ok(false);
        };
        let last = *last;
        for (index, payload) in &entries {
            if !payload.is_empty() {
                let mut projection = Projection {
                    changes: &mut self.changes,
                    definitions: &mut self.definitions,
                    stored: &self.writer,
                    partition: self.partition,
                    text: &mut self.text,
                };
                let (record, timestamp) = projection
                    .batch(payload)
                    .map_err(|error| format!("entry {index} of the log cannot be read: {error}"))?;
                (self.read.record, self.read.timestamp) = (record, timestamp);
            }
            self.read.entry = *index;
        }
        self.read.entry = last;
        self.window_began.get_or_insert_with(Instant::now);
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), SqliteError> {
        self.writer.flush(&mut self.changes, self.read)?;
        self.rows_since_sync += self.changes.len();
        self.changes.clear();
        self.flushed = self.read;
        self.window_began = None;
        self.status
            .exported
            .store(self.flushed.record, Ordering::Relaxed);
        self.freshness.advance(self.flushed);
        if self.rows_since_sync >= SYNC_ROWS {
            self.sync()?;
        }
        Ok(())
    }

    /// Afterwards the log up to what was flushed is not needed any more.
    fn sync(&mut self) -> Result<(), SqliteError> {
        let flushed = self.flushed.entry;
        if flushed > self.status.durable() && self.writer.sync()? {
            self.status.durable.store(flushed, Ordering::Release);
            self.rows_since_sync = 0;
        }
        self.last_sync = Instant::now();
        Ok(())
    }

    fn keep_house(&mut self) -> Result<(), SqliteError> {
        if self.last_sync.elapsed() >= SYNC_EVERY {
            self.sync()?;
        }
        let now = Instant::now();
        if now >= self.next_forget {
            let today = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let before = today.saturating_sub(self.config.history_ttl).as_millis();
            let before = i64::try_from(before).unwrap_or(i64::MAX);
            let forgotten = self.writer.forget(before, FORGET_SLICE)?;
            // With a whole slice there are more, and nothing else is to do.
            let pause = if forgotten == FORGET_SLICE {
                Duration::ZERO
            } else {
                FORGET_EVERY
            };
            self.next_forget = now + pause;
        }
        Ok(())
    }
}

enum Step {
    Went,
    Stopped,
}
