//! The broker: routes requests to partitions and implements the door that gateways see.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skep_engine::{Sent, key_not_found, message_partition};
use skep_protocol::command::{
    ActivateAdHoc, ActivateJobs, AssignUserTask, Command, CompleteUserTask, FailJob,
    MigrateProcessInstance, ModifyProcessInstance, Request, ThrowError, UpdateUserTask,
};
use skep_protocol::response::JobActivation;
use skep_protocol::{ActivatedJob, Failure, Key, Rejection, RejectionType, Response};
use skep_query::QueryError;
use skep_service::{
    self, Answer, BoxFuture, BrokerInfo, JobReceiver, PartitionInfo, PartitionRole, Reply,
    Topology, reply_channel,
};
use skep_storage::space::StatvfsProbe;

use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::disk::{self, DiskSpace};
use crate::flow_control::{MAX_WAITING, MAX_WAITING_BYTES};
use crate::job_streams::StreamHub;
use crate::long_polling::JobNotifier;
use crate::metrics::{BrokerMetrics, WorkCounter};
use crate::partition::thread::{self, Outlet};
use crate::partition::{Message, PartitionHandle, PartitionStatus};
use crate::preparation::Preparation;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Partition(#[from] thread::OpenError),
    #[error("the data directory {directory} cannot be used: {source}")]
    Directory {
        directory: String,
        source: std::io::Error,
    },
    #[error(
        "the data directory {directory} was made with {found} partitions, but {wanted} are configured. \
         Start with --partitions {found}, or with another directory"
    )]
    PartitionCount {
        directory: String,
        found: u32,
        wanted: u32,
    },
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    #[error("the data directory {directory} is in use by another process")]
    InUse { directory: String },
}

/// All partitions of this node.
pub struct Broker {
    config: BrokerConfig,
    shared: Arc<Shared>,
    streams: Arc<StreamHub>,
    metrics: BrokerMetrics,
    clock: Arc<Clock>,
    disk: Arc<DiskSpace>,
    next_creation: AtomicUsize,
    next_activation: AtomicUsize,
    cluster_id: String,
    /// Held for the life of the process: one directory, one owner.
    _lock: std::fs::File,
}

struct Shared {
    partitions: OnceLock<Vec<Arc<PartitionHandle>>>,
    notifier: JobNotifier,
    preparation: Preparation,
}

impl Shared {
    fn partition(&self, partition: u32) -> Option<&Arc<PartitionHandle>> {
        self.partitions
            .get()?
            .get((partition as usize).checked_sub(1)?)
    }
}

impl Shared {
    /// Tells the partitions how the disk is. While it is nearly full they make checkpoints as soon as there is something
    /// new, so that the log before them and the rows of finished instances give their room back.
    fn disk_is(&self, low: bool) {
        for handle in self.partitions.get().into_iter().flatten() {
            let status = &handle.status;
            status.disk_low.store(low, Ordering::Relaxed);
            let committed = status.committed_position.load(Ordering::Relaxed);
            if low && committed > status.checkpoint_position.load(Ordering::Relaxed) {
                handle.inbox.send(Message::TakeSnapshot(None));
            }
        }
    }
}

impl Outlet for Shared {
    fn send_remote(&self, partition: u32, command: Sent) {
        if let Some(partition) = self.partition(partition) {
            let message = Message::Remote(command);
            self.preparation.hand_on(message, &partition.inbox, true);
        }
    }

    fn jobs_available(&self, job_type: &Arc<str>) {
        self.notifier.announce(job_type);
    }
}

