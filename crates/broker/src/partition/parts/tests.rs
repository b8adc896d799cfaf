//! Drives the parts of a partition as a simulation does: the test sets the time, and decides when background work runs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_engine::state::State;
use skep_engine::state::table::EmptyStore;
use skep_engine::{Engine, EngineConfig};
use skep_protocol::Document;
use skep_protocol::command::{BroadcastSignal, Command, Request};
use skep_replication::{Append, EntryId, Group, GroupConfig, LogEvidence, Part, RecoveredLog};
use skep_service::reply_channel;
use skep_storage::disk::MemoryDisk;
use skep_storage::kv::{FjallConfig, FjallKv, StreamWriter};
use skep_storage::log::{Log, LogConfig, Report as LogReport};

use super::background::{Background, Task};
use super::checkpointer::Checkpointer;
use super::delivery::Delivery;
use super::effect_sink::Nobody;
use super::environment::Environment;
use super::exporters::{Exporters, open_exporters};
use super::log_pins::LogPins;
use super::log_pipe::LogPipe;
use super::snapshot_receiver::{SnapshotReceiver, Taken};
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::flow_control::{RequestLimit, WriteLimit};
use crate::metrics::{BrokerMetrics, WorkCounter};
use crate::partition::core::{PartitionCore, Polled};
use crate::partition::inbox::{Incoming, inbox};
use crate::partition::message::Report;
use crate::partition::requests::Waiting;
use crate::partition::secondary::StoreOf;
use crate::partition::status::PartitionStatus;

type Jobs = Arc<Mutex<VecDeque<Box<dyn FnOnce() + Send>>>>;

/// Jobs that run when the test lets them.
struct Later(Jobs);

impl Background for Later {
    fn run(&self, _: &str, job: Box<dyn FnOnce() + Send>) -> std::io::Result<Task> {
        self.0.lock().push_back(job);
        let jobs = self.0.clone();
        Ok(Task::new(move || run_all(&jobs)))
    }
}

fn run_all(jobs: &Jobs) {
    while let Some(job) = { jobs.lock().pop_front() } {
        job();
    }
}

/// The parts of one partition, and the test's replacement for its thread.
struct Rig {
    env: Environment,
    core: PartitionCore,
    pipe: LogPipe,
    checkpointer: Checkpointer,
    delivery: Delivery,
    exporters: Exporters,
    log: Log,
    incoming: Incoming,
    jobs: Jobs,
    _directory: tempfile::TempDir,
}

fn group(log: &Log, recovered: skep_storage::log::Recovered) -> Group {
    let recovered = RecoveredLog {
        log: recovered,
        checkpoint: EntryId { index: 0, term: 0 },
        source: Box::new(log.reader()),
        evidence: LogEvidence::default(),
    };
    Group::open(GroupConfig::new(1, 1, vec![1]), recovered).unwrap()
}

impl Rig {
    fn new(now: Instant) -> Rig {
        let directory = tempfile::tempdir().unwrap();
        let config = BrokerConfig {
            directory: directory.path().to_path_buf(),
            secondary_storage: None,
            ..BrokerConfig::default()
        };
        let jobs = Jobs::default();
        let metrics = BrokerMetrics::default();
        let (own_inbox, incoming) = inbox();
        let limit = RequestLimit::new(&config.flow_control);
        let writes = WriteLimit::new(&config.write_limit);
        let status = Arc::new(PartitionStatus::new(1, limit, writes));
        let env = Environment {
            config,
            engine_config: EngineConfig::default(),
            status,
            metrics: Arc::new(metrics.partition(1)),
            inbox: own_inbox,
            effect_sink: Arc::new(Nobody),
            clock: Arc::new(Clock::default()),
            background: Box::new(Later(jobs.clone())),
            opened: now,
        };
        let disk = Arc::new(MemoryDisk::new());
        let (log, recovered) = Log::open(disk, "/log", LogConfig::default()).unwrap();
        let state = State::open(1, Arc::new(EmptyStore)).unwrap();
        let mut engine = Engine::new(EngineConfig::default(), state, 1);
        let of = StoreOf {
            config: &env.config,
            directory: directory.path(),
            partition: 1,
            metrics: &metrics.exporting,
        };
        let reader = log.reader();
        let exporters = open_exporters(of, &mut engine, 0, (reader.clone(), 0), now);
        let kv = FjallKv::open(directory.path().join("state"), FjallConfig::default()).unwrap();
        let mut rig = Rig {
            core: PartitionCore::new(engine, group(&log, recovered), (0, 0)),
            pipe: LogPipe::new(None, reader),
            checkpointer: Checkpointer::new(kv, Default::default(), LogPins::default(), now),
            delivery: Delivery::new(WorkCounter::new(&metrics.work, 1)),
            exporters,
            env,
            log,
            incoming,
            jobs,
            _directory: directory,
        };
        while !rig.core.is_leader() {
            rig.core.group_mut().tick();
            let appends = rig.poll(now);
            rig.written(appends, now);
        }
        rig
    }

