//! The broker: routes requests to partitions and implements the trait that gateways use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skep_cluster::{Refusal, State};
use skep_engine::key_not_found;
use skep_identity::Directory;
use skep_protocol::command::{ActivateJobs, At, Command, Draft, Request};
use skep_protocol::origin::Claims;
use skep_protocol::response::JobActivation;
use skep_protocol::{ActivatedJob, Failure, Rejection, RejectionType, Response, Routing};
use skep_query::QueryError;
use skep_service::{
    self, BoxFuture, JobReceiver, NodeStates, PartitionRole, Reply, Topology, Work,
};

use crate::backup::OwnerOfBackups;
use crate::backup::marking::mark_all_the_time;
use crate::backup::schedule::keep_to_schedule;
use crate::backup::shipping::ship_all_the_time;
use crate::clock::{Clock, real_time};
use crate::cluster::bootstrap::Bootstrap;
use crate::cluster::{self, Cluster, HostingEvent};
use crate::config::BrokerConfig;
use crate::delivered_jobs::DeliveredJobs;
use crate::directory;
use crate::disk::DiskSpace;
use crate::ending::LIMIT;
use crate::hosted::Partitions;
use crate::hosting::Hosting;
use crate::job_streams::{Stream, StreamHub};
use crate::local::Local;
use crate::metrics::BrokerMetrics;
use crate::partition::{self, PartitionHandle, PartitionStatus, Report};
use crate::preparation::Preparation;
use crate::queries::pulse::LastPulse;
use crate::queries::work::NodeReports;
use crate::shared::Shared;
use crate::watch;
use crate::workers::{self, Noted};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Partition(#[from] partition::OpenError),
    #[error("the data directory {directory} cannot be used: {source}")]
    Directory {
        directory: String,
        source: std::io::Error,
    },
    #[error(
        "the file 'cluster' in the data directory {directory}, which identifies the owner of the data, is damaged; nothing was changed. \
         In a cluster remove the node, empty its directory and add the node again; restore a single node from a backup, with skep \
         restore, or from a copy of its directory"
    )]
    Damaged { directory: String },
    #[error(
        "the restore of the data directory {directory} from a backup did not finish: run skep restore again"
    )]
    HalfRestored { directory: String },
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    #[error("the data directory {directory} is in use by another process")]
    InUse { directory: String },
    #[error("the data directory {directory} cannot be used: {reason}")]
    Foreign { directory: String, reason: String },
    #[error(transparent)]
    Transport(#[from] cluster::OpenError),
    #[error("the node cannot join its cluster: {0}")]
    Cluster(String),
}

/// Election timeouts without a leader in which a node expects to find a majority of the cluster that it knows.
const ELECTIONS: u32 = 3;
/// What the thread of the cluster's state has in any case to end, once the partitions have had their time.
const SOON: Duration = Duration::from_secs(1);

/// Finds the other nodes, if there are any, and waits until the cluster is there. Returns its id.
fn join(
    config: &BrokerConfig,
    directory: &directory::Claimed,
    metrics: &BrokerMetrics,
    local: &Arc<Local>,
    hosting: crossbeam_channel::Sender<HostingEvent>,
) -> Result<(Arc<Cluster>, String), OpenError> {
    let bootstrap = Bootstrap::new(
        config.node_id,
        config.layout(),
        config.cluster_id.clone(),
        directory.identity.clone(),
        directory::keeper(config),
    );
    let bootstrap = bootstrap.with_patience(config.election_timeout() * ELECTIONS);
    if config.lease.is_some_and(|lease| lease.joins) {
        bootstrap.only_joins();
    }
    if config.cluster.is_some()
        && let Some((nodes, awaited)) = cluster::known_nodes(config, directory.alone)
    {
        bootstrap.nodes_are(nodes, awaited);
    }
    let cluster = Cluster::open(config.clone(), bootstrap, metrics, local.clone(), hosting)?;
    let joined = cluster.bootstrap().wait().and_then(|id| {
        cluster.take_part(directory)?;
        Ok(id)
    });
    match joined {
        Ok(id) => Ok((cluster, id)),
        Err(reason) => {
            cluster.stop(Instant::now() + LIMIT);
            Err(OpenError::Cluster(reason))
        }
    }
}

