//! The thread that owns a partition. Nothing else touches its engine and its replica, and nothing blocks it while there is
//! something to do: files are written by the log's writer thread and by short-lived checkpoint threads. Only a small batch
//! with nothing behind it is written and flushed here.

mod checkpoints;
mod checks;
mod choosing;
mod exporters;
mod inbox;
mod installing;
mod log;
mod message;
mod open;
mod pace;
mod panic_place;
mod panics;
mod refill;
mod release;
mod replica;
mod replica_metrics;
mod schedule;
mod secondary;
mod snapshot_receiver;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use skep_engine::state::{BatchPhase, State};
use skep_engine::{Engine, EngineConfig, Noted, RequestId, Sent, StreamId};
use skep_export::LogProgress;
use skep_metrics::Gauge;
use skep_protocol::command::{Command, Request};
use skep_protocol::value::ExportingValue;
use skep_protocol::{Failure, Key, Response, Routing, ValueType};
use skep_query::Query;
use skep_replication::{Change, Group, GroupConfig, LogEvidence, Members, RecoveredLog};
use skep_service::{Answer, PartitionRole, Timings, Wakes};
use skep_storage::StorageError;
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::kv::{FjallConfig, FjallKv, KvStore};
use skep_storage::log::{
    AppendTimes, EntryId, Log, LogConfig, LogReader, LogWriter, Report as LogReport, WriterConfig,
};

use super::checkpoint::{CheckpointMeta, StoredRows};
use super::core::{BATCH_BYTES, CoreError, MAX_INFLIGHT_ENTRIES, PartitionCore, Polled};
use super::pending_rows::PendingRows;
use super::requests::{Requests, Waiting};
use super::status::{MAX_LISTED_BANS, PartitionStatus};
use crate::asking::QueryResult;
use crate::clock::Clock;
use crate::cluster::WantedStore;
use crate::config::BrokerConfig;
use crate::flow_control::{RequestLimit, WriteLimit};
use crate::job_streams::StreamRegistry;
use crate::metrics::{Context, PartitionMetrics, WorkCounter, nanos};
use crate::started::NotStarted;

use self::checks::Checks;
use self::choosing::Choosing;
pub use self::exporters::ExporterBoard;
use self::exporters::{Exporters, is_for_exporters, open_exporters};
pub use self::inbox::Inbox;
use self::inbox::Incoming;
pub use self::message::{ClientRequest, Message, Notice, Report, Work};
pub use self::open::STACK_BYTES;
use self::open::open_engine;
pub(crate) use self::open::start;
pub use self::open::{HEARTBEAT_TICKS, HIBERNATE_AFTER_TICKS};
use self::panics::Panics;
use self::replica::HandingOver;
pub use self::replica_metrics::ReplicaMetrics;
pub use self::secondary::{Secondary, SecondaryCell};
use self::snapshot_receiver::SnapshotReceiver;