    /// Runs the replica, and releases committed effects. Returns the appends in transit to the disk.
    fn poll(&mut self, now: Instant) -> Vec<Append> {
        let mut polled = Polled::default();
        self.core.poll(&mut polled).unwrap();
        let appends = std::mem::take(&mut polled.output.appends);
        let taken = appends.clone().into_iter();
        self.pipe.append(taken, false, &self.env.metrics);
        for released in polled.released {
            let metrics = &self.env.metrics;
            let timings = self.pipe.released(released.index, metrics, now);
            for (id, result) in released.effects.responses {
                let result = result.map_err(Into::into);
                self.delivery.respond(id, result, timings, &self.env, now);
            }
        }
        self.delivery.wake();
        appends
    }

    /// Completes these appends, as if written to disk.
    fn written(&mut self, appends: Vec<Append>, now: Instant) {
        for append in appends {
            let times = self.log.append(&append.frames).unwrap();
            let report = LogReport::Written {
                number: append.number,
                times,
            };
            let written = self.pipe.report(report, &self.env, now).unwrap().unwrap();
            self.checkpointer.log_grows(written.bytes);
            self.core.group_mut().persisted(written.number);
        }
        assert!(self.poll(now).is_empty());
    }

    /// Commits an entry, and begins to store the state after it.
    fn begin_checkpoint(&mut self, now: Instant) {
        let _reply = self.broadcast(now);
        let appends = self.poll(now);
        self.written(appends, now);
        assert!(self.checkpointer.capture(&mut self.core, now));
        let applied = self.core.applied();
        self.checkpointer.store(applied, &self.env).unwrap();
    }

    /// Evaluates a client's command and proposes it.
    fn broadcast(&mut self, now: Instant) -> skep_service::Reply {
        let (responder, reply) = reply_channel();
        let id = self.delivery.requests.insert(Waiting {
            responder,
            received: now,
            route: Duration::ZERO,
            inbox_wait: Duration::ZERO,
            evaluation: Duration::ZERO,
            permit: None,
        });
        let command = Command::BroadcastSignal(BroadcastSignal {
            signal_name: "alarm".into(),
            variables: Document::default(),
        });
        self.pipe.begins(now);
        let streams = &mut self.delivery.streams;
        self.core
            .process(1, Some(id), &Request::internal(command), streams);
        self.pipe.evaluated();
        let records = self.core.engine().batch_len();
        let index = self.core.propose().unwrap();
        assert!(index.is_some());
        self.pipe.proposed(records, index, &self.env, now);
        reply
    }

    /// Passes the job's report to the checkpointer.
    fn checkpoint_done(&mut self, now: Instant) -> bool {
        let Some(Report::CheckpointDone { number, result }) = self.incoming.report() else {
            return false;
        };
        let stored = result.is_ok();
        let parts = (&mut self.core, &mut self.exporters, &mut self.pipe);
        self.checkpointer
            .done((number, result), parts, &self.env, now);
        stored
    }
}

