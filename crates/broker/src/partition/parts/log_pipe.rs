//! The path into the log: the batch being evaluated, batches waiting for their commit, and the log writer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_protocol::Key;
use skep_replication::{Append, EntryId};
use skep_service::Timings;
use skep_storage::StorageError;
use skep_storage::log::{AppendTimes, LogReader, LogWriter, Report as LogReport};

use super::environment::Environment;
use crate::metrics::{PartitionMetrics, nanos};
use crate::partition::core::CoreError;

/// Maximum that the partition's thread writes itself. More than a few commands at once suggest that more are coming, and the writer flushes
/// while those are evaluated.
const MAX_COMMANDS_HERE: usize = 4;
pub const MAX_BYTES_HERE: usize = 64 << 10;

pub struct LogPipe {
    /// `None` once it is closed, and in simulations, which have a writer of their own.
    writer: Option<LogWriter>,
    reader: LogReader,
    batch: Batch,
    inflight: VecDeque<Inflight>,
    last_append: u64,
    /// When compaction of the log was requested.
    compacting: Option<Instant>,
}

/// The commands evaluated since the last proposal.
#[derive(Default)]
struct Batch {
    commands: usize,
    started: Option<Instant>,
    /// Jobs returned in this batch: if a panic loses the batch, nothing else would return them again.
    given_back: Vec<(Key, i64)>,
}

struct Inflight {
    index: u64,
    /// Number of the append that contains it; 0 until it is known.
    append: u64,
    proposed: Instant,
    written: Option<(Instant, AppendTimes)>,
    commands: usize,
}

/// A durable append.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Number of the append.
    pub number: u64,
    pub bytes: u64,
}

impl LogPipe {
    pub fn new(writer: Option<LogWriter>, reader: LogReader) -> LogPipe {
        LogPipe {
            writer,
            reader,
            batch: Batch::default(),
            inflight: VecDeque::new(),
            last_append: 0,
            compacting: None,
        }
    }

    pub fn reader(&self) -> &LogReader {
        &self.reader
    }

    /// Whether no batch waits to be committed.
    pub fn is_idle(&self) -> bool {
        self.inflight.is_empty()
    }

    /// A client's command of the batch is about to be evaluated.
    pub fn begins(&mut self, now: Instant) {
        self.batch.started.get_or_insert(now);
    }

    pub fn gives_back(&mut self, key: Key, deadline: i64) {
        self.batch.given_back.push((key, deadline));
    }

    /// One more command of the batch was evaluated.
    pub fn evaluated(&mut self) {
        self.batch.commands += 1;
    }

    /// The batch is lost to a panic. Returns the jobs that were given back in it.
    pub fn discard_batch(&mut self) -> impl Iterator<Item = (Key, i64)> {
        self.batch.commands = 0;
        self.batch.given_back.drain(..)
    }

    /// The batch with this many records was proposed to the group; `index`: the entry to wait for, if there is one.
    pub fn proposed(
        &mut self,
        records: usize,
        index: Option<u64>,
        env: &Environment,
        now: Instant,
    ) {
        if records > 0 {
            env.status.writes.wrote(records);
            self.batch.given_back.clear();
            env.metrics.proposed.inc();
            if let Some(started) = self.batch.started.take() {
                let time = now.saturating_duration_since(started);
                env.metrics.batch_time.observe(nanos(time));
            }
            if index.is_none() {
                env.metrics.deferred.inc();
            }
        }
        let Some(index) = index else {
            return;
        };
        debug_assert!(
            (self.inflight.back()).is_none_or(|before| before.index <= index),
            "batches wait in the order of the log"
        );
        self.inflight.push_back(Inflight {
            index,
            append: 0,
            proposed: now,
            written: None,
            commands: std::mem::take(&mut self.batch.commands),
        });
    }

    /// Whether only few commands wait to be written.
    pub fn is_small(&self) -> bool {
        let few = |batch: &Inflight| batch.commands <= MAX_COMMANDS_HERE;
        self.inflight.len() <= 1 && self.inflight.iter().all(few)
    }

