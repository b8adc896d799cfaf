//! Opening a partition: files, recovery, thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use skep_engine::{Engine, EngineConfig, OldestNode, TurnTime};
use skep_exporting::ExportMetrics;
use skep_protocol::Routing;
use skep_replication::{EntryId, Group, GroupConfig, LogEvidence, RecoveredLog, Remedy};
use skep_service::PartitionRole;
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::kv::{FjallConfig, FjallKv};
use skep_storage::log::{Log, LogConfig, LogReader, LogWriter, WriterConfig};

use super::cpu::CpuTime;
use super::{Partition, Replica};
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::ending::Running;
use crate::flow_control::{RequestLimit, WriteLimit};
use crate::metrics::{PartitionMetrics, WorkCounter};
use crate::partition::attention::Attention;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::core::{CoreError, PartitionCore};
use crate::partition::handle::{OpenError, PartitionHandle};
use crate::partition::inbox::{Inbox, Incoming, inbox};
use crate::partition::message::Report;
use crate::partition::parts::background::{Background, Task};
use crate::partition::parts::checkpointer::{Checkpointer, open_engine};
use crate::partition::parts::choosing::Choosing;
use crate::partition::parts::delivery::Delivery;
use crate::partition::parts::effect_sink::EffectSink;
use crate::partition::parts::environment::Environment;
use crate::partition::parts::exporters::open_exporters;
use crate::partition::parts::hand_over::HandOver;
use crate::partition::parts::installing;
use crate::partition::parts::intake::Intake;
use crate::partition::parts::log_pins::LogPins;
use crate::partition::parts::log_pipe::LogPipe;
use crate::partition::parts::panics::Panics;
use crate::partition::parts::snapshot_receiver::SnapshotReceiver;
use crate::partition::parts::standstill::Standstill;
use crate::partition::parts::timetable::Timetable;
use crate::partition::pending_rows::PendingRows;
use crate::partition::replica_metrics::ReplicaMetrics;
use crate::partition::restored_rows::RestoredRows;
use crate::partition::secondary::StoreOf;
use crate::partition::status::PartitionStatus;
use crate::replica_file::ReplicaOf;
use crate::started::Started;

/// Maximum number of steps that a client's evaluation may take on a partition's thread, about 0.2 ms: as long as a few creations of
/// instances.
const SHORT_EVALUATION: u64 = 10_000;

/// Bytes of a partition thread's stack. Nested input (expressions, values, mapping targets, sub-processes) is limited on arrival to a depth
/// that needs a small part of this; the system's default differs between platforms.
pub const STACK_BYTES: usize = 8 << 20;

/// A partition's counters.
pub(crate) struct Counters {
    pub metrics: Arc<PartitionMetrics>,
    pub work: WorkCounter,
    pub exporting: ExportMetrics,
    pub replica: ReplicaMetrics,
}

/// Opens a partition's files, recovers its state and starts its thread.
pub(crate) fn start(
    config: &BrokerConfig,
    of: (u32, &ReplicaOf, u64),
    effect_sink: Arc<dyn EffectSink>,
    known: (Arc<Routing>, OldestNode),
    clock: Arc<Clock>,
    counters: Counters,
) -> Result<Arc<PartitionHandle>, OpenError> {
    let worker = open(config, of, effect_sink, known, clock, counters)?;
    let env = &worker.env;
    env.metrics.bootstrap.set(millis(env.opened));
    let (inbox, partition) = (env.inbox.clone(), env.partition());
    let (status, metrics) = (env.status.clone(), env.metrics.clone());
    let board = worker.exporters.board.clone();
    let progress = worker.exporters.progress.clone();
    let secondary = worker.exporters.secondary().clone();
    let thread = spawn(worker).map_err(|source| OpenError::Io { partition, source })?;
    Ok(Arc::new(PartitionHandle {
        inbox,
        status,
        metrics,
        secondary,
        exporters: board,
        progress,
        thread: Running::new(Some(thread)),
        attention: Attention::default(),
    }))
}

/// The same without the thread.
pub(super) fn open(
    config: &BrokerConfig,
    (partition, replica, least_key): (u32, &ReplicaOf, u64),
    effect_sink: Arc<dyn EffectSink>,
    (routing, oldest_node): (Arc<Routing>, OldestNode),
    clock: Arc<Clock>,
    counters: Counters,
) -> Result<Box<Partition>, OpenError> {
    let opened = Instant::now();
    let directory = directory_of(config, partition);
    let files = check_files(config, partition, &directory, replica)?;
    let (inbox, incoming) = inbox();
    let env = Environment {
        config: config.clone(),
        engine_config: engine_config(config, partition, least_key, routing, oldest_node),
        status: Arc::new(status_of(config, partition)),
        metrics: counters.metrics.clone(),
        inbox,
        effect_sink,
        clock,
        background: Box::new(Threads),
        opened,
    };
    recover(env, &files, incoming, counters)
}

