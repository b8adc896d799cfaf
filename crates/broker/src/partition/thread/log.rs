//! The path into the log and out of it: proposes evaluated batches, drives the replica, and releases committed effects.

use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_protocol::Failure;
use skep_service::PartitionRole;
use skep_storage::log::Report as LogReport;

use super::Partition;
use crate::directory_view::HOME;
use crate::metrics::nanos;
use crate::partition::core::{CoreError, Polled, Released};
use crate::partition::message::Work;
use crate::partition::parts::effect_sink::Effect;
use crate::partition::parts::log_pipe::MAX_BYTES_HERE;

/// The answer to a client whose message was in transit for more than a second while its correlation key moved.
const KEY_MOVED: &str = "the correlation key has moved to another partition before an instance answered; the message may or may not have been \
                         correlated";

impl Partition {
    pub(super) fn propose(&mut self) -> Result<(), CoreError> {
        let proposed = Instant::now();
        let records = self.core.engine().batch_len();
        let index = self.core.propose()?;
        self.log.proposed(records, index, &self.env, proposed);
        Ok(())
    }

    /// Runs the replica, hands its appends to the writer and releases what is committed. There may be more to apply while reports wait.
    pub(super) fn drive(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        loop {
            self.core.poll(polled)?;
            self.publish_released(&polled.released);
            let here = self.writes_here();
            let appends = polled.output.appends.drain(..);
            let written = self.log.append(appends, here, &self.env.metrics);
            self.exchange(polled)?;
            if polled.became_leader {
                self.begins_to_lead();
            }
            if polled.lost_leadership {
                self.env.status.set_role(PartitionRole::Follower);
                self.log.clear();
                self.exporters.step_down();
                self.loses_what_is_not_committed(polled.kept)?;
                self.steps_down();
            }
            // Before answers are sent: a client that queries after its answer must find the effects of its command.
            self.publish_reached();
            for released in polled.released.drain(..) {
                self.release(released);
            }
            self.delivery.wake();
            self.store_checkpoint();
            let state = &self.core.engine().state;
            self.delivery.count(state, &self.env);
            let is_written = written.is_some();
            if let Some(report) = written {
                self.log_report(report)?;
            }
            // A long log is applied in parts: votes, heartbeats and requests to stop do not wait until all of it is.
            let goes_on = polled.output.more && !self.intake.has_report();
            if !goes_on && !is_written {
                return Ok(());
            }
        }
    }

    fn publish_reached(&mut self) {
        let reached = self.core.reached();
        // Who waits for an entry to be applied finds its users and permissions.
        if !self.core.is_leader() {
            self.publish_state();
        }
        self.env.status.applied.store(reached, Ordering::Release);
        self.exporters.progress.commit(reached);
    }

    fn publish_released(&mut self, released: &[Released]) {
        if self.env.partition() == HOME
            && let Some(directory) = self.delivery.directory.released(released)
        {
            self.env.effect_sink.send(Effect::Directory(directory));
        }
    }

    /// Publishes the directory of the state, which is committed.
    fn publish_state(&mut self) {
        if self.env.partition() == HOME
            && let Some(directory) = self.delivery.directory.of_state(&self.core)
        {
            self.env.effect_sink.send(Effect::Directory(directory));
        }
    }

    fn release(&mut self, released: Released) {
        let Released {
            index,
            bytes,
            effects,
        } = released;
        let (env, now) = (&self.env, Instant::now());
        let timings = self.log.released(index, &env.metrics, now);
        // A client may query right after its answer.
        let position = self.core.committed_position();
        (env.status.committed_position).store(position, Ordering::Relaxed);
        for (id, result) in effects.responses {
            let result = result.map_err(Failure::from);
            self.delivery.respond(id, result, timings, env, now);
        }
        for id in effects.aborted {
            let failure = Failure::Aborted(KEY_MOVED.to_string());
            self.delivery.respond(id, Err(failure), timings, env, now);
        }
        for (stream, job) in effects.pushes {
            self.delivery.push(stream, job, env);
        }
        for (partition, command) in effects.sends {
            if partition == env.partition() {
                env.inbox.send(Work::Remote {
                    command,
                    prepared: None,
                });
            } else {
                self.delivery.work.sent(partition, &command.command);
                env.effect_sink.send(Effect::Remote(partition, command));
            }
        }
        let (choosing, mut around) = self.choosing();
        choosing.choose_items(effects.to_choose, &mut around);
        let env = &self.env;
        for available in effects.jobs_available {
            self.delivery.work.workers_notified(&available.job_type);
            env.effect_sink.send(Effect::JobsAvailable(available));
        }
        env.metrics.post_commit.observe(nanos(now.elapsed()));
        self.delivery.counts_later(effects.noted, bytes);
    }

