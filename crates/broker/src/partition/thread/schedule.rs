//! What time brings: timers and time-outs that are due, ticks of the replica, and what is looked after now and then.

use super::*;

/// Bytes in flight beyond which put-off work waits.
const MAX_WORK_INFLIGHT: usize = 2 << 20;
/// Between two checkpoints that are made because rows fill the memory.
const CROWDED_PAUSE: Duration = Duration::from_secs(5);

/// Changed rows may fill this part of the memory for rows, then a checkpoint is taken.
const DIRTY_PART: usize = 8;

impl Partition {
    /// Timers, time-outs and the replica's ticks.
    pub(super) fn run_scheduled(&mut self) -> Result<(), CoreError> {
        let now = Instant::now();
        let hibernates = self.core.group().hibernates();
        if now >= self.next_tick && !hibernates {
            self.next_tick = now + self.config.tick();
            self.core.group_mut().tick();
            self.hibernate_while_all_are_heard();
            self.replica_metrics.tick(!self.core.is_leader());
            self.replica_metrics.pauses(self.handing_over.is_some());
        }
        let check = self.checks.is_due(now);
        if check && self.follows() {
            let idle = self.may_idle();
            self.checks.begins(now, idle);
            self.publish_status();
            // Operators tell all replicas of a store what they tell one.
            self.follow_exporting();
            self.mend_secondary();
            self.spare_snapshot();
            self.checkpoint_if_due()?;
        }
        if !self.core.is_leader() || self.core.is_void() || self.stopping {
            return Ok(());
        }
        let time = self.clock.now();
        if check {
            let idle = self.may_idle();
            self.checks.begins(now, idle);
            self.look_after()?;
        }
        let due = check || self.due_at.is_some_and(|due| due <= time);
        if due && self.can_process() {
            if !check {
                self.checks.works();
            }
            let pressure = self.under_pressure();
            self.work.accepted(Context::Scheduled);
            let due = self.guarded(None, |core, streams| core.run_due(time, pressure, streams))?;
            self.due_at = match due {
                Some(due) if !due.more => due.next,
                _ => Some(time),
            };
            // What the pressure has put off stays due, and must not be looked at in every turn.
            self.rest_until = match self.due_at {
                Some(due_at) if pressure => due_at,
                _ => i64::MIN,
            };
        } else {
            // A command may have made something due, perhaps at once.
            let next = self.core.engine().next_due();
            self.due_at = next.map(|next| next.max(self.rest_until));
        }
        Ok(())
    }

    /// One turn of work that went over the budget of its command.
    pub(super) fn run_work(&mut self) -> Result<(), CoreError> {
        if self.has_work() && self.can_process() {
            self.checks.works();
            let time = self.clock.now();
            self.work.accepted(Context::Internal);
            self.guarded(None, |core, streams| core.run_work(time, streams))?;
        }
        Ok(())
    }

    /// Work that earlier commands have left. A partition that stops leaves it to its next start, and while much is on its way
    /// to the disk it waits: answers to others stand behind it in the log.
    pub(super) fn has_work(&self) -> bool {
        self.core.is_leader()
            && !self.core.is_void()
            && !self.stopping
            && self.core.engine().has_work()
            && self.core.group().uncommitted_bytes() < MAX_WORK_INFLIGHT
            && !self.is_overfull()
    }

    /// Rows fill half as much again as they may, and a checkpoint can make room: put-off work, which can make rows without
    /// end, waits for it.
    fn is_overfull(&self) -> bool {
        let share = self.memory_share();
        let unsaved = self.core.applied() > self.status.checkpoint_index.load(Ordering::Relaxed);
        self.core.engine().state.resident_bytes() > share + share / 2
            && (unsaved || self.checkpoint.is_some())
    }

    /// More work than the limit allows, or a backlog: time-outs would add copies of work in progress.
    pub(super) fn under_pressure(&self) -> bool {
        self.backlog.len() > MAX_BATCH_COMMANDS
            || self.status.limit.inflight() >= self.status.limit.limit()
    }

    /// If nothing is to be looked after before there is a message or something is due: how long that may last at most.
    fn may_idle(&self) -> Option<Duration> {
        let group = self.core.group();
        let engine = self.core.engine();
        let entry = self.core.applied();
        let hibernates = group.hibernates() || self.core.is_leader() && group.is_alone();
        let nothing_waits = self.backlog.is_empty()
            && self.requests.is_empty()
            && self.inflight.is_empty()
            && self.checkpoint.is_none()
            && self.handing_over.is_none()
            && !self.core.is_void();
        let leads = self.core.is_leader();
        // Of a limit the router hears what is looked after here.
        let has_no_work = !leads
            || !self.has_work()
                && !engine.awaits_answers()
                && engine.state.batch_operations.to_choose().next().is_none()
                && self.status.writes.limit().is_none()
                && self.core.has_named_busiest()
                && self.exporters.are_done(&engine.state, entry);
        if !hibernates || !nothing_waits || !has_no_work {
            return None;
        }
        let saved = self.status.checkpoint_index.load(Ordering::Relaxed);
        let until_checkpoint = self
            .config
            .snapshot_period
            .saturating_sub(self.last_checkpoint.elapsed());
        Some(if entry > saved {
            until_checkpoint
        } else {
            Duration::MAX
        })
    }

    /// Once per check interval.
    pub(super) fn look_after(&mut self) -> Result<(), CoreError> {
        self.forget_abandoned();
        self.publish_status();
        self.look_after_choosing();
        self.follow_exporting();
        self.mend_secondary();
        self.report_exported(false)?;
        self.adjust_writes();
        self.checkpoint_if_due()
    }