impl Broker {
    /// Opens all partitions. Returns when their state is recovered and their threads run.
    pub fn open(mut config: BrokerConfig, clock: Arc<Clock>) -> Result<Arc<Broker>, OpenError> {
        let (lock, cluster_id) = claim_directory(&config)?;
        config.cluster_id = Some(cluster_id.clone());
        let metrics = BrokerMetrics::default();
        let preparation = Preparation::start().map_err(OpenError::Thread)?;
        let shared = Arc::new(Shared {
            partitions: OnceLock::new(),
            notifier: JobNotifier::default(),
            preparation,
        });
        let streams = Arc::new(StreamHub::default());
        let mut partitions = Vec::new();
        let mut failed = None;
        for partition in 1..=config.partitions {
            let partition_metrics = Arc::new(metrics.partition(partition));
            let outlet = shared.clone();
            let started = thread::start(
                &config,
                partition,
                outlet,
                clock.clone(),
                partition_metrics.clone(),
                WorkCounter::new(&metrics.work, partition),
            );
            let handle = match started {
                Ok(handle) => handle,
                // The others are not to suffer from it. A broker with nothing to do had better say so and end.
                Err(error) if config.partitions > 1 => {
                    tracing::error!(code = "PARTITION_CANNOT_START", partition, %error, "a partition cannot start");
                    let handle = PartitionHandle::failed(
                        &config,
                        partition,
                        partition_metrics,
                        error.to_string(),
                    );
                    failed.get_or_insert(error);
                    handle
                }
                Err(error) => return Err(error.into()),
            };
            streams.attach(&handle);
            partitions.push(handle);
        }
        if let Some(error) = failed
            && partitions.iter().all(|p| p.status.failure().is_some())
        {
            return Err(error.into());
        }
        // The cell is fresh: this is its first and only value.
        let _ = shared.partitions.set(partitions);
        let probe = Box::new(StatvfsProbe::new(&config.directory));
        let watched = shared.clone();
        let disk = disk::watch(&config.disk, probe, move |low| watched.disk_is(low));
        Ok(Arc::new(Broker {
            config,
            shared,
            streams,
            metrics,
            clock,
            disk,
            next_creation: AtomicUsize::new(0),
            next_activation: AtomicUsize::new(0),
            cluster_id,
            _lock: lock,
        }))
    }

    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    pub fn streams(&self) -> &Arc<StreamHub> {
        &self.streams
    }

    pub fn metrics(&self) -> &BrokerMetrics {
        &self.metrics
    }

    pub fn disk(&self) -> &DiskSpace {
        &self.disk
    }

    pub fn partitions(&self) -> &[Arc<PartitionHandle>] {
        self.shared.partitions.get().map_or(&[], Vec::as_slice)
    }

    /// Work can be done: every partition has its leader here, but for those that have failed for good.
    pub fn is_ready(&self) -> bool {
        let leads = |p: &Arc<PartitionHandle>| p.status.role() == PartitionRole::Leader;
        let partitions = self.partitions();
        partitions.iter().any(leads)
            && partitions
                .iter()
                .all(|p| leads(p) || p.status.failure().is_some())
    }

    /// Sets what is read from partitions when metrics are scraped.
    pub fn refresh_metrics(&self) {
        for handle in self.partitions() {
            self.metrics.refresh(handle, self.config.node_id);
        }
        let streams = i64::try_from(self.streams.streams().len()).unwrap_or(i64::MAX);
        self.metrics.node.open_streams.set(streams);
    }

    /// Stops all partitions after a last checkpoint of each. Blocks.
    pub fn stop(&self) {
        self.disk.stop();
        self.streams.end_all();
        for partition in self.partitions() {
            partition.inbox.send(Message::Stop);
        }
        for partition in self.partitions() {
            partition.stop();
        }
    }

    /// Hands a request to a partition; `Err` is the answer.
    fn submit(&self, partition: u32, request: Request, started: Instant) -> Result<Reply, Failure> {
        let handle = self
            .shared
            .partition(partition)
            .ok_or_else(|| unknown_partition(partition, self.config.partitions))?;
        let status = &handle.status;
        if status.role() != PartitionRole::Leader {
            return Err(Failure::Unavailable(match status.failure() {
                Some(reason) => format!("Partition {partition} has stopped: {reason}"),
                None => format!("Partition {partition} has no leader yet; send the request again."),
            }));
        }
        let finishing = request.command.is_finishing();
        if !finishing {
            // Workers that get no jobs cannot finish what fills the disk.
            let activation = matches!(request.command, Command::ActivateJobs(_));
            if !activation && let Some(reason) = self.disk.refusal(partition) {
                return Err(Failure::ResourceExhausted(reason));
            }
            if status.stalled.load(Ordering::Relaxed) {
                return Err(Failure::ResourceExhausted(format!(
                    "Partition {partition} takes no new work: its disk is full and the log cannot grow."
                )));
            }
        }
        if !status.limit.acquire(finishing) {
            return Err(Failure::ResourceExhausted(format!(
                "Partition {partition} has {} requests in flight, which is its limit now; send the request again \
                 after a pause.",
                status.limit.limit()
            )));
        }
        let Some(place) = status.room.take(request.weight()) else {
            status.limit.release();
            return Err(Failure::ResourceExhausted(inbox_is_full(status)));
        };
        let (responder, reply) = reply_channel();
        let received = Instant::now();
        let route = received.saturating_duration_since(started);
        let message = Message::Request {
            request,
            responder,
            received,
            route,
            place,
        };
        let ring = !skep_service::rings_later();
        self.shared
            .preparation
            .hand_on(message, &handle.inbox, ring);
        Ok(reply)
    }

