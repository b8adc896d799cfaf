//! The thread that owns a partition. Nothing else touches its engine and its replica, and nothing blocks it while there is work to do: the
//! log writer thread and short-lived checkpoint threads write the files. The only exception is a small batch with nothing behind it, which
//! this thread writes and flushes itself.

mod backing_up;
mod cpu;
#[cfg(test)]
mod deposed_tests;
mod evaluate;
mod exporting;
mod log;
mod open;
mod panic_place;
mod panics;
#[cfg(test)]
mod replay_tests;
mod replica;
mod schedule;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_service::PartitionRole;

use super::core::{BATCH_BYTES, CoreError, PartitionCore, Polled};
use super::message::{Message, Notice, Report, Work};
use super::parts::checkpointer::Checkpointer;
use super::parts::choosing::{Around, Choosing};
use super::parts::delivery::Delivery;
use super::parts::effect_sink::Effect;
use super::parts::environment::Environment;
use super::parts::exporters::Exporters;
use super::parts::hand_over::HandOver;
use super::parts::intake::Intake;
use super::parts::log_pipe::LogPipe;
use super::parts::panics::Panics;
use super::parts::snapshot_receiver::SnapshotReceiver;
use super::parts::standstill::Standstill;
use super::parts::timetable::Timetable;
use super::replica_metrics::ReplicaMetrics;
use super::secondary::Secondary;
use crate::metrics::nanos;

pub use self::backing_up::Base;
use self::cpu::CpuTime;
use self::exporting::is_for_exporters;
pub(crate) use self::open::engine_config;
pub(crate) use self::open::{Counters, start};
pub use self::open::{HEARTBEAT_TICKS, HIBERNATE_AFTER_TICKS, STACK_BYTES};

/// Maximum number of commands taken out of the inbox for one batch.
const MAX_BATCH_COMMANDS: usize = 256;
/// Time after which no further command is taken, so that durable appends, ticks and answers get their turn.
const TURN: Duration = Duration::from_millis(2);

pub struct Partition {
    env: Environment,
    core: PartitionCore,
    intake: Intake,
    log: LogPipe,
    checkpointer: Checkpointer,
    delivery: Delivery,
    timetable: Timetable,
    exporters: Exporters,
    choosing: Choosing,
    panics: Panics,
    standstill: Standstill,
    replica: Replica,
}

/// The partition as one of several replicas.
struct Replica {
    hand_over: HandOver,
    snapshots: SnapshotReceiver,
    metrics: ReplicaMetrics,
    cpu: CpuTime,
}