/// Commands taken out of the inbox for one batch.
const MAX_BATCH_COMMANDS: usize = 256;
/// Time after which no further command is taken: what became durable, ticks and answers have their turn.
const TURN: Duration = Duration::from_millis(2);
/// Jobs pushed in one go when a stream has room again.
const PUSH_BURST: usize = 64;
#[derive(Debug)]
pub struct PartitionHandle {
    pub inbox: Inbox,
    pub status: Arc<PartitionStatus>,
    pub metrics: Arc<PartitionMetrics>,
    /// Where what happened here can be searched.
    pub secondary: Arc<SecondaryCell>,
    /// What exports its records.
    pub exporters: Arc<ExporterBoard>,
    /// How far the log is committed, as far as it is known here.
    pub progress: Arc<LogProgress>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl PartitionHandle {
    /// A partition that could not start: it takes nothing and says why.
    pub fn failed(
        config: &BrokerConfig,
        (partition, member): (u32, u64),
        metrics: Arc<PartitionMetrics>,
        reason: String,
    ) -> Arc<PartitionHandle> {
        let limit = RequestLimit::new(&config.flow_control);
        let writes = WriteLimit::new(&config.write_limit);
        let status = Arc::new(PartitionStatus::new(partition, limit, writes));
        status.is_member(member, &Members::default());
        status.fail(reason);
        Arc::new(PartitionHandle {
            inbox: Inbox::closed(),
            status,
            metrics,
            secondary: Arc::new(SecondaryCell::new(Secondary::Broken(
                "the partition cannot start".to_string(),
            ))),
            exporters: Arc::default(),
            progress: Arc::default(),
            thread: Mutex::new(None),
        })
    }

    /// Commands for the partition are taken here.
    pub fn leads(&self) -> bool {
        self.status.role() == PartitionRole::Leader
    }

    /// Bytes of the embedded store, its write-ahead file included; `None`: there is none.
    pub fn stored_bytes(&self) -> Option<u64> {
        match self.secondary.get() {
            Secondary::Open(store) => store.room().map(|(file, log)| file + log),
            _ => None,
        }
    }

    /// Ends the thread after a last checkpoint, and then the store that is filled from its log.
    pub fn stop(&self) {
        self.inbox.send(Report::Stop);
        self.wait_for_threads();
        if let Secondary::Open(store) = self.secondary.get() {
            store.stop();
        }
    }

    /// Ends the thread and the store where they are: what is here is not wanted any more.
    pub fn abandon(&self) {
        self.status.abandoned.store(true, Ordering::Release);
        self.inbox.send(Report::Wake);
        self.wait_for_threads();
        if let Secondary::Open(store) = self.secondary.get() {
            store.abandon();
            store.stop();
        }
    }

    /// The partition's, which was told to end, and those of its exporters.
    fn wait_for_threads(&self) {
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        self.exporters.stop();
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
    Replica { partition: u32, source: NotStarted },
    #[error("partition {partition} cannot start: {source}")]
    Io {
        partition: u32,
        source: std::io::Error,
    },
}

/// Takes the effects of a partition that go neither to clients nor to streams.
pub trait EffectSink: Send + Sync {
    /// Where keys live.
    fn routing(&self) -> Arc<Routing>;
    fn send_remote(&self, partition: u32, command: Sent);
    /// Jobs of this type wait and no stream took them.
    fn jobs_available(&self, job_type: &Arc<str>);
    /// To a replica of the partition on another node. It may be lost.
    fn replicate(&self, message: skep_replication::Message);
    /// The other node gives signs of life. When it ceases to, [`Report::NotHeard`] comes.
    fn is_heard(&self, node: u32) -> bool;
    /// Highest log index that every other replica of the partition is known to have.
    fn replicated(&self, partition: u32) -> u64;
    /// Asks whoever has the rows of a partition.
    fn query(
        self: Arc<Self>,
        partition: u32,
        query: Query,
        answer: Box<dyn FnOnce(QueryResult) + Send>,
    );
    /// Fetches a copy of secondary storage from another node, on a thread of its own: `before` is done there first, and `done` once
    /// the copy is there.
    fn fetch_store(
        &self,
        wanted: WantedStore,
        before: Box<dyn FnOnce() + Send>,
        done: Box<dyn FnOnce() + Send>,
    ) -> std::io::Result<()>;
    /// The partition is led from here, or not any more.
    fn role_changed(&self);
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
    /// What the state says of exporters.
    exporting: ExportingValue,
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
    inbox: Incoming,
    own_inbox: Inbox,
    backlog: VecDeque<Work>,
    streams: StreamRegistry,
    requests: Requests,
    inflight: VecDeque<Inflight>,
    last_append: u64,
    status: Arc<PartitionStatus>,
    metrics: Arc<PartitionMetrics>,
    work: WorkCounter,
    effect_sink: Arc<dyn EffectSink>,
    clock: Arc<Clock>,
    commands_in_batch: usize,
    /// Jobs given back in this batch: if it is lost to a panic nobody else would give them back again.
    given_back: Vec<(Key, i64)>,
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
    checks: Checks,
    due_at: Option<i64>,
    /// Nothing is due before: the partition is under pressure.
    rest_until: i64,
    /// Whom to wake for what was released.
    wakes: Wakes,
    /// What was noted of committed batches and is not counted yet, with the size of each batch.
    uncounted: Vec<(Noted, usize)>,
    panics: Panics,
    exporters: Exporters,
    secondary: Arc<SecondaryCell>,
    choosing: Choosing,
    /// The revision of the banned instances that the status shows.
    shown_bans: Option<u64>,
    stopping: bool,
    /// Leadership is given to another node.
    handing_over: Option<HandingOver>,
    snapshot_receiver: SnapshotReceiver,
    replica_metrics: ReplicaMetrics,
}

impl Partition {
    fn run(mut self: Box<Self>) {
        tracing::info!(partition = self.status.partition, "partition starts");
        let group = self.core.group();
        self.status.is_member(group.config().node, group.members());
        if matches!(self.secondary.get(), Secondary::Fetching) {
            self.fetch_secondary();
        }
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
                tracing::error!(code = "PARTITION_STOPPED", partition = self.status.partition, %reason, "partition stops");
                self.status.fail(reason);
                self.wakes.give();
                // Other replicas need not wait until they miss it.
                self.effect_sink.role_changed();
                self.abort_all("the partition has stopped because of an error");
            }
        }
    }