    /// Creations go round the partitions that can take them; when none can, the first in turn says why.
    fn submit_anywhere(&self, request: Request, started: Instant) -> Result<Reply, Failure> {
        let partitions = self.config.partitions.max(1) as usize;
        let first = self.next_creation.fetch_add(1, Ordering::Relaxed);
        let in_turn = |offset: usize| ((first + offset) % partitions) as u32 + 1;
        let free = (0..partitions)
            .map(in_turn)
            .find(|partition| self.can_take(*partition));
        self.submit(free.unwrap_or(in_turn(0)), request, started)
    }

    fn can_take(&self, partition: u32) -> bool {
        self.shared.partition(partition).is_some_and(|handle| {
            let status = &handle.status;
            status.health() == skep_service::PartitionHealth::Healthy
                && status.role() == PartitionRole::Leader
                && status.limit.inflight() < status.limit.limit()
        })
    }

    /// A batch operation is made on the first partition, and its items are searched for.
    fn batch_operation_home(&self) -> Result<u32, Failure> {
        match self.config.secondary_storage {
            Some(_) => Ok(1),
            None => Err(Failure::Rejected(Rejection::new(
                RejectionType::Forbidden,
                "CREATE",
                QueryError::Disabled.to_string(),
            ))),
        }
    }

    fn route(&self, request: Request) -> Result<Reply, Failure> {
        let started = Instant::now();
        let partition = match &request.command {
            Command::Deploy(_) | Command::DeleteResource { .. } => 1,
            Command::CreateProcessInstance(_) | Command::EvaluateConditionals(_) => {
                return self.submit_anywhere(request, started);
            }
            Command::ListIncidents { partition, .. } => *partition,
            Command::EvaluateExpression { .. } | Command::EvaluateDecision(_) => {
                return self.submit_anywhere(request, started);
            }
            Command::CancelProcessInstance {
                process_instance_key: key,
            }
            | Command::BanInstance {
                process_instance_key: key,
            }
            | Command::ModifyProcessInstance(ModifyProcessInstance {
                process_instance_key: key,
                ..
            })
            | Command::MigrateProcessInstance(MigrateProcessInstance {
                process_instance_key: key,
                ..
            })
            | Command::CompleteJob { job_key: key, .. }
            | Command::FailJob(FailJob { job_key: key, .. })
            | Command::ThrowError(ThrowError { job_key: key, .. })
            | Command::UpdateJob { job_key: key, .. }
            | Command::ResolveIncident { incident_key: key }
            | Command::AssignUserTask(AssignUserTask {
                user_task_key: key, ..
            })
            | Command::UpdateUserTask(UpdateUserTask {
                user_task_key: key, ..
            })
            | Command::CompleteUserTask(CompleteUserTask {
                user_task_key: key, ..
            })
            | Command::SetVariables {
                element_instance_key: key,
                ..
            }
            | Command::ActivateAdHoc(ActivateAdHoc {
                ad_hoc_sub_process_instance_key: key,
                ..
            }) => self.partition_of(*key, &request.command)?,
            Command::Batch(batch) if batch.key().some().is_some() => {
                self.partition_of(batch.key(), &request.command)?
            }
            Command::PublishMessage(message) => {
                message_partition(&message.correlation_key, self.config.partitions)
            }
            Command::CorrelateMessage(message) => {
                message_partition(&message.correlation_key, self.config.partitions)
            }
            // The engine takes it to the other partitions.
            Command::PinClock { .. }
            | Command::ResetClock
            | Command::BroadcastSignal(_)
            | Command::CreateClusterVariable(_)
            | Command::UpdateClusterVariable(_)
            | Command::DeleteClusterVariable { .. }
            | Command::CreateGlobalListener(_)
            | Command::UpdateGlobalListener(_)
            | Command::DeleteGlobalListener { .. }
            | Command::ActivateJobs(_) => 1,
            Command::Batch(_) => self.batch_operation_home()?,
        };
        self.submit(partition, request, started)
    }