impl Partition {
    fn run(mut self: Box<Self>) {
        let partition = self.env.partition();
        tracing::info!(partition, "partition starts");
        let group = self.core.group();
        let status = &self.env.status;
        status.is_member(group.config().node, group.members());
        if matches!(self.exporters.secondary().get(), Secondary::Fetching) {
            self.exporters.fetch_secondary(group, &self.env);
        }
        // A bug must not leave a partition that looks alive: clients would wait in vain.
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.work()));
        let outcome = match worked {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(
                "the partition's thread panicked; this is a bug, see the log of the node"
                    .to_string(),
            ),
        };
        match outcome {
            Ok(()) => self.close(),
            Err(reason) => {
                tracing::error!(code = "PARTITION_STOPPED", partition, %reason, "partition stops");
                self.env.status.fail(reason);
                self.delivery.wake();
                // Other replicas need not wait until they notice its absence.
                self.env.effect_sink.send(Effect::RoleChanged);
                let why = "the partition has stopped because of an error";
                self.delivery.abort_all(why, &self.env);
            }
        }
    }

    fn work(&mut self) -> Result<(), CoreError> {
        let mut polled = Polled::default();
        loop {
            self.drive(&mut polled)?;
            self.go_on_handing_over();
            self.recover_from_panic()?;
            if self.has_ended() {
                return Ok(());
            }
            self.take_messages()?;
            self.run_scheduled()?;
            self.run_work()?;
            if self.can_process() {
                self.thaw()?;
            }
            self.propose()?;
        }
    }

    /// Whether everything that must be done before the thread ends is done.
    fn has_ended(&self) -> bool {
        let status = &self.env.status;
        // Work that a full disk blocks was not acknowledged; a stop does not wait for somebody to free space.
        let stalled = status.stalled.load(Ordering::Relaxed);
        let written = self.log.is_idle() || stalled;
        let storing = self.checkpointer.is_storing();
        let stored = self.checkpointer.is_idle() || !storing && stalled;
        let is_stopped =
            self.replica.hand_over.is_stopping() && written && stored && self.is_handed_over();
        // Only threads that write files are waited for.
        is_stopped || status.abandoned.load(Ordering::Acquire) && !storing
    }

    /// Takes what has arrived; waits when there is nothing to do. Reports lead to answers, which are sent before anything else is
    /// evaluated.
    fn take_messages(&mut self) -> Result<(), CoreError> {
        let mut reported = false;
        while let Some(report) = self.intake.report() {
            self.heed(report)?;
            reported = true;
        }
        if reported {
            self.timetable.checks().works();
            return Ok(());
        }
        let started = Instant::now();
        let mut taken = 0;
        while self.can_process() && !self.turn_is_over(started, taken) {
            match self.intake.next_waiting() {
                Some(work) => self.evaluate(work)?,
                None => break,
            }
            taken += 1;
        }
        if taken == 0
            && let Some(first) = self.intake.wait(self.idle_time())
        {
            self.handle(first)?;
            taken += 1;
        }
        if taken > 0 {
            self.timetable.checks().works();
        }
        // The time of a turn does not include the wait for its first message.
        let started = if taken == 1 { Instant::now() } else { started };
        while !self.turn_is_over(started, taken)
            && let Some(message) = self.intake.message()
        {
            self.handle(message)?;
            taken += 1;
        }
        Ok(())
    }

    fn turn_is_over(&self, started: Instant, taken: usize) -> bool {
        taken >= MAX_BATCH_COMMANDS
            || self.core.engine().batch_size() >= BATCH_BYTES
            || self.intake.has_report()
            || started.elapsed() >= TURN
    }

    /// Whether the state is ready for work, however much is in flight.
    fn can_evaluate(&self) -> bool {
        self.core.is_leader() && !self.core.is_stale()
    }

    fn can_process(&self) -> bool {
        self.core.has_room()
            && !self.replica.hand_over.is_under_way()
            && !self.stands_still()
            && !self.env.status.processing_paused.load(Ordering::Relaxed)
            && self.core.engine().batch_size() < BATCH_BYTES
    }

    fn handle(&mut self, message: Message) -> Result<(), CoreError> {
        match message {
            Message::Report(report) => self.heed(report)?,
            Message::Notice(notice) => self.note(notice),
            Message::Work(work) if self.follows() => self.turn_away(work),
            Message::Work(work) => {
                // Order is kept: nothing overtakes work that waits for room. Exporting continues while processing is paused.
                let is_next = self.intake.waiting() == 0 && self.can_process();
                if is_next || is_for_exporters(&work) && self.can_evaluate() {
                    self.evaluate(work)?;
                } else {
                    self.intake.waits(work);
                }
            }
        }
        Ok(())
    }

    fn heed(&mut self, report: Report) -> Result<(), CoreError> {
        match report {
            Report::Log(report) => self.log_report(report)?,
            Report::CheckpointDone { number, result } => {
                let parts = (&mut self.core, &mut self.exporters, &mut self.log);
                let (env, now) = (&self.env, Instant::now());
                self.checkpointer.done((number, result), parts, env, now);
                if let Some(arrival) = self.replica.snapshots.take_waiting() {
                    self.snapshot_built(arrival)?;
                }
            }
            Report::TakeSnapshot(waiter) => {
                self.checkpointer.waits(waiter);
                self.propose()?;
                self.capture_checkpoint();
            }
            Report::Replica {
                from,
                message,
                inbox_permit,
            } => {
                drop(inbox_permit);
                self.replica.metrics.receives(&message);
                self.core.group_mut().receive(from, message);
            }
            Report::NodeSilent { node, since } => self.note_silent(node, since),
            Report::Gone { node } => self.is_gone(node),
            Report::SnapshotTaken(part) => self.core.group_mut().snapshot_taken(part),
            Report::SnapshotBuilt { arrival } => self.snapshot_built(arrival)?,
            Report::HandOver(to) => self.hand_over_to(&to),
            Report::DescribeCopy(asker) => drop(asker.send(self.survives())),
            Report::DescribeWork(asker) => self.describe_work(asker),
            Report::DescribeBase(asker) => drop(asker.send(self.base())),
            Report::KeepLog {
                behind,
                required,
                asker,
            } => drop(asker.send(self.keep_log(behind, required))),
            Report::StandStill(asker) => drop(asker.send(self.stand_still()?)),
            Report::GoOn(asker) => drop(asker.send(self.goes_on())),
            Report::Wake => self.timetable.checks().hurry(Instant::now()),
            Report::Stop => {
                self.replica.hand_over.stops();
                self.report_exported(true)?;
                self.propose()?;
                self.capture_checkpoint();
                self.hand_over();
            }
        }
        Ok(())
    }

    fn note(&mut self, notice: Notice) {
        match notice {
            Notice::StreamOpened(stream) => {
                let job_type = stream.spec.job_type.clone();
                self.delivery.streams.open(stream);
                self.intake.waits(Work::StreamHasRoom(job_type));
            }
            Notice::StreamClosed(id) => self.delivery.streams.close(id),
            Notice::Routing(routing) => {
                self.env.engine_config.routing = Arc::clone(&routing);
                self.core.engine_mut().set_routing(routing);
                self.timetable.checks().hurry(Instant::now());
            }
            Notice::StoreArrived(_) if self.replica.hand_over.is_stopping() => {}
            Notice::StoreArrived(Ok(())) => {
                self.exporters.store_arrived(self.core.group(), &self.env);
            }
            Notice::StoreArrived(Err(error)) => self.exporters.store_failed(&error),
            Notice::ChangeMembers { change, plan } => self.change_members(change, plan),
        }
    }

    /// Captures a checkpoint, which is stored once its entry is committed.
    fn capture_checkpoint(&mut self) {
        let started = Instant::now();
        if self.replica.snapshots.is_ready() || !self.checkpointer.capture(&mut self.core, started)
        {
            return;
        }
        let took = started.elapsed();
        tracing::debug!(
            partition = self.env.partition(),
            rows = self.checkpointer.captured_rows(),
            ?took,
            "checkpoint captured"
        );
        self.env.metrics.capture.observe(nanos(took));
        self.store_checkpoint();
    }

    fn store_checkpoint(&mut self) {
        // The snapshot takes the place of all that would be stored.
        if self.replica.snapshots.is_ready() {
            return;
        }
        let (applied, env) = (self.core.applied(), &self.env);
        if let Err(reason) = self.checkpointer.store(applied, env) {
            self.checkpointer.failed(reason, env, Instant::now());
        }
    }

    /// The environment for searching the items of batch operations.
    fn choosing(&mut self) -> (&mut Choosing, Around<'_>) {
        let around = Around {
            now: Instant::now(),
            core: &mut self.core,
            secondary: self.exporters.secondary(),
            env: &self.env,
        };
        (&mut self.choosing, around)
    }

    fn close(mut self: Box<Self>) {
        let partition = self.env.partition();
        self.delivery.abort_all("the node shuts down", &self.env);
        self.env.status.set_role(PartitionRole::Inactive);
        if let Err(error) = self.log.close() {
            tracing::error!(code = "PARTITION_STOPPED", partition, %error, "the log was not closed cleanly");
        }
        tracing::info!(partition, "partition stopped");
    }
}