/// All partitions of this node.
pub struct Broker {
    config: BrokerConfig,
    shared: Arc<Shared>,
    metrics: BrokerMetrics,
    clock: Arc<Clock>,
    next_creation: AtomicUsize,
    next_activation: AtomicUsize,
    last_pulse: LastPulse,
    reports: NodeReports,
    /// Held for the lifetime of the process: one directory, one owner.
    lock: Option<Arc<std::fs::File>>,
}

impl Broker {
    /// Opens all partitions. Returns when their state is recovered and their threads run.
    pub fn open(mut config: BrokerConfig, clock: Arc<Clock>) -> Result<Arc<Broker>, OpenError> {
        let directory = directory::claim(&config)?;
        let metrics = BrokerMetrics::default();
        let preparation = Preparation::start().map_err(OpenError::Thread)?;
        let local = Arc::new(Local::new(preparation));
        let (sender, receiver) = crossbeam_channel::bounded(64);
        let (cluster, cluster_id) = join(&config, &directory, &metrics, &local, sender)?;
        config.cluster_id = Some(cluster_id);
        // The cluster's agreed state takes precedence.
        let state = local.state();
        if config.partitions > state.partitions {
            let (there, configured) = (state.partitions, config.partitions);
            tracing::warn!(
                code = "PARTITION_COUNT",
                there,
                configured,
                "there are fewer partitions than are configured (camunda.cluster.partition-count): the setting is used only when the \
                 data directory is created; `skep cluster apply` adds partitions"
            );
        }
        config.partitions = state.partitions;
        let shared = Shared::new(local.clone(), cluster.clone());
        let hosting = Hosting {
            config: config.clone(),
            clock: clock.clone(),
            metrics: metrics.clone(),
            shared: Arc::downgrade(&shared),
        };
        if !config.is_gateway() {
            hosting.open_all(&state)?;
        }
        watch::watch(&config, local);
        std::thread::Builder::new()
            .name("replicas".to_string())
            .spawn(move || hosting.run(&receiver))
            .map_err(OpenError::Thread)?;
        cluster.begin();
        keep_to_schedule(&cluster).map_err(OpenError::Thread)?;
        ship_all_the_time(&cluster).map_err(OpenError::Thread)?;
        mark_all_the_time(&cluster).map_err(OpenError::Thread)?;
        Ok(Arc::new(Broker {
            config,
            shared,
            metrics,
            clock,
            next_creation: AtomicUsize::new(0),
            next_activation: AtomicUsize::new(0),
            last_pulse: LastPulse::default(),
            reports: NodeReports::default(),
            lock: directory.lock.map(Arc::new),
        }))
    }

    /// Moves leaders to their preferred nodes. A single node leads all of its partitions: there is nothing to move.
    pub fn rebalance(&self) {
        if let Some(cluster) = self.cluster() {
            cluster.rebalance();
        }
    }