    fn begins_to_lead(&mut self) {
        let elected = Instant::now();
        let partition = self.env.partition();
        // All entries of former leaders are committed with the election, and nothing is proposed yet.
        self.publish_state();
        // A new leader is asked for its commit position.
        let reached = self.core.reached();
        self.env.status.applied.store(reached, Ordering::Release);
        self.env.status.begins_to_lead(self.core.group().term());
        self.leads();
        self.timetable.look_at_once();
        let recovery = self.env.opened.elapsed().as_secs_f64();
        self.env.metrics.recovery.set(recovery);
        tracing::info!(partition, term = self.core.group().term(), "leader");
        self.report_unusable_definitions();
        self.lead_exporters();
        self.replica.metrics.leads(elected);
    }

    /// With little to write and nothing else to do, this thread writes and flushes itself: handing the batch to the writer and waiting for
    /// its report would cost two context switches. A flush that may take long, because a checkpoint is being flushed, is left to the
    /// writer.
    fn writes_here(&self) -> bool {
        self.core.group().is_alone()
            && self.checkpointer.is_idle()
            && self.log.is_small()
            && self.core.group().uncommitted_bytes() <= MAX_BYTES_HERE
            && self.intake.is_empty()
            && !self.has_work()
    }

    pub(super) fn log_report(&mut self, report: LogReport) -> Result<(), CoreError> {
        if let Some(written) = self.log.report(report, &self.env, Instant::now())? {
            self.checkpointer.log_grows(written.bytes);
            self.core.group_mut().persisted(written.number);
        }
        Ok(())
    }

    /// Reports definitions that were stored by another release and that this one cannot run: the partition works, they do not.
    fn report_unusable_definitions(&self) {
        let processes = self.core.engine().state.processes.iter();
        for problem in processes.flat_map(|process| process.problems()) {
            tracing::error!(code = "DEFINITION_NOT_USABLE", partition = self.env.partition(), %problem, "a stored definition is not usable");
        }
    }

    /// The node no longer leads. `kept`: the last entry whose changes stay in the state.
    fn loses_what_is_not_committed(&mut self, kept: u64) -> Result<(), CoreError> {
        const WHY: &str = "the node is no longer the leader of this partition";
        self.delivery.abort_all(WHY, &self.env);
        if self.core.is_void() {
            if self.checkpointer.abandon() {
                return self.rebuild(WHY);
            }
            let partition = self.env.partition();
            tracing::info!(
                partition,
                "the state is rebuilt once the checkpoint that is being stored has ended"
            );
            return Ok(());
        }
        self.checkpointer
            .is_void_behind(kept, &self.env, Instant::now());
        self.state_is_another();
        Ok(())
    }

    /// Replaces a void state by that of the last committed entry, from the checkpoint and the log. No checkpoint is being stored: see
    /// `Checkpointer::abandon`.
    // Engines are large and made on the stack, which is not to be touched that deep where none is made.
    #[inline(never)]
    pub(super) fn rebuild(&mut self, why: &str) -> Result<(), CoreError> {
        self.delivery.abort_all(why, &self.env);
        debug_assert!(
            !self.checkpointer.is_storing(),
            "the store stays as it is while a state is read from it"
        );
        let config = &self.env.engine_config;
        let (mut engine, meta) = self.checkpointer.open_engine(config)?;
        debug_assert!(
            meta.index <= self.core.applied(),
            "the store is not ahead of what is committed"
        );
        let (mut from, mut term) = (meta.index + 1, meta.term);
        let to = self.core.applied() + 1;
        while from < to {
            let entries = self
                .log
                .reader()
                .read(from, to, 4 << 20)
                .map_err(|error| CoreError::ReadLog(error.to_string()))?;
            let Some(last) = entries.last() else {
                break;
            };
            (from, term) = (last.index + 1, last.term);
            let written = entries.iter().filter(|e| !e.content().is_empty());
            let written: Vec<_> = written.map(|e| (e.index, &*e.payload)).collect();
            crate::partition::core::apply(&mut engine, &written)?;
        }
        debug_assert!(from <= to, "only what is committed is applied");
        engine.promote()?;
        self.core.rebuild(engine, term);
        self.delivery.directory.state_is_new();
        self.state_is_another();
        Ok(())
    }

    /// The state was replaced: drops everything derived from it.
    fn state_is_another(&mut self) {
        self.panics.state_is_new();
        self.exporters.state_is_new();
        let job_types = self.delivery.streams.forget_reservations();
        if !self.follows() {
            for job_type in job_types {
                self.intake.waits(Work::StreamHasRoom(job_type));
            }
        }
        self.timetable.look_at_once();
    }
}
