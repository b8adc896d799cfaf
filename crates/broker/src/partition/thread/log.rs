//! The way into the log: proposing what was evaluated, driving the replica, and hearing from the log's writer.

use super::*;

/// What the partition's thread writes itself at most. More than a few commands at once are a sign of more to come, and
/// the writer flushes while those are evaluated.
const MAX_COMMANDS_HERE: usize = 4;
const MAX_BYTES_HERE: usize = 64 << 10;

impl Partition {
    pub(super) fn propose(&mut self) -> Result<(), CoreError> {
        let proposed = Instant::now();
        let records = self.core.engine().batch_len();
        let index = self.core.propose()?;
        if records > 0 {
            self.status.writes.wrote(records);
            self.given_back.clear();
            self.metrics.proposed.inc();
            if let Some(started) = self.batch_started.take() {
                let time = proposed.saturating_duration_since(started);
                self.metrics.batch_time.observe(nanos(time));
            }
            if index.is_none() {
                self.metrics.deferred.inc();
            }
        }
        if let Some(index) = index {
            let commands = std::mem::take(&mut self.commands_in_batch);
            debug_assert!(
                (self.inflight.back()).is_none_or(|before| before.index <= index),
                "batches wait in the order of the log"
            );
            self.inflight.push_back(Inflight {
                index,
                append: 0,
                proposed,
                written: None,
                commands,
            });
        }
        Ok(())
    }

    /// Lets the replica work, hands its appends to the writer and releases what is committed.
    pub(super) fn drive(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        loop {
            self.core.poll(polled)?;
            let here = self.writes_here();
            let mut written = None;
            for append in polled.output.appends.drain(..) {
                debug_assert!(
                    append.number >= self.last_append,
                    "the log is written in the order of the numbers"
                );
                self.last_append = append.number;
                self.metrics
                    .appended_entries
                    .inc_by(append.frames.len() as u64);
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
            self.exchange(polled)?;
            if polled.became_leader {
                self.begins_to_lead();
            }
            if polled.lost_leadership {
                self.status.set_role(PartitionRole::Follower);
                self.inflight.clear();
                self.exporters.step_down();
                self.loses_what_is_not_committed(polled.kept)?;
                self.steps_down();
            }
            // Before answers leave: who has one and then asks finds what it told of.
            let reached = self.core.reached();
            self.status.applied.store(reached, Ordering::Release);
            self.exporters.progress.commit(reached);
            for released in polled.released.drain(..) {
                self.release(released);
            }
            self.wakes.give();
            self.store_checkpoint();
            self.count();
            let is_written = written.is_some();
            if let Some(report) = written {
                self.log_report(report)?;
            }
            if !polled.output.more && !is_written {
                return Ok(());
            }
        }
    }

    fn begins_to_lead(&mut self) {
        let elected = Instant::now();
        // Who finds that it leads asks how far it is committed.
        let reached = self.core.reached();
        self.status.applied.store(reached, Ordering::Release);
        self.status.set_role(PartitionRole::Leader);
        self.leads();
        self.due_at = Some(0);
        self.metrics
            .recovery
            .set(self.opened.elapsed().as_secs_f64());
        tracing::info!(
            partition = self.status.partition,
            term = self.core.group().term(),
            "leader"
        );
        self.report_unusable_definitions();
        self.lead_exporters();
        self.replica_metrics.leads(elected);
    }

    /// With little to write and nothing else to do, this thread writes and flushes itself: handing the batch to the writer
    /// and hearing of it would cost two changes of thread. A flush that may take long, behind that of a checkpoint, is
    /// left to the writer.
    fn writes_here(&self) -> bool {
        self.core.group().is_alone()
            && self.checkpoint.is_none()
            && self.inflight.len() <= 1
            && self
                .inflight
                .iter()
                .all(|batch| batch.commands <= MAX_COMMANDS_HERE)
            && self.core.group().uncommitted_bytes() <= MAX_BYTES_HERE
            && self.backlog.is_empty()
            && self.inbox.is_empty()
            && !self.has_work()
    }

    pub(super) fn log_report(&mut self, report: LogReport) -> Result<(), CoreError> {
        match report {
            LogReport::Written { number, times } => {
                debug_assert!(
                    number <= self.last_append,
                    "nothing is durable that was not handed to the writer"
                );
                let now = Instant::now();
                for batch in &mut self.inflight {
                    if batch.append <= number && batch.append != 0 && batch.written.is_none() {
                        batch.written = Some((now, times));
                    }
                }
                self.log_bytes_since_checkpoint += times.bytes as u64;
                self.metrics.appended(&times);
                if self.status.stalled.swap(false, Ordering::Relaxed) {
                    tracing::info!(
                        partition = self.status.partition,
                        "the log's disk has room again"
                    );
                }
                self.core.group_mut().persisted(number);
            }
            LogReport::Stalled { error, .. } => {
                self.status.stalled.store(true, Ordering::Relaxed);
                tracing::error!(
                    code = "LOG_STALLED",
                    partition = self.status.partition,
                    %error,
                    "the log cannot grow; new work is refused until there is room"
                );
            }
            LogReport::Compacted { index } => {
                if let Some(ordered) = self.compacting.take() {
                    self.metrics.compaction.observe(nanos(ordered.elapsed()));
                }
                tracing::debug!(partition = self.status.partition, index, "log compacted");
            }
            LogReport::Failed { error } => {
                return Err(CoreError::Log(error.to_string()));
            }
        }
        Ok(())
    }

    /// Definitions that another release has stored and this one cannot run: the partition works, they do not.
    fn report_unusable_definitions(&self) {
        let processes = self.core.engine().state.processes.iter();
        for problem in processes.flat_map(|process| process.problems()) {
            tracing::error!(code = "DEFINITION_NOT_USABLE", partition = self.status.partition, %problem, "a stored definition is not usable");
        }
    }
}