    /// The other nodes, if there are any.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.shared.others()
    }

    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Job streams of clients of all nodes, as far as this one knows them.
    pub fn streams_of_all_nodes(&self) -> Vec<Arc<Stream>> {
        self.shared.all_streams()
    }

    pub fn streams(&self) -> &StreamHub {
        &self.shared.local.streams
    }

    pub fn metrics(&self) -> &BrokerMetrics {
        &self.metrics
    }

    pub fn disk(&self) -> &DiskSpace {
        &self.shared.local.disk
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn last_pulse(&self) -> &LastPulse {
        &self.last_pulse
    }

    pub(crate) fn reports(&self) -> &NodeReports {
        &self.reports
    }

    pub fn partitions(&self) -> Partitions {
        self.shared.local.partitions()
    }

    /// The cluster's own state.
    pub fn cluster_state(&self) -> Arc<State> {
        self.shared.local.state()
    }

    /// Why this node takes no part in changes of the cluster, while it does not: the disk of `cluster-state` is full, or has failed.
    pub fn metadata_trouble(&self) -> Option<String> {
        self.shared.cluster.metadata_trouble()
    }

    /// The routing of keys to partitions.
    pub fn routing(&self) -> Arc<Routing> {
        self.shared.routing()
    }

    /// Sends a request for a cluster change to the node that decides.
    ///
    /// # Errors
    /// The request is refused, or the node cannot be reached.
    pub async fn ask_for(&self, ask: cluster::Ask) -> Result<cluster::Answer, Refusal> {
        self.shared.cluster.ask(ask).await
    }

    /// This cluster, as the owner of the backups in a store.
    pub fn owner_of_backups(&self) -> OwnerOfBackups {
        OwnerOfBackups::new(&self.shared.cluster)
    }

    /// From now on this node answers operators' questions about all nodes.
    pub fn answer_questions(&self, answerer: cluster::Answerer) {
        self.shared.cluster.answer_questions(answerer);
    }

    /// The answers of all nodes, including this one; `None` for nodes that do not answer within 2 s.
    pub async fn ask_nodes(&self, question: &str) -> BTreeMap<u32, Option<String>> {
        self.shared.cluster.ask_nodes(question).await
    }

    /// True if every partition has a leader, here or on another node, except those that have failed for good. A node none of whose
    /// replicas works is not ready, even if others lead: its disk may be broken, and it has to be looked at.
    pub fn is_ready(&self) -> bool {
        let replicas = self.partitions();
        if !replicas.is_empty() && replicas.iter().all(|it| it.status.failure().is_some()) {
            return false;
        }
        let is_led = |partition: u32| match self.cluster() {
            Some(cluster) => {
                self.shared.local.leads(partition) || cluster.leader_of(partition).is_some()
            }
            None => self.shared.local.leads(partition),
        };
        // In a cluster, a failed replica says nothing about the others.
        let has_failed = |partition: u32| {
            let handle = self.shared.local.partition(partition);
            self.cluster().is_none() && handle.is_some_and(|it| it.status.failure().is_some())
        };
        let mut all = self.routing().partitions();
        all.clone().any(is_led) && all.all(|it| is_led(it) || has_failed(it))
    }

    /// Sets the metrics that are read from partitions at each scrape.
    pub fn refresh_metrics(&self) {
        self.metrics.follow_exporters(&self.shared.local);
        for handle in self.partitions() {
            self.metrics.refresh(&handle, self.config.node_id);
        }
        let streams = i64::try_from(self.streams().streams().len()).unwrap_or(i64::MAX);
        self.metrics.node.open_streams.set(streams);
    }

    /// Stops all partitions after a last checkpoint of each. Blocks: partitions have [`LIMIT`](crate::STOP_LIMIT), other nodes 2 s more.
    /// False: a thread does not end, because its disk may not answer. Then the data directory stays locked until the process has ended.
    pub fn stop(&self) -> bool {
        self.stop_until(Instant::now() + LIMIT)
    }

    pub(crate) fn stop_until(&self, deadline: Instant) -> bool {
        let local = &self.shared.local;
        let mut have_ended = self.shared.cluster.stop_steps();
        local.disk.stop();
        local.streams.end_all();
        for partition in self.partitions() {
            partition.inbox.send(Report::Stop);
        }
        for partition in self.partitions() {
            have_ended &= partition.stop_until(deadline);
        }
        have_ended &= self
            .shared
            .cluster
            .stop(deadline.max(Instant::now() + SOON));
        if !have_ended {
            // Another process, or another broker of this one, must not open files to which a thread may still write.
            std::mem::forget(self.lock.clone());
        }
        have_ended
    }

    /// Hands a request to a partition; `Err` is the answer.
    fn submit(&self, partition: u32, request: Request, started: Instant) -> Result<Reply, Failure> {
        self.shared.submit(partition, request, started)
    }

    /// Creations go round the partitions that can accept them; if none can, the first one in turn gives the reason.
    fn submit_anywhere(&self, request: Request, started: Instant) -> Result<Reply, Failure> {
        let partitions = self.routing().accepting() as usize;
        let first = self.next_creation.fetch_add(1, Ordering::Relaxed);
        let in_turn = |offset: usize| ((first + offset) % partitions) as u32 + 1;
        let free = (0..partitions)
            .map(in_turn)
            .find(|partition| self.can_take(*partition));
        self.submit(free.unwrap_or(in_turn(0)), request, started)
    }

    fn can_take(&self, partition: u32) -> bool {
        let handle = self.shared.local.partition(partition);
        let leads = |it: &Arc<PartitionHandle>| it.status.role() == PartitionRole::Leader;
        if let Some(cluster) = self.cluster()
            && !handle.as_ref().is_some_and(leads)
        {
            return cluster.reaches_leader_of(partition) && !cluster.is_leader_full(partition);
        }
        handle.is_some_and(|handle| {
            let status = &handle.status;
            !self.shared.local.is_disk_low()
                && status.health() == skep_service::PartitionHealth::Healthy
                && status.role() == PartitionRole::Leader
                && status.limit.inflight() < status.limit.limit()
        })
    }

    /// Checks that batch operations can search their items.
    fn check_searches(&self) -> Result<(), Failure> {
        match self.config.secondary_storage {
            Some(_) => Ok(()),
            None => Err(Failure::Rejected(Rejection::new(
                RejectionType::Forbidden,
                "CREATE",
                QueryError::Disabled.to_string(),
            ))),
        }
    }

    fn route(&self, request: Request) -> Result<Reply, Failure> {
        let started = Instant::now();
        if let Some(cluster) = self.shared.others() {
            cluster.knows_everywhere(&request)?;
        }
        let at = request.command.at();
        match at {
            At::Turn => return self.submit_anywhere(request, started),
            At::Home => self.check_searches()?,
            At::Key(_) | At::Correlation(_) | At::First | At::Given(_) => {}
        }
        let partition = self.routing().partition_of(at);
        let partition = partition.ok_or_else(|| of_nothing(&request))?;
        let changes_identity = request.command.changes_identity();
        let others = self.shared.others().filter(|_| changes_identity);
        let Some(cluster) = others else {
            return self.submit(partition, request, started);
        };
        let before = self.shared.local.directory.number();
        let reply = self.submit(partition, request, started)?;
        Ok(cluster.answers_when_known(reply, before))
    }

    /// Notes that a local client has polled for jobs and waits this long. For polls at a gateway, the partition leaders note them.
    fn note_worker(&self, command: &ActivateJobs, claims: &Claims, waits: Duration) {
        if !self.config.is_gateway() {
            let local = &self.shared.local;
            let now = real_time();
            let whose = (claims, &*local.directory.get());
            let node = self.config.node_id;
            let asker = workers::poll(command, whose, Noted { node, now });
            let waits = i64::try_from(waits.as_millis()).unwrap_or_default();
            local.workers.asked(asker, now.saturating_add(waits));
        }
    }

    /// Asks each partition once. Collects up to `max_jobs`. A partition that does not answer is skipped.
    async fn poll_partitions(
        &self,
        command: &ActivateJobs,
        claims: &Claims,
    ) -> Result<Vec<ActivatedJob>, Failure> {
        let partitions = self.routing().count() as usize;
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
            match self.submit(
                partition,
                Draft::from(request).by(claims.clone()),
                Instant::now(),
            ) {
                Ok(reply) => {
                    let mut delivered =
                        DeliveredJobs::new(reply, |jobs| self.shared.give_back(jobs));
                    let answer =
                        tokio::time::timeout(self.config.poll_answer_timeout, delivered.answer())
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
            // Some partition answered, so the others' failures are ignored; the next poll asks them again.
            Some(failure) if !answered || matches!(failure, Failure::Rejected(_)) => Err(failure),
            Some(_) | None => Ok(std::mem::take(&mut collected.jobs)),
        }
    }
}

/// The jobs of partitions that have answered, while others are asked. If the client disconnects, the jobs go back.
struct Collected<'a> {
    jobs: Vec<ActivatedJob>,
    broker: &'a Broker,
}