#[tokio::test]
async fn an_answer_is_sent_only_after_its_records_are_on_disk() {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    let mut reply = rig.broadcast(now);
    let appends = rig.poll(now);
    assert!(!rig.pipe.is_idle());
    let waits = tokio::time::timeout(Duration::ZERO, &mut reply).await;
    assert!(waits.is_err(), "the disk does not have it");
    rig.written(appends, now + Duration::from_secs(3));
    assert!(rig.pipe.is_idle());
    assert!(reply.await.result.is_ok());
}

#[test]
fn a_checkpoint_waits_for_its_entry_and_the_log_goes_up_to_it() {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    let _reply = rig.broadcast(now);
    let appends = rig.poll(now);
    assert!(rig.checkpointer.capture(&mut rig.core, now));
    rig.checkpointer
        .store(rig.core.applied(), &rig.env)
        .unwrap();
    assert!(rig.jobs.lock().is_empty(), "its entry is not committed");
    rig.written(appends, now);
    rig.checkpointer
        .store(rig.core.applied(), &rig.env)
        .unwrap();
    rig.checkpointer
        .store(rig.core.applied(), &rig.env)
        .unwrap();
    assert_eq!(rig.jobs.lock().len(), 1);
    assert!(rig.checkpointer.is_storing() && !rig.checkpoint_done(now));
    run_all(&rig.jobs);
    assert!(rig.checkpoint_done(now) && rig.checkpointer.is_idle());
    let index = rig.core.applied();
    let stored = &rig.env.status.checkpoint_index;
    assert_eq!(stored.load(std::sync::atomic::Ordering::Relaxed), index);
    let (engine, meta) = rig
        .checkpointer
        .open_engine(&EngineConfig::default())
        .unwrap();
    assert_eq!(meta.index, index);
    assert_eq!(engine.next_position(), rig.core.engine().next_position());
}

#[test]
fn a_checkpoint_is_due_after_its_period_and_a_failed_one_soon() {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    let _reply = rig.broadcast(now);
    let appends = rig.poll(now);
    rig.written(appends, now);
    let period = rig.env.config.snapshot_period;
    let is_due = |rig: &Rig, at| rig.checkpointer.is_due(&rig.core, &rig.env, at);
    let almost = period - Duration::from_secs(1);
    assert!(!is_due(&rig, now + almost) && is_due(&rig, now + period));
    let then = now + period;
    assert!(rig.checkpointer.capture(&mut rig.core, then));
    assert!(!is_due(&rig, then + almost));
    rig.checkpointer
        .failed("no room".to_string(), &rig.env, then);
    assert!(!is_due(&rig, then + Duration::from_secs(9)));
    assert!(is_due(&rig, then + Duration::from_secs(10)));
}

#[test]
fn a_state_is_not_replaced_while_its_checkpoint_is_stored_and_nobody_waits_for_that() {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    rig.begin_checkpoint(now);
    assert!(!rig.checkpointer.abandon());
    assert_eq!(rig.jobs.lock().len(), 1, "it was not waited for");
    assert!(!rig.checkpointer.abandon());
    run_all(&rig.jobs);
    assert!(rig.checkpoint_done(now), "it says so");
    let stored = &rig.env.status.checkpoint_index;
    let stored = stored.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(stored, 0, "and nothing follows from it");
    assert!(rig.checkpointer.abandon() && rig.checkpointer.is_idle());
}

