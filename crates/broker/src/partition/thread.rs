//! The thread that owns a partition. Nothing else touches its engine and its replica, and nothing blocks it: files are
//! written by the log's writer thread and by short-lived checkpoint threads.

mod checkpoints;
mod open;
mod panics;
mod release;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use parking_lot::Mutex;
use skep_engine::state::State;
use skep_engine::{Engine, EngineConfig, RemoteCommand, RequestId, StreamId, header_of};
use skep_metrics::Gauge;
use skep_protocol::command::{Command, Request};
use skep_protocol::service::{Answer, PartitionRole, Responder, Timings};
use skep_protocol::{Failure, Key, Response};
use skep_replication::{Group, GroupConfig, RecoveredLog};
use skep_storage::StorageError;
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::kv::{FjallConfig, FjallKv, KvStore};
use skep_storage::log::{
    AppendTimes, EntryId, Log, LogConfig, LogReader, LogWriter, Report, WriterConfig,
};

use super::checkpoint::{Capture, CheckpointMeta, PendingRows, StoredRows};
use super::core::{BATCH_BYTES, CoreError, MAX_INFLIGHT_ENTRIES, PartitionCore, Polled};
use super::requests::{Requests, Waiting};
use super::status::PartitionStatus;
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::flow_control::RequestLimit;
use crate::job_streams::{Stream, StreamRegistry};
use crate::metrics::{Context, PartitionMetrics, WorkCounter, nanos};

use self::open::open_engine;
pub use self::open::start;
use self::panics::Panics;

/// Commands taken out of the inbox for one batch.
const MAX_BATCH_COMMANDS: usize = 256;
/// Jobs pushed in one go when a stream has room again.
const PUSH_BURST: usize = 64;
/// Replica ticks; an election takes 20 of them.
const TICK: Duration = Duration::from_millis(100);

/// What a partition thread can be told.
#[derive(Debug)]
pub enum Message {
    Request {
        request: Request,
        responder: Responder,
        received: Instant,
        route: Duration,
    },
    Remote(RemoteCommand),
    /// A pushed job that was not delivered.
    Yield {
        key: Key,
        deadline: i64,
    },
    StreamOpened(Arc<Stream>),
    StreamClosed(StreamId),
    /// A stream of this job type has credit again.
    StreamHasRoom(Arc<str>),
    Log(Report),
    CheckpointDone {
        /// Which capture it was.
        number: u64,
        result: Result<CheckpointMeta, String>,
    },
    /// Make a checkpoint now; the sender hears when it is done.
    TakeSnapshot(Option<Sender<Result<(), String>>>),
    /// Look again: processing goes on, or the clock was moved.
    Wake,
    Stop,
}

/// The sending half of a partition's inbox.
///
/// It has no bound of its own: client commands are bounded by the request limit before they get here, finishing commands by
/// the number of requests that the gateways hold at a time, and the rest is the partition's own work.
#[derive(Clone, Debug)]
pub struct Inbox(Sender<Message>);

impl Inbox {
    pub fn send(&self, message: Message) {
        // A stopped partition drops its messages; dropped responders tell their clients.
        let _ = self.0.send(message);
    }
}