impl Drop for Collected<'_> {
    fn drop(&mut self) {
        let jobs = self.jobs.iter().map(|job| job.activation());
        self.broker.shared.give_back(jobs);
    }
}

impl skep_service::Broker for Broker {
    fn execute(&self, request: Request) -> Reply {
        self.route(request)
            .unwrap_or_else(|failure| Reply::ready(Err(failure)))
    }

    fn is_known_everywhere(&self, request: &Request) -> bool {
        let others = self.shared.others();
        others.is_none_or(|cluster| cluster.knows_everywhere(request).is_ok())
    }

    fn activate_jobs(
        &self,
        command: ActivateJobs,
        claims: Claims,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>> {
        Box::pin(async move {
            if wait.is_zero() {
                let jobs = self.poll_partitions(&command, &claims).await?;
                self.note_worker(&command, &claims, wait);
                return Ok(jobs);
            }
            let deadline = tokio::time::Instant::now() + wait;
            let parked = self.shared.local.notifier.park(&command, &claims);
            let mut wake = parked.wake();
            loop {
                // Registered before looking, so that jobs announced meanwhile are not missed.
                let mut next = std::pin::pin!(wake.listen());
                wake.register(next.as_mut());
                if let Some(cluster) = self.shared.others() {
                    cluster.want(&command.job_type, &command.tenants);
                }
                let jobs = self.poll_partitions(&command, &claims).await?;
                wake.looked(!jobs.is_empty());
                let now = tokio::time::Instant::now();
                let until = deadline.min(now + self.config.probe_interval);
                let waits = if jobs.is_empty() {
                    until.saturating_duration_since(now)
                } else {
                    Duration::ZERO
                };
                self.note_worker(&command, &claims, waits);
                if !jobs.is_empty() || now >= deadline {
                    return Ok(jobs);
                }
                if tokio::time::timeout_at(until, next).await.is_ok() {
                    wake.came();
                }
                if tokio::time::Instant::now() >= deadline {
                    return Ok(Vec::new());
                }
            }
        })
    }

    fn give_back(&self, jobs: Vec<JobActivation>) {
        self.shared.give_back(jobs);
    }

    fn open_job_stream(&self, spec: ActivateJobs, claims: Claims) -> Box<dyn JobReceiver> {
        Box::new(self.shared.open_stream(spec, claims))
    }

    fn directory(&self) -> Arc<Directory> {
        self.shared.local.directory.get()
    }

    fn directory_age(&self) -> Duration {
        // A node alone decides itself.
        if self.shared.cluster.has_others() {
            self.shared.local.directory.age()
        } else {
            Duration::ZERO
        }
    }

    fn ring(&self) {
        for partition in self.partitions().iter() {
            partition.inbox.ring();
        }
    }

    fn waiting_jobs(&self) -> usize {
        let led = |status: &PartitionStatus| status.role() == PartitionRole::Leader;
        let partitions = self.partitions();
        let statuses = partitions.iter().map(|partition| &partition.status);
        let waiting = statuses.filter(|status| led(status));
        waiting
            .map(|status| status.jobs.waiting.load(Ordering::Relaxed))
            .sum()
    }

    fn work(&self) -> BoxFuture<'_, Arc<Work>> {
        Box::pin(self.work_of_all())
    }