    fn checkpoint_if_due(&mut self) -> Result<(), CoreError> {
        // Only rows that are in the store can leave the memory.
        let resident = self.core.engine().state.resident_bytes();
        let crowded = resident > self.memory_share()
            && (self.last_checkpoint.elapsed() >= CROWDED_PAUSE || self.is_overfull());
        // What is on its way to the store takes memory too: many small checkpoints take less than a large one.
        let heavy = self.core.engine().state.dirty_bytes() > self.memory_share() / DIRTY_PART;
        let due = crowded
            || heavy
            || self.last_checkpoint.elapsed() >= self.config.snapshot_period
            || self.log_bytes_since_checkpoint >= self.config.snapshot_log_bytes;
        if due && self.core.applied() > self.status.checkpoint_index.load(Ordering::Relaxed) {
            // What exporters have done need not be kept behind it.
            if self.can_evaluate() {
                self.report_exported(true)?;
                self.propose()?;
            }
            self.capture_checkpoint();
        }
        Ok(())
    }

    /// Bytes of rows that this partition may keep in memory.
    pub(super) fn memory_share(&self) -> usize {
        self.config.state_memory_bytes / self.engine_config.routing.count() as usize
    }

    /// A client's command whose client has gone away before its turn came: it is not carried out.
    pub(super) fn abandoned(&self) {
        self.status.limit.release();
        self.metrics.abandoned.inc();
    }

    /// Clients that went away: what they sent and was not begun leaves the queue, and so do those that waited for an instance,
    /// a distribution or a correlation. Of what was begun only those: an answer
    /// that is on its way to be committed needs its slot, or its jobs would be lost and its id answer somebody else.
    pub(super) fn forget_abandoned(&mut self) {
        let before = self.backlog.len();
        self.backlog.retain(|work| !work.is_abandoned());
        for _ in self.backlog.len()..before {
            self.abandoned();
        }
        let abandoned = self.requests.abandoned();
        if abandoned.is_empty() {
            return;
        }
        let waiting = self.core.engine().waiting_requests();
        for id in abandoned.into_iter().filter(|id| waiting.contains(id)) {
            self.core.engine_mut().forget_request(id);
            let forgotten = self.requests.remove(id);
            if forgotten.is_some_and(|waiting| waiting.counted) {
                self.status.limit.release();
            }
        }
    }

    fn publish_bans(&mut self) {
        let banned = &mut self.core.engine_mut().state.banned;
        if self.shown_bans.replace(banned.revision()) != Some(banned.revision()) {
            let listed = banned.list(MAX_LISTED_BANS);
            self.status.set_banned(banned.len(), listed);
        }
    }

    pub(super) fn publish_status(&mut self) {
        self.publish_bans();
        if let Some(busiest) = self.core.busiest(self.clock.now()) {
            self.status.set_busiest(busiest);
        }
        let gauge = |to: &Gauge, value: u64| {
            to.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        let metrics = &self.metrics;
        gauge(&metrics.inflight_appends, self.core.inflight() as u64);
        gauge(&metrics.append_limit, MAX_INFLIGHT_ENTRIES as u64);
        gauge(&metrics.append_index, self.core.group().last_index());
        gauge(&metrics.commit_index, self.core.applied());
        let last = self.core.group().last_index();
        let uncommitted = last.saturating_sub(self.core.applied());
        gauge(&metrics.uncommitted_entries, uncommitted);
        self.replica_metrics.lack(self.core.group().lacking());
        let counted = metrics.replayed.inner();
        counted.store(self.core.replayed(), Ordering::Relaxed);
        let engine = self.core.engine();
        let led = self.core.is_leader().then_some(&engine.state);
        self.work.look(led);
        let status = &self.status;
        let set =
            |to: &std::sync::atomic::AtomicUsize, value: usize| to.store(value, Ordering::Relaxed);
        set(
            &status.live_element_instances,
            engine.state.elements.table.len(),
        );
        set(&status.open_incidents, engine.state.incidents.table.len());
        set(&status.buffered_messages, engine.state.messages.len());
        set(&status.waiting_jobs, engine.state.jobs.activatable_count());
        set(&status.activated_jobs, engine.state.jobs.activated_count());
        set(&status.state_bytes, engine.state.resident_bytes());
        let pinned = engine.state.pinned_clock();
        status
            .pinned_clock
            .store(pinned.unwrap_or(i64::MIN), Ordering::Relaxed);
        status
            .processed_position
            .store(engine.next_position() - 1, Ordering::Relaxed);
        status
            .committed_position
            .store(self.core.committed_position(), Ordering::Relaxed);
        status
            .log_index
            .store(self.core.group().last_index(), Ordering::Relaxed);
    }

    pub(super) fn idle_time(&self) -> Duration {
        let now = Instant::now();
        let group = self.core.group();
        // A single member has no one to send heartbeats to, and nothing to elect. One that hibernates has time.
        let tick = if self.core.is_leader() && group.is_alone() || group.hibernates() {
            self.checks.next()
        } else {
            self.next_tick
        };
        let mut wait = tick.min(self.checks.next()).saturating_duration_since(now);
        // What cannot be processed now is woken by what makes it possible: a written log, an operator.
        if let Some(due) = self.due_at.filter(|_| self.can_process() && !self.stopping) {
            let millis = u64::try_from(due.saturating_sub(self.clock.now())).unwrap_or(0);
            wait = wait.min(Duration::from_millis(millis));
        }
        if (!self.backlog.is_empty() || self.has_work()) && self.can_process() {
            return Duration::ZERO;
        }
        wait
    }
}
