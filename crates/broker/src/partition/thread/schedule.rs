//! Scheduled work: due timers and timeouts, ticks of the replica, and periodic checks.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skep_metrics::Gauge;

use super::{MAX_BATCH_COMMANDS, Partition};
use crate::metrics::Context;
use crate::partition::core::{CoreError, MAX_INFLIGHT_ENTRIES};
use crate::partition::status::Scaling;

/// Bytes in flight above which deferred work waits.
const MAX_WORK_INFLIGHT: usize = 2 << 20;

impl Partition {
    /// Runs timers, timeouts and the replica's ticks.
    pub(super) fn run_scheduled(&mut self) -> Result<(), CoreError> {
        let now = Instant::now();
        let tick = self.env.config.tick();
        if !self.core.group().hibernates() && self.timetable.ticks(tick, now) {
            // Its time stands still while it has no state: it could not lead.
            if !self.lacks_state() {
                self.core.group_mut().tick();
            }
            self.hibernate_while_all_are_alive();
            self.replica.metrics.tick(!self.core.is_leader());
            let pauses = self.replica.hand_over.is_under_way();
            self.replica.metrics.pauses(pauses);
        }
        let check = self.timetable.checks().is_due(now);
        if check && self.follows() {
            let idle = self.may_idle();
            self.timetable.checks().begins(now, idle);
            if !self.lacks_state() {
                self.look_after_follower()?;
            }
        }
        if !self.core.is_leader() || self.core.is_void() || self.replica.hand_over.is_stopping() {
            return Ok(());
        }
        let time = self.env.clock.now();
        if check {
            let idle = self.may_idle();
            self.timetable.checks().begins(now, idle);
            self.look_after()?;
        }
        if (check || self.timetable.is_due(time)) && self.can_process() {
            if !check {
                self.timetable.checks().works();
            }
            let pressure = self.under_pressure();
            self.delivery.work.accepted(Context::Scheduled);
            let due = self.guarded(None, |core, streams| core.run_due(time, pressure, streams))?;
            self.timetable.ran(due, pressure, time);
        } else {
            self.timetable.next_is(self.core.engine().next_due());
        }
        Ok(())
    }

    /// Runs one turn of work that exceeded its command's budget.
    pub(super) fn run_work(&mut self) -> Result<(), CoreError> {
        if self.has_work() && self.can_process() {
            self.timetable.checks().works();
            let time = self.env.clock.now();
            self.delivery.work.accepted(Context::Internal);
            self.guarded(None, |core, streams| core.run_work(time, streams))?;
        }
        Ok(())
    }

    /// Whether earlier commands have left work. A partition that stops leaves it to its next start, and it waits while much is on its way
    /// to disk: answers to others would queue behind it in the log.
    pub(super) fn has_work(&self) -> bool {
        self.core.is_leader()
            && !self.core.is_void()
            && !self.replica.hand_over.is_stopping()
            && self.core.engine().has_work()
            && self.core.group().uncommitted_bytes() < MAX_WORK_INFLIGHT
            && !self.checkpointer.is_overfull(&self.core, &self.env)
    }

    /// More work than the limit allows, or a backlog: timeouts would add copies of work in progress.
    pub(super) fn under_pressure(&self) -> bool {
        let limit = &self.env.status.limit;
        self.intake.waiting() > MAX_BATCH_COMMANDS || limit.inflight() >= limit.limit()
    }

    /// The longest time to sleep if nothing needs attention until a message arrives or something is due.
    fn may_idle(&self) -> Option<Duration> {
        let group = self.core.group();
        let engine = self.core.engine();
        let hibernates = group.hibernates() || self.core.is_leader() && group.is_alone();
        let nothing_waits = self.intake.waiting() == 0
            && self.delivery.requests.is_empty()
            && self.log.is_idle()
            && self.checkpointer.is_idle()
            && !self.replica.hand_over.is_under_way()
            && !self.core.is_void();
        let leads = self.core.is_leader();
        // While there is a write limit, only these checks update it for the router.
        let has_no_work = !leads
            || !self.has_work()
                && !engine.awaits_answers()
                && engine.state.batch_operations.to_choose().next().is_none()
                && self.env.status.writes.limit().is_none()
                && self.core.has_named_busiest()
                && self.exporters.are_done(&engine.state, self.core.applied());
        let rests = hibernates && nothing_waits && has_no_work;
        let until_due = || {
            let now = Instant::now();
            self.checkpointer.until_due(&self.core, &self.env, now)
        };
        rests.then(until_due)
    }

    /// Periodic checks of a leader, once per check interval.
    fn look_after(&mut self) -> Result<(), CoreError> {
        self.forget_abandoned();
        self.publish_status();
        let (choosing, mut around) = self.choosing();
        choosing.look_after(&mut around);
        self.follow_exporting();
        self.mend_secondary();
        self.report_exported(false)?;
        self.adjust_writes();
        self.checkpoint_if_due()
    }

    /// Periodic checks of a follower.
    fn look_after_follower(&mut self) -> Result<(), CoreError> {
        self.publish_status();
        // Operators' exporter settings apply to the stores of all replicas.
        self.follow_exporting();
        self.mend_secondary();
        self.spare_snapshot();
        self.checkpoint_if_due()
    }