    /// The partition that made the key. A key that no partition can have made is a key of nothing.
    fn partition_of(&self, key: Key, command: &Command) -> Result<u32, Failure> {
        let partitions = self.config.partitions;
        let partition = key.partition().filter(|made_by| *made_by <= partitions);
        partition.ok_or_else(|| {
            key_not_found(command).map_or_else(
                || Failure::NotFound(format!("There is nothing with key '{key}'")),
                Failure::Rejected,
            )
        })
    }

    /// Asks each partition once. Collects up to `max_jobs`. A partition that does not answer is passed over.
    async fn poll_partitions(&self, command: &ActivateJobs) -> Result<Vec<ActivatedJob>, Failure> {
        let partitions = self.config.partitions.max(1) as usize;
        let first = self.next_activation.fetch_add(1, Ordering::Relaxed);
        let mut collected = Collected {
            jobs: Vec::new(),
            broker: self,
        };
        let mut failure = None;
        let mut answered = false;
        for offset in 0..partitions {
            let left = command.max_jobs.saturating_sub(collected.jobs.len() as u32);
            if left == 0 {
                break;
            }
            let partition = ((first + offset) % partitions) as u32 + 1;
            let request = Command::ActivateJobs(ActivateJobs {
                max_jobs: left,
                ..command.clone()
            });
            match self.submit(partition, request.into(), Instant::now()) {
                Ok(reply) => {
                    let mut arriving = Arriving {
                        reply: Some(reply),
                        broker: self,
                    };
                    let answer =
                        tokio::time::timeout(self.config.poll_answer_timeout, arriving.answer())
                            .await;
                    let result = answer.map_or_else(
                        |_| Err(Failure::DeadlineExceeded(no_answer(partition))),
                        |answer| answer.result,
                    );
                    match result {
                        Ok(Response::JobsActivated { jobs: more, .. }) => {
                            answered = true;
                            collected.jobs.extend(more);
                        }
                        Ok(_) => {}
                        Err(error) => failure = Some(error),
                    }
                }
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            // Some partition answered: the others' trouble is theirs, the next poll asks them again.
            Some(failure) if !answered => Err(failure),
            Some(failure @ Failure::Rejected(_)) => Err(failure),
            _ => Ok(std::mem::take(&mut collected.jobs)),
        }
    }

    fn yield_job(&self, JobActivation { key, deadline }: JobActivation) {
        let partition = key.partition().and_then(|p| self.shared.partition(p));
        if let Some(partition) = partition {
            partition.inbox.send(Message::Yield { key, deadline });
        }
    }
}

/// The jobs of the partitions that have answered, while others are asked. They are lost to nobody when the client goes away.
struct Collected<'a> {
    jobs: Vec<ActivatedJob>,
    broker: &'a Broker,
}

impl Drop for Collected<'_> {
    fn drop(&mut self) {
        for job in &self.jobs {
            self.broker.yield_job(job.activation());
        }
    }
}

/// An answer with jobs that must not be lost when the client goes away.
struct Arriving<'a> {
    reply: Option<Reply>,
    broker: &'a Broker,
}

impl Arriving<'_> {
    async fn answer(&mut self) -> Answer {
        let answer = match &mut self.reply {
            Some(reply) => reply.await,
            None => Reply::ready(Ok(Response::Empty)).await,
        };
        self.reply = None;
        answer
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        if let Some(answer) = self.reply.as_mut().and_then(Reply::take_arrived)
            && let Ok(Response::JobsActivated { jobs, .. }) = answer.result
        {
            for job in &jobs {
                self.broker.yield_job(job.activation());
            }
        }
    }
}

impl skep_service::Broker for Broker {
    fn execute(&self, request: Request) -> Reply {
        self.route(request)
            .unwrap_or_else(|failure| Reply::ready(Err(failure)))
    }

