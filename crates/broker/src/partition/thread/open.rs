//! Opening a partition: files, recovery, thread.

use std::path::PathBuf;
use std::sync::LazyLock;

use skep_engine::TurnTime;
use skep_export::ExportMetrics;
use skep_protocol::Routing;
use skep_replication::Remedy;

use super::inbox::inbox;
use super::secondary::StoreOf;
use super::*;
use crate::replica_file::ReplicaOf;
use crate::started::Started;

/// Bytes of a partition thread's stack. What input nests (expressions, values, mapping targets, sub-processes) is bounded
/// where it comes in, to a depth that needs a small part of this; the system's default differs from place to place.
pub const STACK_BYTES: usize = 8 << 20;

/// Opens a partition's files, recovers its state and starts its thread.
pub(crate) fn start(
    config: &BrokerConfig,
    (partition, replica, least_key): (u32, &ReplicaOf, u64),
    effect_sink: Arc<dyn EffectSink>,
    clock: Arc<Clock>,
    metrics: Arc<PartitionMetrics>,
    (work, exporting, replica_metrics): (WorkCounter, &ExportMetrics, ReplicaMetrics),
) -> Result<Arc<PartitionHandle>, OpenError> {
    let opened = Instant::now();
    let directory = directory_of(config, partition);
    let storage = |source| OpenError::Storage { partition, source };
    let core_error = |source| OpenError::Core { partition, source };
    let io = |source| OpenError::Io { partition, source };
    let files = check_files(config, partition, &directory, replica)?;
    let (own_inbox, inbox) = inbox();
    let status = Arc::new(status_of(config, partition));

    let kv = FjallKv::open(directory.join("state"), FjallConfig::default()).map_err(storage)?;
    let pending_rows = PendingRows::default();
    let engine_config = engine_config(config, partition, least_key, effect_sink.routing());
    let (mut engine, meta) = open_engine(&kv, &pending_rows, &engine_config).map_err(core_error)?;
    follow(config, &mut engine, &status).map_err(core_error)?;
    let log_opened = Instant::now();
    let (log, group, evidence) = open_log(config, &files, meta, own_inbox.clone())?;
    let (writer, log_reader) = log;
    metrics.journal_open.set(millis(log_opened));
    status.checkpoint_is(meta);
    let log = (log_reader.clone(), group.base().index);
    let of = store_of(config, partition, &directory, exporting);
    let (secondary, exporters) = open_exporters(of, &mut engine, meta.index, log);
    let (board, progress) = (exporters.board.clone(), exporters.progress.clone());
    let now = Instant::now();
    let worker = Box::new(Partition {
        config: config.clone(),
        engine_config,
        core: PartitionCore::new(engine, group, (meta.index, meta.term)),
        writer: Some(writer),
        log_reader,
        snapshot_receiver: SnapshotReceiver::going_on(kv.staging(), evidence),
        kv: Arc::new(Mutex::new(kv)),
        pending_rows,
        inbox,
        own_inbox: own_inbox.clone(),
        backlog: VecDeque::new(),
        streams: StreamRegistry::default(),
        requests: Requests::default(),
        inflight: VecDeque::new(),
        last_append: 0,
        status: status.clone(),
        metrics: metrics.clone(),
        work,
        effect_sink,
        clock,
        commands_in_batch: 0,
        given_back: Vec::new(),
        batch_started: None,
        opened,
        compacting: None,
        checkpoint: None,
        captures: 0,
        checkpoint_waiters: Vec::new(),
        last_checkpoint: now,
        log_bytes_since_checkpoint: 0,
        next_tick: now,
        checks: Checks::new(config.check_interval, now),
        due_at: None,
        rest_until: i64::MIN,
        wakes: Wakes::default(),
        uncounted: Vec::new(),
        panics: Panics::default(),
        exporters,
        secondary: secondary.clone(),
        choosing: Choosing::default(),
        shown_bans: None,
        stopping: false,
        handing_over: None,
        replica_metrics,
    });
    metrics.bootstrap.set(millis(opened));
    let thread = spawn(worker).map_err(io)?;
    Ok(Arc::new(PartitionHandle {
        inbox: own_inbox,
        status,
        metrics,
        secondary,
        exporters: board,
        progress,
        thread: Mutex::new(Some(thread)),
    }))
}

fn store_of<'a>(
    config: &'a BrokerConfig,
    partition: u32,
    directory: &'a std::path::Path,
    metrics: &'a ExportMetrics,
) -> StoreOf<'a> {
    StoreOf {
        config,
        directory,
        partition,
        metrics,
    }
}

/// A replica's files, which are those that it had when it ended.
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
        // A node that is alone is the only member, whatever it is called.
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

/// The directory, with what must be known of the replica before its log says something.
fn make(config: &BrokerConfig, directory: &Path, replica: &ReplicaOf) -> std::io::Result<()> {
    create_dir_durably(directory)?;
    // A node that is alone is the only member, whatever it is called: there is nothing to remember.
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
        .name(format!("partition-{}", worker.status.partition))
        .stack_size(STACK_BYTES)
        .spawn(move || worker.run())
}

fn engine_config(
    config: &BrokerConfig,
    partition: u32,
    least_key: u64,
    routing: Arc<Routing>,
) -> EngineConfig {
    EngineConfig {
        partition,
        least_key,
        routing,
        max_process_depth: config.max_process_depth,
        max_element_instances: config.max_element_instances,
        expression_timeout: u64::try_from(config.expression_timeout.as_millis())
            .unwrap_or(u64::MAX),
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

/// Since the first call.
fn nanos() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn millis(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn open_engine(
    kv: &FjallKv,
    pending: &PendingRows,
    config: &EngineConfig,
) -> Result<(Engine, CheckpointMeta), CoreError> {
    let meta = kv
        .meta()
        .map_err(|e| skep_engine::state::StoreError(e.to_string()))?;
    let meta = CheckpointMeta::read(meta.as_deref())?;
    let rows = StoredRows {
        reader: kv.reader(),
        pending: pending.clone(),
    };
    let state = State::open_to_replay(config.partition, Arc::new(rows))?;
    Ok((Engine::new(config.clone(), state, meta.next_position), meta))
}

/// One of several replicas: to lead takes an election, and then nothing more.
fn follow(
    config: &BrokerConfig,
    engine: &mut Engine,
    status: &PartitionStatus,
) -> Result<(), CoreError> {
    if config.cluster.is_none() {
        return Ok(());
    }
    engine.promote()?;
    status.set_role(PartitionRole::Follower);
    Ok(())
}

/// Ticks between two heartbeats of a leader.
pub const HEARTBEAT_TICKS: u32 = 4;
/// Ticks without work after which replicas hibernate.
pub const HIBERNATE_AFTER_TICKS: usize = 30;

fn group_config(partition: u32, replica: &ReplicaOf) -> GroupConfig {
    let mut group = GroupConfig::joining(partition, replica.own, replica.members.clone());
    // A heartbeat is a small message, and four of them may be lost before anybody thinks of an election.
    group.heartbeat_ticks = HEARTBEAT_TICKS as usize;
    group.hibernate_after_ticks = Some(HIBERNATE_AFTER_TICKS);
    group
}

/// What the directory proves about its log.
fn evidence(config: &BrokerConfig, directory: &Path) -> std::io::Result<LogEvidence> {
    let embedded = config.secondary_storage.as_ref();
    let embedded = embedded.is_some_and(|config| !config.is_shared());
    // A store that cannot be read proves nothing; it says so when it is opened.
    let exported = embedded.then(|| skep_export::stored_position(directory));
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