    fn node_states(&self) -> BoxFuture<'_, Arc<NodeStates>> {
        Box::pin(self.states_of_all())
    }

    fn measured(&self, from: i64) -> BoxFuture<'_, Arc<NodeStates>> {
        Box::pin(self.measured_by_all(from))
    }

    fn topology(&self) -> Topology {
        let state = self.cluster_state();
        let version = env!("CARGO_PKG_VERSION").to_string();
        let brokers = self.shared.cluster.brokers();
        Topology {
            cluster_id: self.config.cluster_id.clone().unwrap_or_default(),
            cluster_size: u32::try_from(state.nodes.len()).unwrap_or(u32::MAX),
            partitions_count: state.partitions,
            replication_factor: state.replication_factor(),
            gateway_version: version,
            last_completed_change_id: match state.last_change() {
                Some(last) => last.change.id.to_string(),
                None => "-1".to_string(),
            },
            brokers: brokers.into(),
        }
    }
}

/// The failure for a key that no partition can have assigned.
fn of_nothing(request: &Request) -> Failure {
    let key = request.command.record().key;
    key_not_found(request).map_or_else(
        || Failure::NotFound(format!("There is nothing with key '{key}'")),
        Failure::Rejected,
    )
}

fn no_answer(partition: u32) -> String {
    format!(
        "Partition {partition} did not answer in time: it is paused or overloaded. Jobs that it activates for this request become \
         available again at once."
    )
}