    fn activate_jobs(
        &self,
        command: ActivateJobs,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>> {
        Box::pin(async move {
            let deadline = tokio::time::Instant::now() + wait;
            let notify = self.shared.notifier.subscribe(&command.job_type);
            loop {
                // Registered before looking, so that jobs announced meanwhile are not missed.
                let mut announced = std::pin::pin!(notify.notified());
                announced.as_mut().enable();
                let jobs = self.poll_partitions(&command).await?;
                let now = tokio::time::Instant::now();
                if !jobs.is_empty() || now >= deadline {
                    return Ok(jobs);
                }
                let until = deadline.min(now + self.config.probe_interval);
                let _ = tokio::time::timeout_at(until, announced).await;
                if tokio::time::Instant::now() >= deadline {
                    return Ok(Vec::new());
                }
            }
        })
    }

    fn give_back(&self, jobs: Vec<JobActivation>) {
        for job in jobs {
            self.yield_job(job);
        }
    }

    fn open_job_stream(&self, spec: ActivateJobs) -> Box<dyn JobReceiver> {
        Box::new(self.streams.open(spec))
    }

    fn ring(&self) {
        for partition in self.partitions() {
            partition.inbox.ring();
        }
    }

    fn topology(&self) -> Topology {
        let partitions = self
            .partitions()
            .iter()
            .map(|handle| PartitionInfo {
                partition_id: handle.status.partition,
                role: handle.status.role(),
                health: handle.status.health(),
            })
            .collect();
        let version = env!("CARGO_PKG_VERSION").to_string();
        let broker = BrokerInfo {
            node_id: i32::try_from(self.config.node_id).unwrap_or(i32::MAX),
            host: self.config.advertised_host.clone(),
            port: self.config.advertised_port,
            version: version.clone(),
            partitions,
        };
        Topology {
            cluster_id: self.cluster_id.clone(),
            cluster_size: 1,
            partitions_count: self.config.partitions,
            replication_factor: 1,
            gateway_version: version,
            last_completed_change_id: "-1".to_string(),
            brokers: Arc::new([broker]),
        }
    }
}

fn no_answer(partition: u32) -> String {
    format!(
        "Partition {partition} did not answer in time: it is paused or overloaded. Jobs that it activates for this request go \
         back to it at once."
    )
}

fn inbox_is_full(status: &PartitionStatus) -> String {
    let why = if status.processing_paused.load(Ordering::Relaxed) {
        "its processing is paused"
    } else if status.stalled.load(Ordering::Relaxed) {
        "its disk is full and the log cannot grow"
    } else {
        "its log is slow or an evaluation takes long"
    };
    format!(
        "Partition {} has {} commands with {} MiB that wait for their turn, more than {MAX_WAITING} commands or {} MiB may: \
         {why}. Nothing was done; send the request again after a pause.",
        status.partition,
        status.room.commands(),
        status.room.bytes() >> 20,
        MAX_WAITING_BYTES >> 20,
    )
}

fn unknown_partition(partition: u32, partitions: u32) -> Failure {
    Failure::NotFound(format!(
        "Partition {partition} does not exist: this cluster has the partitions 1 to {partitions}."
    ))
}

/// Locks the data directory and reads or writes what is fixed for its life: cluster id and partition count.
fn claim_directory(config: &BrokerConfig) -> Result<(std::fs::File, String), OpenError> {
    let directory = config.directory.display().to_string();
    let io = |source| OpenError::Directory {
        directory: directory.clone(),
        source,
    };
    skep_storage::disk::create_dir_durably(&config.directory).map_err(io)?;
    let lock = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(config.directory.join("lock"))
        .map_err(io)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => return Err(OpenError::InUse { directory }),
        Err(std::fs::TryLockError::Error(source)) => return Err(io(source)),
    }
    let path = config.directory.join("cluster");
    let cluster_id = match std::fs::read_to_string(&path) {
        Ok(text) => {
            let mut lines = text.lines();
            let id = lines.next().unwrap_or_default().to_string();
            let found = lines
                .next()
                .and_then(|n| n.parse().ok())
                .unwrap_or(config.partitions);
            if found != config.partitions {
                return Err(OpenError::PartitionCount {
                    directory,
                    found,
                    wanted: config.partitions,
                });
            }
            id
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let id = config
                .cluster_id
                .clone()
                .unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            write_durably(&path, &format!("{id}\n{}\n", config.partitions)).map_err(io)?;
            id
        }
        Err(error) => return Err(io(error)),
    };
    Ok((lock, cluster_id))
}

fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let temporary = path.with_extension("new");
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    match path.parent() {
        Some(directory) => std::fs::File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}