#[test]
fn a_snapshot_that_replaces_another_does_not_wait_for_its_builder() {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    let directory = tempfile::tempdir().unwrap();
    let kv = FjallKv::open(directory.path(), FjallConfig::default()).unwrap();
    let mut receiver = SnapshotReceiver::going_on(kv.staging(), LogEvidence::default());
    for arrival in [1, 2] {
        let part = Part { arrival, number: 0 };
        let bytes = Bytes::from_static(b"not a snapshot");
        let (group, env) = (rig.core.group_mut(), &rig.env);
        let taken = receiver.take_in((part, false), bytes, group, env, now);
        assert_eq!(taken.unwrap(), Taken::Begun);
    }
    assert!(rig.incoming.report().is_none(), "no builder has ended");
    assert_eq!(rig.jobs.lock().len(), 1, "one builds at a time");
    run_all(&rig.jobs);
    let ended = std::iter::from_fn(|| rig.incoming.report()).last();
    let Some(Report::SnapshotBuilt { arrival }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(arrival, 1);
    let (group, env) = (rig.core.group_mut(), &rig.env);
    assert!(!receiver.built(arrival, group, env, now).unwrap());
    assert!(!receiver.is_ready());
    assert_eq!(rig.jobs.lock().len(), 1, "the next one is built");
}

/// The stored checkpoint of the rig as the parts of a snapshot.
fn parts_of_checkpoint(rig: &mut Rig, now: Instant) -> Vec<Bytes> {
    rig.begin_checkpoint(now);
    run_all(&rig.jobs);
    assert!(rig.checkpoint_done(now));
    let view = rig.checkpointer.view().unwrap();
    let mut stream = StreamWriter::new(&*view, 1 << 20).unwrap();
    std::iter::from_fn(|| stream.next_chunk().unwrap()).collect()
}

fn databases(directory: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap();
    let is_database = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path().is_dir();
    entries.map(is_database).filter(|is| *is).count()
}

/// Passes all reports of builders to the receiver. Returns how many there were.
fn builders_report(rig: &mut Rig, receiver: &mut SnapshotReceiver, now: Instant) -> usize {
    let mut reports = 0;
    while let Some(report) = rig.incoming.report() {
        if let Report::SnapshotBuilt { arrival } = report {
            let (group, env) = (rig.core.group_mut(), &rig.env);
            assert!(!receiver.built(arrival, group, env, now).unwrap());
            reports += 1;
        }
    }
    reports
}

/// Its entries may have come through the log meanwhile. `heard`: whether the end of its builder was.
fn a_whole_snapshot_is_forgotten(heard: bool) {
    let now = Instant::now();
    let mut rig = Rig::new(now);
    // Also on a machine whose disk is nearly full.
    rig.env.config.disk.monitoring_enabled = false;
    let parts = parts_of_checkpoint(&mut rig, now);
    let directory = tempfile::tempdir().unwrap();
    let kv = FjallKv::open(directory.path(), FjallConfig::default()).unwrap();
    let mut receiver = SnapshotReceiver::going_on(kv.staging(), LogEvidence::default());
    let arrives = |receiver: &mut SnapshotReceiver, rig: &mut Rig, arrival| {
        for (number, bytes) in (0..).zip(&parts) {
            let part = Part { arrival, number };
            let last = number + 1 == parts.len() as u64;
            let (group, env) = (rig.core.group_mut(), &rig.env);
            let taken = receiver.take_in((part, last), bytes.clone(), group, env, now);
            assert_ne!(taken.unwrap(), Taken::Refused);
        }
    };
    arrives(&mut receiver, &mut rig, 1);
    run_all(&rig.jobs);
    assert_eq!(databases(directory.path()), 2);
    if heard {
        assert_eq!(builders_report(&mut rig, &mut receiver, now), 1);
        assert!(receiver.is_ready());
    }
    receiver.forget(&rig.env);
    if !heard {
        assert_eq!(builders_report(&mut rig, &mut receiver, now), 1);
    }
    assert!(!receiver.is_ready());
    assert_eq!(databases(directory.path()), 2, "nobody has waited for that");
    assert_eq!(rig.jobs.lock().len(), 1);
    // The next one is built in the same place: not before that is empty.
    arrives(&mut receiver, &mut rig, 2);
    assert_eq!(rig.jobs.lock().len(), 1);
    run_all(&rig.jobs);
    assert_eq!(databases(directory.path()), 1);
    assert_eq!(builders_report(&mut rig, &mut receiver, now), 1);
    run_all(&rig.jobs);
    assert_eq!(databases(directory.path()), 2);
    assert_eq!(builders_report(&mut rig, &mut receiver, now), 1);
    assert!(receiver.is_ready());
}

#[test]
fn the_files_of_an_unwanted_snapshot_are_removed_beside_the_partition() {
    a_whole_snapshot_is_forgotten(true);
    a_whole_snapshot_is_forgotten(false);
}