    fn work(&mut self) -> Result<(), CoreError> {
        let mut polled = Polled::default();
        loop {
            self.drive(&mut polled)?;
            self.go_on_handing_over();
            self.recover_from_panic()?;
            // What a full disk holds up was not acknowledged; a stop does not wait for somebody to make room.
            let written = self.inflight.is_empty() || self.status.stalled.load(Ordering::Relaxed);
            let waits_for_log = self
                .checkpoint
                .as_ref()
                .is_some_and(|c| c.storing.is_none());
            let stored = self.checkpoint.is_none()
                || waits_for_log && self.status.stalled.load(Ordering::Relaxed);
            if self.stopping && written && stored && self.is_handed_over() {
                return Ok(());
            }
            if self.is_abandoned() {
                return Ok(());
            }
            self.take_messages()?;
            self.run_scheduled()?;
            self.run_work()?;
            self.propose()?;
        }
    }

    /// Nothing is waited for but who writes files.
    fn is_abandoned(&self) -> bool {
        let checkpoint = self.checkpoint.as_ref();
        self.status.abandoned.load(Ordering::Acquire)
            && checkpoint.is_none_or(|checkpoint| checkpoint.storing.is_none())
    }

    /// Takes what has arrived; waits when there is nothing to do. What was reported leads to answers, which leave before
    /// anything else is evaluated.
    fn take_messages(&mut self) -> Result<(), CoreError> {
        let mut reported = false;
        while let Some(report) = self.inbox.report() {
            self.heed(report)?;
            reported = true;
        }
        if reported {
            self.checks.works();
            return Ok(());
        }
        let started = Instant::now();
        let mut taken = 0;
        while self.can_process() && !self.turn_is_over(started, taken) {
            match self.backlog.pop_front() {
                Some(work) => self.evaluate(work)?,
                None => break,
            }
            taken += 1;
        }
        if taken == 0
            && let Some(first) = self.inbox.wait(self.idle_time())
        {
            self.handle(first)?;
            taken += 1;
        }
        if taken > 0 {
            self.checks.works();
        }
        // The time of a turn does not begin with what was waited for.
        let started = if taken == 1 { Instant::now() } else { started };
        while !self.turn_is_over(started, taken)
            && let Some(message) = self.inbox.work()
        {
            self.handle(message)?;
            taken += 1;
        }
        Ok(())
    }

    fn turn_is_over(&self, started: Instant, taken: usize) -> bool {
        taken >= MAX_BATCH_COMMANDS
            || self.core.engine().batch_size() >= BATCH_BYTES
            || self.inbox.has_report()
            || started.elapsed() >= TURN
    }

    /// The state is there to work with, however much is in flight.
    fn can_evaluate(&self) -> bool {
        self.core.is_leader() && !self.core.is_stale()
    }

    fn can_process(&self) -> bool {
        self.core.has_room()
            && self.handing_over.is_none()
            && !self.status.processing_paused.load(Ordering::Relaxed)
            && self.core.engine().batch_size() < BATCH_BYTES
    }

    fn handle(&mut self, message: Message) -> Result<(), CoreError> {
        match message {
            Message::Report(report) => self.heed(report)?,
            Message::Notice(notice) => self.note(notice),
            Message::Work(work) if self.follows() => self.turn_away(work),
            Message::Work(work) => {
                // Order is kept: nothing overtakes what waits for room. Exporting goes on while processing is paused.
                let is_next = self.backlog.is_empty() && self.can_process();
                if is_next || is_for_exporters(&work) && self.can_evaluate() {
                    self.evaluate(work)?;
                } else {
                    self.backlog.push_back(work);
                }
            }
        }
        Ok(())
    }