#[derive(Debug)]
pub struct PartitionHandle {
    pub inbox: Inbox,
    pub status: Arc<PartitionStatus>,
    pub metrics: Arc<PartitionMetrics>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl PartitionHandle {
    /// A partition that could not start: it takes nothing and says why.
    pub fn failed(
        config: &BrokerConfig,
        partition: u32,
        metrics: Arc<PartitionMetrics>,
        reason: String,
    ) -> Arc<PartitionHandle> {
        let limit = RequestLimit::new(&config.flow_control);
        let status = Arc::new(PartitionStatus::new(partition, limit));
        status.fail(reason);
        Arc::new(PartitionHandle {
            inbox: Inbox(unbounded().0),
            status,
            metrics,
            thread: Mutex::new(None),
        })
    }

    /// Ends the thread after a last checkpoint.
    pub fn stop(&self) {
        self.inbox.send(Message::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("partition {partition} cannot start: {source}")]
    Storage {
        partition: u32,
        source: StorageError,
    },
    #[error("partition {partition} cannot start: {source}")]
    Core { partition: u32, source: CoreError },
    #[error("partition {partition} cannot start: {source}")]
    Io {
        partition: u32,
        source: std::io::Error,
    },
}

/// Where the effects of a partition go besides clients and streams.
pub trait Outlet: Send + Sync {
    fn send_remote(&self, partition: u32, command: RemoteCommand);
    /// Jobs of this type wait and no stream took them.
    fn jobs_available(&self, job_type: &Arc<str>);
}

struct Inflight {
    index: u64,
    /// Number of the append that carries it; 0 until it is known.
    append: u64,
    proposed: Instant,
    written: Option<(Instant, AppendTimes)>,
    commands: usize,
}

struct CapturedCheckpoint {
    number: u64,
    meta: CheckpointMeta,
    started: Instant,
    /// The thread that stores it, once its entry is committed.
    storing: Option<std::thread::JoinHandle<()>>,
}

pub struct Partition {
    config: BrokerConfig,
    engine_config: EngineConfig,
    core: PartitionCore,
    writer: Option<LogWriter>,
    log_reader: LogReader,
    kv: Arc<Mutex<FjallKv>>,
    pending_rows: PendingRows,
    inbox: Receiver<Message>,
    own_inbox: Inbox,
    backlog: VecDeque<Message>,
    streams: StreamRegistry,
    requests: Requests,
    inflight: VecDeque<Inflight>,
    last_append: u64,
    status: Arc<PartitionStatus>,
    metrics: Arc<PartitionMetrics>,
    work: WorkCounter,
    outlet: Arc<dyn Outlet>,
    clock: Arc<Clock>,
    commands_in_batch: usize,
    batch_started: Option<Instant>,
    opened: Instant,
    /// When the log was told to compact itself.
    compacting: Option<Instant>,
    checkpoint: Option<CapturedCheckpoint>,
    captures: u64,
    checkpoint_waiters: Vec<Sender<Result<(), String>>>,
    last_checkpoint: Instant,
    log_bytes_since_checkpoint: u64,
    next_tick: Instant,
    next_check: Instant,
    due_at: Option<i64>,
    /// Nothing is due before: the partition is under pressure.
    rest_until: i64,
    wakers: Vec<std::task::Waker>,
    panics: Panics,
    stopping: bool,
}

impl Partition {
    fn run(mut self) {
        tracing::info!(partition = self.status.partition, "partition starts");
        // A bug must not leave a partition that looks alive: clients would wait for nothing.
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
                tracing::error!(partition = self.status.partition, %reason, "partition stops");
                self.status.fail(reason);
                self.abort_all("the partition has stopped because of an error");
            }
        }
    }

    fn work(&mut self) -> Result<(), CoreError> {
        let mut polled = Polled::default();
        loop {
            self.drive(&mut polled)?;
            self.recover_from_panic()?;
            // What a full disk holds up was not acknowledged; a stop does not wait for somebody to make room.
            let written = self.inflight.is_empty() || self.status.stalled.load(Ordering::Relaxed);
            let waits_for_log = self
                .checkpoint
                .as_ref()
                .is_some_and(|c| c.storing.is_none());
            let stored = self.checkpoint.is_none()
                || waits_for_log && self.status.stalled.load(Ordering::Relaxed);
            if self.stopping && written && stored {
                return Ok(());
            }
            self.take_messages()?;
            self.run_scheduled()?;
            self.propose()?;
        }
    }