    fn mend_secondary(&mut self) {
        if !self.replica.hand_over.is_stopping() {
            self.exporters.mend_secondary(self.core.group(), &self.env);
        }
    }

    fn checkpoint_if_due(&mut self) -> Result<(), CoreError> {
        let now = Instant::now();
        if self.checkpointer.is_due(&self.core, &self.env, now) {
            // Recorded before the checkpoint, so that exported entries need not be kept in the log after it.
            if self.can_evaluate() {
                self.report_exported(true)?;
                self.propose()?;
            }
            self.capture_checkpoint();
        }
        Ok(())
    }

    /// Drops requests of clients that are gone: those that were not begun, and of those that were, only the ones that wait for an instance,
    /// a distribution or a correlation. An answer that is about to be committed needs its slot, or its jobs would be lost and its id would
    /// answer somebody else.
    fn forget_abandoned(&mut self) {
        for _ in 0..self.intake.forget_abandoned() {
            self.abandoned();
        }
        let abandoned = self.delivery.requests.abandoned();
        if abandoned.is_empty() {
            return;
        }
        let waiting = self.core.engine().waiting_requests();
        for id in abandoned.into_iter().filter(|id| waiting.contains(id)) {
            self.core.engine_mut().forget_request(id);
            self.delivery.forget(id);
        }
    }

    pub(super) fn publish_status(&mut self) {
        self.panics.publish_bans(&mut self.core, &self.env);
        if let Some(busiest) = self.core.busiest(self.env.clock.now()) {
            self.env.status.set_busiest(busiest);
        }
        self.publish_gauges();
        let leads = self.core.is_leader();
        let to_move = leads.then(|| self.core.engine_mut().slots_to_move());
        let engine = self.core.engine();
        let led = leads.then_some(&engine.state);
        self.delivery.work.look(led);
        let status = &self.env.status;
        let set = |to: &AtomicUsize, value: usize| to.store(value, Ordering::Relaxed);
        let state = &engine.state;
        set(&status.live_element_instances, state.elements.table.len());
        set(&status.open_incidents, state.incidents.table.len());
        set(&status.buffered_messages, state.messages.len());
        set(&status.jobs.waiting, state.jobs.activatable_count());
        set(&status.jobs.activated, state.jobs.activated_count());
        set(&status.state_bytes, state.resident_bytes());
        let Scaling {
            desired,
            whole,
            relocated,
            slots_to_move,
            correlation_rows,
        } = &status.scaling;
        set(slots_to_move, to_move.unwrap_or_default());
        set(correlation_rows, state.correlation_rows());
        relocated.store(engine.relocated_at().unwrap_or(0), Ordering::Relaxed);
        desired.store(state.scaling.get().desired, Ordering::Relaxed);
        whole.store(engine.scaled_up_to(), Ordering::Relaxed);
        let pinned = state.pinned_clock().unwrap_or(i64::MIN);
        status.pinned_clock.store(pinned, Ordering::Relaxed);
        let set = |to: &AtomicU64, value: u64| to.store(value, Ordering::Relaxed);
        set(&status.processed_position, engine.next_position() - 1);
        let committed = self.core.committed_position();
        set(&status.committed_position, committed);
        set(&status.log_index, self.core.group().last_index());
    }

    fn publish_gauges(&mut self) {
        let set = |to: &Gauge, value: u64| {
            to.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        let (group, applied) = (self.core.group(), self.core.applied());
        let last = group.last_index();
        let metrics = &self.env.metrics;
        self.replica.cpu.count(&metrics.cpu);
        set(&metrics.inflight_appends, self.core.inflight() as u64);
        set(&metrics.append_limit, MAX_INFLIGHT_ENTRIES as u64);
        set(&metrics.append_index, last);
        set(&metrics.commit_index, applied);
        set(&metrics.uncommitted_entries, last.saturating_sub(applied));
        self.replica.metrics.lack(group.lacking());
        let counted = metrics.replayed.inner();
        counted.store(self.core.replayed(), Ordering::Relaxed);
    }

    pub(super) fn idle_time(&self) -> Duration {
        let now = Instant::now();
        let group = self.core.group();
        // A single member has no one to send heartbeats to, and nothing to elect. A hibernating one has time.
        let ticks = !(self.core.is_leader() && group.is_alone() || group.hibernates());
        let mut wait = self.timetable.idle_time(ticks, now);
        let can_process = self.can_process();
        // Work that cannot be processed now is woken by whatever makes it possible: a written log, an operator.
        let runs = can_process && !self.replica.hand_over.is_stopping();
        if let Some(due) = self.timetable.due_at().filter(|_| runs) {
            let now = self.env.clock.now();
            let millis = u64::try_from(due.saturating_sub(now)).unwrap_or(0);
            wait = wait.min(Duration::from_millis(millis));
        }
        if can_process && (self.intake.waiting() > 0 || self.has_work()) {
            return Duration::ZERO;
        }
        if let Some(left) = self.standstill.left(now) {
            wait = wait.min(left);
        }
        wait
    }
}