    fn heed(&mut self, report: Report) -> Result<(), CoreError> {
        match report {
            Report::Log(report) => self.log_report(report)?,
            Report::CheckpointDone { number, result } => self.checkpoint_done(number, result),
            Report::TakeSnapshot(waiter) => {
                self.checkpoint_waiters.extend(waiter);
                self.propose()?;
                self.capture_checkpoint();
            }
            Report::Replica {
                from,
                message,
                permit,
            } => {
                drop(permit);
                self.replica_metrics.receives(&message);
                self.core.group_mut().receive(from, message);
            }
            Report::NotHeard { node, since } => self.not_heard(node, since),
            Report::SnapshotTaken(part) => self.core.group_mut().snapshot_taken(part),
            Report::SnapshotBuilt { arrival } => self.snapshot_built(arrival)?,
            Report::HandOver(to) => self.hand_over_to(&to),
            Report::Tell(asker) => drop(asker.send(self.survives())),
            Report::Wake => self.checks.hurry(Instant::now()),
            Report::Stop => {
                self.stopping = true;
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
                self.streams.open(stream);
                self.backlog.push_back(Work::StreamHasRoom(job_type));
            }
            Notice::StreamClosed(id) => self.streams.close(id),
            Notice::StoreArrived => self.store_arrived(),
            Notice::ChangeMembers { change, plan } => self.change_members(change, plan),
        }
    }

    fn evaluate(&mut self, work: Work) -> Result<(), CoreError> {
        let now = self.clock.now();
        match work {
            Work::Request(request) => return self.evaluate_request(now, request),
            Work::Remote { command, prepared } => {
                self.work.accepted(Context::InterPartition);
                self.guarded(None, |core, streams| {
                    core.engine_mut().prepare(prepared.map(|it| *it));
                    core.process_remote(now, &command, streams);
                })?;
            }
            Work::Yield { key, deadline } => {
                self.work.accepted(Context::Internal);
                self.given_back.push((key, deadline));
                self.guarded(None, |core, streams| {
                    core.yield_job(now, key, deadline, streams);
                })?;
            }
            Work::StreamHasRoom(job_type) => {
                let pushed = self.guarded(None, |core, streams| {
                    core.push_waiting_jobs(now, &job_type, PUSH_BURST, streams)
                })?;
                if pushed.is_some_and(|pushed| pushed.more) {
                    self.backlog.push_back(Work::StreamHasRoom(job_type));
                }
            }
            Work::Chosen { key, after, answer } => self.chosen(key, after, answer)?,
        }
        self.commands_in_batch += 1;
        Ok(())
    }

    fn evaluate_request(&mut self, now: i64, request: ClientRequest) -> Result<(), CoreError> {
        let ClientRequest {
            mut request,
            responder,
            received,
            route,
            permit,
            prepared,
        } = request;
        drop(permit);
        if responder.is_abandoned() {
            self.abandoned();
            return Ok(());
        }
        self.fill_in(&mut request.command);
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
            core.engine_mut().prepare(prepared.map(|it| *it));
            core.process(now, Some(id), &request, streams);
        })?;
        if processed.is_none() {
            return Ok(());
        }
        let evaluation = started.elapsed();
        if let Some(waiting) = self.requests.get_mut(id) {
            waiting.evaluation = evaluation;
        }
        let head = request.command.record();
        self.work.accepted(Context::UserCommand);
        self.work
            .evaluated(head.value_type, head.intent, evaluation);
        let wait = started.saturating_duration_since(received);
        self.metrics.inbox_wait.observe(nanos(wait));
        self.after_command(id, &request.command)?;
        self.commands_in_batch += 1;
        Ok(())
    }

    fn after_command(&mut self, id: RequestId, command: &Command) -> Result<(), CoreError> {
        // The client may wait for days: it must not hold a place of the limit.
        if command.awaits_end()
            && let Some(waiting) = self.requests.get_mut(id)
            && std::mem::replace(&mut waiting.counted, false)
        {
            self.status.limit.release();
        }
        let changed = command.record().value_type;
        // A batch has one time, and from here on it is another.
        if changed == ValueType::Clock {
            self.publish_status();
            self.propose()?;
        }
        if changed == ValueType::Exporting {
            self.follow_exporting();
        }
        Ok(())
    }

    fn close(mut self: Box<Self>) {
        self.abort_all("the node shuts down");
        self.status.set_role(PartitionRole::Inactive);
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.stop()
        {
            tracing::error!(code = "PARTITION_STOPPED", partition = self.status.partition, %error, "the log was not closed cleanly");
        }
        tracing::info!(partition = self.status.partition, "partition stopped");
    }
}