/// Opens the partition with the state of its last checkpoint. The thread applies the log after it.
// Engines are large and made on the stack, which is not to be touched that deep where none is made.
#[inline(never)]
fn recover(
    env: Environment,
    files: &Files<'_>,
    incoming: Incoming,
    counters: Counters,
) -> Result<Box<Partition>, OpenError> {
    let (partition, directory) = (files.partition, files.started.directory);
    let storage = |source| OpenError::Storage { partition, source };
    let core_error = |source| OpenError::Core { partition, source };
    let kv = FjallKv::open(directory.join("state"), FjallConfig::default()).map_err(storage)?;
    let rows = PendingRows::default();
    let (mut engine, meta) = open_engine(&kv, &rows, &env.engine_config).map_err(core_error)?;
    follow(&env, &mut engine).map_err(core_error)?;
    let log_opened = Instant::now();
    let inbox = env.inbox.clone();
    let ((writer, reader), group, evidence) = open_log(&env.config, files, meta, inbox)?;
    env.metrics.journal_open.set(millis(log_opened));
    env.status.checkpoint_is(meta);
    let of = store_of(&env.config, partition, directory, &counters.exporting);
    let log = (reader.clone(), group.base().index);
    let pins = LogPins::new(env.config.backup.as_ref());
    let now = Instant::now();
    let restored = RestoredRows::read(directory);
    let restored = restored.map_err(|source| OpenError::Io { partition, source })?;
    let exporters = open_exporters(of, &mut engine, meta.index, log, now).restored_with(restored);
    let replica = Replica {
        hand_over: HandOver::default(),
        snapshots: SnapshotReceiver::going_on(kv.staging(), evidence),
        metrics: counters.replica,
        cpu: CpuTime::default(),
    };
    Ok(Box::new(Partition {
        core: PartitionCore::new(engine, group, (meta.index, meta.term)),
        intake: Intake::new(incoming),
        log: LogPipe::new(Some(writer), reader),
        checkpointer: Checkpointer::new(kv, rows, pins, now),
        delivery: Delivery::new(counters.work),
        timetable: Timetable::new(env.config.check_interval, now),
        exporters,
        choosing: Choosing::default(),
        panics: Panics::default(),
        standstill: Standstill::default(),
        replica,
        env,
    }))
}

/// Runs each job on a thread of its own.
#[derive(Clone, Copy, Debug)]
struct Threads;

impl Background for Threads {
    fn run(&self, name: &str, job: Box<dyn FnOnce() + Send>) -> std::io::Result<Task> {
        let thread = std::thread::Builder::new().name(name.to_string());
        let thread = thread.spawn(job)?;
        Ok(Task::new(move || drop(thread.join())))
    }
}

fn store_of<'a>(
    config: &'a BrokerConfig,
    partition: u32,
    directory: &'a Path,
    metrics: &'a ExportMetrics,
) -> StoreOf<'a> {
    StoreOf {
        config,
        directory,
        partition,
        metrics,
    }
}

/// A replica's files, as it left them when it ended.
struct Files<'a> {
    partition: u32,
    replica: &'a ReplicaOf,
    started: Started<'a>,
    starts: u64,
}

fn check_files<'a>(
    config: &'a BrokerConfig,
    partition: u32,
    directory: &'a Path,
    replica: &'a ReplicaOf,
) -> Result<Files<'a>, OpenError> {
    let started = Started {
        root: &config.directory,
        name: partition.to_string(),
        directory,
        // A single node is the only member, whatever its number is.
        member: config.cluster.as_ref().map_or(0, |_| replica.own),
        remedy: Remedy::of_member(replica.own, &replica.members.voters),
    };
    let refused = |source| OpenError::Replica { partition, source };
    let starts = started.check().map_err(refused)?;
    let io = |source| OpenError::Io { partition, source };
    make(config, directory, replica).map_err(io)?;
    Ok(Files {
        partition,
        replica,
        started,
        starts,
    })
}

/// Creates the directory, with what must be known of the replica before its log has any content.
fn make(config: &BrokerConfig, directory: &Path, replica: &ReplicaOf) -> std::io::Result<()> {
    create_dir_durably(directory)?;
    // A single node is the only member, whatever its number is: there is nothing to record.
    if config.cluster.is_some() && ReplicaOf::read(directory)?.is_none() {
        replica.write(directory)?;
    }
    Ok(())
}