    /// Hands appends to the writer, or writes and flushes them `here` and returns the report that the writer would have sent.
    pub fn append(
        &mut self,
        appends: impl Iterator<Item = Append>,
        here: bool,
        metrics: &PartitionMetrics,
    ) -> Option<LogReport> {
        let mut written = None;
        for append in appends {
            debug_assert!(
                append.number >= self.last_append,
                "the log is written in the order of the numbers"
            );
            self.last_append = append.number;
            metrics.appended_entries.inc_by(append.frames.len() as u64);
            let Some(writer) = &self.writer else {
                continue;
            };
            // A writer that has stopped has reported why.
            if here {
                let report = writer.append_here(append.number, append.frames);
                written = report.ok().flatten().or(written);
            } else {
                let _ = writer.append(append.number, append.frames);
            }
        }
        for batch in self.inflight.iter_mut().rev() {
            if batch.append != 0 {
                break;
            }
            batch.append = self.last_append;
        }
        written
    }

    /// Processes a report of the log writer.
    ///
    /// # Errors
    /// The writer has failed.
    pub fn report(
        &mut self,
        report: LogReport,
        env: &Environment,
        now: Instant,
    ) -> Result<Option<Written>, CoreError> {
        let partition = env.partition();
        match report {
            LogReport::Written { number, times } => {
                self.written(number, times, now);
                env.metrics.appended(&times);
                if env.status.stalled.swap(false, Ordering::Relaxed) {
                    tracing::info!(partition, "the log's disk has room again");
                }
                return Ok(Some(Written {
                    number,
                    bytes: times.bytes as u64,
                }));
            }
            LogReport::Stalled { error, .. } => {
                env.status.stalled.store(true, Ordering::Relaxed);
                tracing::error!(
                    code = "LOG_STALLED",
                    partition,
                    %error,
                    "the log cannot grow; new work is refused until there is room"
                );
            }
            LogReport::Compacted { index } => {
                debug_assert!(index > 0, "there is no entry before the first");
                if let Some(ordered) = self.compacting.take() {
                    let time = now.saturating_duration_since(ordered);
                    env.metrics.compaction.observe(nanos(time));
                }
                tracing::debug!(partition, index, "log compacted");
            }
            LogReport::Failed { error } => return Err(CoreError::Log(error.to_string())),
        }
        Ok(None)
    }

    fn written(&mut self, number: u64, times: AppendTimes, now: Instant) {
        debug_assert!(
            number <= self.last_append,
            "nothing is durable that was not handed to the writer"
        );
        for batch in &mut self.inflight {
            if batch.append <= number && batch.append != 0 && batch.written.is_none() {
                batch.written = Some((now, times));
            }
        }
    }

    /// The batch of this entry is committed. Returns how long it took.
    pub fn released(&mut self, index: u64, metrics: &PartitionMetrics, now: Instant) -> Timings {
        let mut timings = Timings::default();
        let Some(batch) = self.inflight.pop_front_if(|batch| batch.index <= index) else {
            return timings;
        };
        debug_assert_eq!(batch.index, index, "each batch is released by itself");
        if let Some((written, times)) = batch.written {
            timings.fsync = nanos(times.sync);
            let append = written
                .saturating_duration_since(batch.proposed)
                .saturating_sub(times.sync);
            timings.append = nanos(append);
            timings.commit = nanos(now.saturating_duration_since(written));
        }
        metrics.released(&timings, batch.commands);
        timings
    }

    /// Stops waiting for proposed batches.
    pub fn clear(&mut self) {
        self.inflight.clear();
    }

    /// Allows the log to discard entries up to this one.
    pub fn compact(&mut self, upto: EntryId, now: Instant) {
        if let Some(writer) = &self.writer {
            let _ = writer.compact(upto.index, upto.term);
            self.compacting = Some(now);
        }
    }

    /// Ends the writer once everything is written.
    ///
    /// # Errors
    /// The log was not closed cleanly.
    pub fn close(&mut self) -> Result<(), Arc<StorageError>> {
        self.writer.take().map_or(Ok(()), LogWriter::stop)
    }
}