    /// Takes what has arrived; waits when there is nothing to do.
    fn take_messages(&mut self) -> Result<(), CoreError> {
        let mut taken = 0;
        while self.can_process() && taken < MAX_BATCH_COMMANDS {
            match self.backlog.pop_front() {
                Some(message) => self.evaluate(message)?,
                None => break,
            }
            taken += 1;
        }
        let idle = taken == 0;
        let first = if idle {
            match self.inbox.recv_timeout(self.idle_time()) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.stopping = true;
                    None
                }
            }
        } else {
            self.inbox.try_recv().ok()
        };
        let mut next = first;
        while let Some(message) = next {
            self.handle(message, &mut taken)?;
            if taken >= MAX_BATCH_COMMANDS || self.core.engine().batch_size() >= BATCH_BYTES {
                break;
            }
            next = self.inbox.try_recv().ok();
        }
        Ok(())
    }

    fn can_process(&self) -> bool {
        self.core.has_room()
            && !self.status.processing_paused.load(Ordering::Relaxed)
            && self.core.engine().batch_size() < BATCH_BYTES
    }

    fn handle(&mut self, message: Message, taken: &mut usize) -> Result<(), CoreError> {
        match message {
            Message::Log(report) => self.log_report(report)?,
            Message::StreamOpened(stream) => {
                let job_type = stream.spec.job_type.clone();
                self.streams.open(stream);
                self.backlog.push_back(Message::StreamHasRoom(job_type));
            }
            Message::StreamClosed(id) => self.streams.close(id),
            Message::CheckpointDone { number, result } => self.checkpoint_done(number, result),
            Message::TakeSnapshot(waiter) => {
                self.checkpoint_waiters.extend(waiter);
                self.propose()?;
                self.capture_checkpoint();
            }
            Message::Wake => self.next_check = Instant::now(),
            Message::Stop => {
                self.stopping = true;
                self.propose()?;
                self.capture_checkpoint();
            }
            work => {
                // Order is kept: nothing overtakes what waits for room.
                if self.backlog.is_empty() && self.can_process() {
                    *taken += 1;
                    self.evaluate(work)?;
                } else {
                    self.backlog.push_back(work);
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, message: Message) -> Result<(), CoreError> {
        let now = self.clock.now();
        match message {
            Message::Request {
                request,
                responder,
                received,
                route,
            } => {
                let started = Instant::now();
                self.batch_started.get_or_insert(started);
                let id = self.requests.insert(Waiting {
                    responder,
                    received,
                    route,
                    inbox_wait: started.saturating_duration_since(received),
                    evaluation: Duration::ZERO,
                    counted: true,
                });
                let processed = self.guarded(Some(id), |core, streams| {
                    #[cfg(test)]
                    panics::tests::may_panic(&request.command);
                    core.process(now, Some(id), &request, streams);
                })?;
                if processed.is_none() {
                    return Ok(());
                }
                let evaluation = started.elapsed();
                if let Some(waiting) = self.requests.get_mut(id) {
                    waiting.evaluation = evaluation;
                }
                let (_, value_type, intent) = header_of(&request.command);
                self.work.accepted(Context::UserCommand);
                self.work.evaluated(value_type, intent, evaluation);
                let wait = started.saturating_duration_since(received);
                self.metrics.inbox_wait.observe(nanos(wait));
                self.after_command(id, &request.command)?;
            }
            Message::Remote(command) => {
                self.work.accepted(Context::InterPartition);
                self.guarded(None, |core, streams| {
                    core.process_remote(now, &command, streams);
                })?;
            }
            Message::Yield { key, deadline } => {
                self.work.accepted(Context::Internal);
                self.guarded(None, |core, streams| {
                    core.yield_job(now, key, deadline, streams);
                })?;
            }
            Message::StreamHasRoom(job_type) => {
                let pushed = self.guarded(None, |core, streams| {
                    core.push_waiting_jobs(now, &job_type, PUSH_BURST, streams)
                })?;
                if pushed == Some(PUSH_BURST) {
                    self.backlog.push_back(Message::StreamHasRoom(job_type));
                }
            }
            _ => {}
        }
        self.commands_in_batch += 1;
        Ok(())
    }

    fn after_command(&mut self, id: RequestId, command: &Command) -> Result<(), CoreError> {
        match command {
            // The client may wait for days: it must not hold a place of the limit.
            Command::CreateProcessInstance(create) if create.await_result.is_some() => {
                if let Some(waiting) = self.requests.get_mut(id)
                    && std::mem::replace(&mut waiting.counted, false)
                {
                    self.status.limit.release();
                }
                Ok(())
            }
            // A batch has one time, and from here on it is another.
            Command::PinClock { .. } | Command::ResetClock => {
                self.publish_status();
                self.propose()
            }
            _ => Ok(()),
        }
    }

    /// Timers, time-outs and the replica's ticks.
    fn run_scheduled(&mut self) -> Result<(), CoreError> {
        let now = Instant::now();
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.core.group_mut().tick();
        }
        if !self.core.is_leader() || self.core.is_void() || self.stopping {
            return Ok(());
        }
        let time = self.clock.now();
        let check = now >= self.next_check;
        if check {
            self.next_check = now + self.config.check_interval;
            self.look_after();
        }
        let due = check || self.due_at.is_some_and(|due| due <= time);
        if due && self.can_process() {
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

    /// More work than the limit allows, or a backlog: time-outs would add copies of work in progress.
    fn under_pressure(&self) -> bool {
        self.backlog.len() > MAX_BATCH_COMMANDS
            || self.status.limit.inflight() >= self.status.limit.limit()
    }

    /// Once per check interval.
    fn look_after(&mut self) {
        self.forget_abandoned();
        self.publish_status();
        let due = self.last_checkpoint.elapsed() >= self.config.snapshot_period
            || self.log_bytes_since_checkpoint >= self.config.snapshot_log_bytes;
        if due && self.core.applied() > self.status.checkpoint_index.load(Ordering::Relaxed) {
            self.capture_checkpoint();
        }
    }

    /// Clients that went away while they waited for an instance, a distribution or a correlation. Only those: an answer
    /// that is on its way to be committed needs its slot, or its jobs would be lost and its id answer somebody else.
    fn forget_abandoned(&mut self) {
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

    fn idle_time(&self) -> Duration {
        let now = Instant::now();
        // A single member has no one to send heartbeats to, and nothing to elect.
        let tick = if self.core.is_leader() && self.core.group().config().voters.len() == 1 {
            self.next_check
        } else {
            self.next_tick
        };
        let mut wait = tick.min(self.next_check).saturating_duration_since(now);
        // What cannot be processed now is woken by what makes it possible: a written log, an operator.
        if let Some(due) = self.due_at.filter(|_| self.can_process()) {
            let millis = u64::try_from(due.saturating_sub(self.clock.now())).unwrap_or(0);
            wait = wait.min(Duration::from_millis(millis));
        }
        if !self.backlog.is_empty() && self.can_process() {
            return Duration::ZERO;
        }
        wait
    }

    fn propose(&mut self) -> Result<(), CoreError> {
        let proposed = Instant::now();
        let records = self.core.engine().batch_len();
        let index = self.core.propose()?;
        if records > 0 {
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
    fn drive(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        loop {
            self.core.poll(polled)?;
            for append in polled.output.appends.drain(..) {
                self.last_append = append.number;
                self.metrics
                    .appended_entries
                    .inc_by(append.frames.len() as u64);
                if let Some(writer) = &self.writer {
                    // A writer that has stopped has reported why.
                    let _ = writer.append(append.number, append.frames);
                }
            }
            for batch in self.inflight.iter_mut().rev() {
                if batch.append != 0 {
                    break;
                }
                batch.append = self.last_append;
            }
            if polled.became_leader {
                self.status.set_role(PartitionRole::Leader);
                self.due_at = Some(0);
                self.metrics
                    .recovery
                    .set(self.opened.elapsed().as_secs_f64());
                tracing::info!(
                    partition = self.status.partition,
                    term = self.core.group().term(),
                    "leader"
                );
            }
            if polled.lost_leadership {
                self.status.set_role(PartitionRole::Follower);
                self.inflight.clear();
                self.rebuild("the node is no longer the leader of this partition")?;
            }
            for released in polled.released.drain(..) {
                self.release(released);
            }
            self.store_checkpoint();
            for waker in self.wakers.drain(..) {
                waker.wake();
            }
            if !polled.output.more {
                return Ok(());
            }
        }
    }

    fn log_report(&mut self, report: Report) -> Result<(), CoreError> {
        match report {
            Report::Written { number, times } => {
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
            Report::Stalled { error, .. } => {
                self.status.stalled.store(true, Ordering::Relaxed);
                tracing::error!(
                    partition = self.status.partition,
                    %error,
                    "the log cannot grow; new work is refused until there is room"
                );
            }
            Report::Compacted { index } => {
                if let Some(ordered) = self.compacting.take() {
                    self.metrics.compaction.observe(nanos(ordered.elapsed()));
                }
                tracing::debug!(partition = self.status.partition, index, "log compacted");
            }
            Report::Failed { error } => {
                let text = format!(
                    "the log cannot be written: {error}. Nothing that was not acknowledged before is acknowledged; \
                     mend the disk and start the node again"
                );
                return Err(CoreError::Store(skep_engine::state::StoreError(text)));
            }
        }
        Ok(())
    }

    fn publish_status(&mut self) {
        let gauge = |to: &Gauge, value: u64| {
            to.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        let metrics = &self.metrics;
        gauge(&metrics.inflight_appends, self.core.inflight() as u64);
        gauge(&metrics.append_limit, MAX_INFLIGHT_ENTRIES as u64);
        gauge(&metrics.append_index, self.core.group().last_index());
        gauge(&metrics.commit_index, self.core.applied());
        let uncommitted = self.core.group().last_index() - self.core.applied();
        gauge(&metrics.uncommitted_entries, uncommitted);
        let counted = metrics.replayed.inner();
        counted.store(self.core.replayed(), Ordering::Relaxed);
        let unfinished = self.core.engine().state.distributions.unfinished();
        self.work.look(unfinished.count());
        let engine = self.core.engine();
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
        let pinned = engine.state.counters.pinned_clock;
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

    fn close(mut self) {
        self.abort_all("the node shuts down");
        self.status.set_role(PartitionRole::Inactive);
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.stop()
        {
            tracing::error!(partition = self.status.partition, %error, "the log was not closed cleanly");
        }
        tracing::info!(partition = self.status.partition, "partition stopped");
    }
}