fn directory_of(config: &BrokerConfig, partition: u32) -> PathBuf {
    let all = config.directory.join("partitions");
    all.join(partition.to_string())
}

fn status_of(config: &BrokerConfig, partition: u32) -> PartitionStatus {
    PartitionStatus::new(
        partition,
        RequestLimit::new(&config.flow_control),
        WriteLimit::new(&config.write_limit),
    )
}

fn spawn(worker: Box<Partition>) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("partition-{}", worker.env.partition()))
        .stack_size(STACK_BYTES)
        .spawn(move || worker.run())
}

pub(crate) fn engine_config(
    config: &BrokerConfig,
    partition: u32,
    least_key: u64,
    routing: Arc<Routing>,
    oldest_node: OldestNode,
) -> EngineConfig {
    EngineConfig {
        partition,
        least_key,
        routing,
        oldest_node,
        max_process_depth: config.engine.max_process_depth,
        max_element_instances: config.engine.max_element_instances,
        identity: config.engine.identity,
        expression_timeout: u64::try_from(config.engine.expression_timeout.as_millis())
            .unwrap_or(u64::MAX),
        short_evaluation: SHORT_EVALUATION,
        max_message_size: config.max_message_size,
        turn_time: Some(TurnTime {
            most: u64::try_from((config.election_timeout() / 4).as_nanos()).unwrap_or(u64::MAX),
            clock: nanos,
        }),
        retry_interval: i64::try_from(config.retry_interval.as_millis()).unwrap_or(i64::MAX),
        #[cfg(test)]
        on_work: Some(super::panics::tests::may_fail),
        ..EngineConfig::default()
    }
}

/// Nanoseconds since the first call.
fn nanos() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn millis(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// Sets up one of several replicas: becoming leader takes an election, and nothing more after that.
fn follow(env: &Environment, engine: &mut Engine) -> Result<(), CoreError> {
    if !env.has_others() {
        return Ok(());
    }
    engine.promote()?;
    env.status.set_role(PartitionRole::Follower);
    Ok(())
}

/// Ticks between two heartbeats of a leader.
pub const HEARTBEAT_TICKS: u32 = 4;
/// Ticks without work after which replicas hibernate.
pub const HIBERNATE_AFTER_TICKS: usize = 30;

fn group_config(partition: u32, replica: &ReplicaOf) -> GroupConfig {
    let mut group = GroupConfig::joining(partition, replica.own, replica.members.clone());
    // A heartbeat is a small message, and four of them may be lost before any follower considers an election.
    group.heartbeat_ticks = HEARTBEAT_TICKS as usize;
    group.hibernate_after_ticks = Some(HIBERNATE_AFTER_TICKS);
    group
}

/// Evidence about the log from the rest of the directory.
fn evidence(config: &BrokerConfig, directory: &Path) -> std::io::Result<LogEvidence> {
    let embedded = config.secondary_storage.as_ref();
    let embedded = embedded.is_some_and(|config| !config.is_shared());
    // An unreadable store proves nothing; the error is reported when it is opened.
    let exported = embedded.then(|| skep_secondary::stored_position(directory));
    let exported = exported.and_then(Result::ok).unwrap_or_default();
    Ok(LogEvidence {
        exported: exported.entry,
        installing: installing::marked(directory)?,
    })
}

fn open_log(
    config: &BrokerConfig,
    files: &Files<'_>,
    meta: CheckpointMeta,
    inbox: Inbox,
) -> Result<((LogWriter, LogReader), Group, LogEvidence), OpenError> {
    let (partition, directory) = (files.partition, files.started.directory);
    let io = |source| OpenError::Io { partition, source };
    let evidence = evidence(config, directory).map_err(io)?;
    let log_config = LogConfig {
        segment_bytes: config.log_segment_bytes,
        ..LogConfig::default()
    };
    let (log, recovered) = Log::open(Arc::new(RealDisk), directory.join("log"), log_config)
        .map_err(|source| OpenError::Storage { partition, source })?;
    let reader = log.reader();
    let writer_config = WriterConfig {
        name: format!("log-{partition}"),
        ..WriterConfig::default()
    };
    let report = move |report| inbox.send(Report::Log(report));
    let writer = LogWriter::spawn(log, writer_config, report).map_err(io)?;
    let recovered = RecoveredLog {
        log: recovered,
        checkpoint: EntryId {
            index: meta.index,
            term: meta.term,
        },
        source: Box::new(reader.clone()),
        evidence,
    };
    let group = Group::open(group_config(partition, files.replica), recovered).map_err(|e| {
        OpenError::Core {
            partition,
            source: e.into(),
        }
    })?;
    files.started.begins(files.starts).map_err(io)?;
    Ok(((writer, reader), group, evidence))
}
