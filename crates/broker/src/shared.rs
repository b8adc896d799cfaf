//! The partitions of this node, as the router, the partitions themselves and other nodes see them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use skep_cluster::State;
use skep_engine::Sent;
use skep_protocol::command::{Class, Request};
use skep_protocol::response::JobActivation;
use skep_protocol::{Failure, Routing};
use skep_query::{Consistency, Query};
use skep_service::{Reply, reply_channel};

use crate::alone::Alone;
use crate::asking::{QueryResult, gone};
use crate::cluster::{Answerer, Cluster};
use crate::disk::DiskSpace;
use crate::flow_control::{MAX_WAITING, MAX_WAITING_BYTES};
use crate::hosted::{Hosted, Partitions};
use crate::job_streams::{Stream, StreamHub};
use crate::long_polling::JobNotifier;
use crate::partition::{
    ClientRequest, EffectSink, PartitionHandle, PartitionStatus, Report, WantedStore, Work,
};
use crate::preparation::Preparation;
use crate::purging::made_with;

pub struct Shared {
    pub(crate) hosted: Hosted,
    expected: Mutex<BTreeMap<u32, u64>>,
    /// When somebody could tell last how far each partition was committed.
    pub(crate) heard: Mutex<BTreeMap<u32, Instant>>,
    pub(crate) opened: Instant,
    pub notifier: JobNotifier,
    pub streams: Arc<StreamHub>,
    pub disk: OnceLock<Arc<DiskSpace>>,
    /// Answers what operators ask of all nodes.
    pub answerer: OnceLock<Answerer>,
    preparation: Preparation,
    pub routing: Arc<Routing>,
    /// The other nodes, if there are any.
    pub cluster: OnceLock<Arc<Cluster>>,
    /// What this node knows of itself if there are none.
    pub(crate) alone: OnceLock<Alone>,
}

impl Shared {
    /// New things of the partition get greater keys.
    pub fn least_key(&self, partition: u32) -> u64 {
        let least = self.state().least_keys.get(&partition).copied();
        least.unwrap_or_default()
    }

    /// What the cluster knows of itself, or what a cluster of this node alone would know.
    pub fn state(&self) -> Arc<State> {
        let cluster = self.cluster.get().map(|cluster| cluster.state());
        let alone = || self.alone.get().map(|alone| alone.state());
        cluster.or_else(alone).unwrap_or_default()
    }

    /// What was purged says nothing any more, also if it was long on its way.
    fn is_purged(&self, command: &Sent) -> bool {
        let Some(key) = made_with(command) else {
            return false;
        };
        let state = self.state();
        let home = self.routing.home(key);
        let purged = home.and_then(|id| state.purged_keys.get(&id));
        purged.is_some_and(|purged| key.counter() <= *purged)
    }

    pub fn new(preparation: Preparation, routing: Routing) -> Shared {
        let routing = Arc::new(routing);
        Shared {
            hosted: Hosted::default(),
            expected: Mutex::default(),
            heard: Mutex::default(),
            opened: Instant::now(),
            notifier: JobNotifier::default(),
            streams: Arc::new(StreamHub::new(routing.clone())),
            disk: OnceLock::new(),
            answerer: OnceLock::new(),
            preparation,
            routing,
            cluster: OnceLock::new(),
            alone: OnceLock::new(),
        }
    }

    /// There are other nodes.
    pub fn join(&self, cluster: Option<Arc<Cluster>>) {
        if let Some(cluster) = cluster {
            self.streams.join(&cluster);
            let _ = self.cluster.set(cluster);
        }
    }

    /// Streams of clients of all nodes.
    pub(crate) fn all_streams(&self) -> Vec<Arc<Stream>> {
        let mut streams = self.streams.streams();
        if let Some(cluster) = self.cluster.get() {
            streams.extend(cluster.streams_of_others());
        }
        streams
    }

    /// A command of another partition, for one that this node leads.
    pub fn remote_here(&self, handle: &PartitionHandle, command: Sent) {
        if self.is_purged(&command) {
            return;
        }
        let work = Work::Remote {
            command,
            prepared: None,
        };
        self.preparation.hand_on(work, &handle.inbox, true);
    }

    pub fn partitions(&self) -> Partitions {
        self.hosted.all()
    }

    pub fn partition(&self, partition: u32) -> Option<Arc<PartitionHandle>> {
        self.hosted.get(partition)
    }

    /// Whether commands for the partition are taken on this node.
    pub(crate) fn leads(&self, partition: u32) -> bool {
        let handle = self.partition(partition);
        handle.as_deref().is_some_and(PartitionHandle::leads)
    }

    /// Hands a request to a partition, here or where it is led; `Err` is the answer.
    pub fn submit(
        &self,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        let handle = self.partition(partition);
        if let Some(cluster) = self.cluster.get()
            && !handle.as_deref().is_some_and(PartitionHandle::leads)
            && cluster.has_partition(partition)
        {
            return cluster.forward(partition, request);
        }
        self.take(handle, partition, request, started)
    }

    /// Hands a request to a partition that this node leads; `Err` is the answer.
    pub fn submit_here(
        &self,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        self.take(self.partition(partition), partition, request, started)
    }

    fn take(
        &self,
        handle: Option<Arc<PartitionHandle>>,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        let handle = handle.ok_or_else(|| self.not_here(partition))?;
        let status = &handle.status;
        if !handle.leads() {
            return Err(Failure::Unavailable(match status.failure() {
                Some(reason) => format!("Partition {partition} has stopped: {reason}"),
                None => format!("Partition {partition} has no leader yet; send the request again."),
            }));
        }
        let class = request.command.class();
        let finishing = class.is_finishing();
        if !finishing {
            // Workers that get no jobs cannot finish what fills the disk.
            let activation = class == Class::Polling;
            if !activation
                && let Some(reason) = self.disk.get().and_then(|disk| disk.refusal(partition))
            {
                return Err(Failure::ResourceExhausted(with_holder(reason, &handle)));
            }
            if !activation && let Some(reason) = status.writes.refusal(partition) {
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
        let Some(permit) = status.inbox_capacity.take(request.weight()) else {
            status.limit.release();
            return Err(Failure::ResourceExhausted(inbox_is_full(status)));
        };
        let (responder, reply) = reply_channel();
        let received = Instant::now();
        let route = received.saturating_duration_since(started);
        let work = Work::Request(ClientRequest {
            request,
            responder,
            received,
            route,
            permit,
            prepared: None,
        });
        let ring = !skep_service::rings_later();
        self.preparation.hand_on(work, &handle.inbox, ring);
        Ok(reply)
    }

    fn not_here(&self, partition: u32) -> Failure {
        let partitions = self.routing.count();
        match self.routing.has(partition) {
            true => Failure::Unavailable(format!(
                "Partition {partition} is not there at the moment; nothing was done. Send the request again."
            )),
            false => Failure::NotFound(format!(
                "Partition {partition} does not exist: this cluster has the partitions 1 to {partitions}."
            )),
        }
    }

    /// Jobs that did not reach their worker.
    pub fn give_back(&self, jobs: impl IntoIterator<Item = JobActivation>) {
        for job in jobs {
            let Some(partition) = self.routing.home(job.key) else {
                continue;
            };
            match self.cluster.get() {
                Some(cluster) if !self.leads(partition) => {
                    cluster.give_back(partition, vec![job]);
                }
                _ => self.give_back_here(partition, vec![job]),
            }
        }
    }

    pub fn give_back_here(&self, partition: u32, jobs: Vec<JobActivation>) {
        for JobActivation { key, deadline } in jobs {
            if let Some(handle) = self.partition(partition) {
                handle.inbox.send(Work::Yield { key, deadline });
            }
        }
    }

    /// Up to which entry the partition is committed here.
    pub fn committed(&self, partition: u32) -> u64 {
        let handle = self.partition(partition);
        handle.map_or(0, |handle| handle.status.applied.load(Ordering::Acquire))
    }

    /// A client knows of what is committed up to this entry: queries are to see it.
    pub fn expect(&self, partition: u32, committed: u64) {
        if let Some(handle) = self.partition(partition) {
            handle.progress.expect(committed);
        } else {
            let mut expected = self.expected.lock();
            let known = expected.entry(partition).or_default();
            *known = committed.max(*known);
        }
    }

    /// Up to which entry clients know of a partition that has no replica here.
    pub(crate) fn expected(&self, partition: u32) -> u64 {
        let expected = self.expected.lock();
        expected.get(&partition).copied().unwrap_or_default()
    }

    /// Logs begin anew.
    pub(crate) fn forget_expected(&self) {
        self.expected.lock().clear();
    }

    /// The disk has no room for new work.
    pub(crate) fn is_disk_low(&self) -> bool {
        let disk = self.disk.get();
        disk.is_some_and(|disk| disk.low.load(Ordering::Relaxed))
    }

    /// How many bytes are free on the disk.
    pub fn disk_has(&self, free: u64) {
        for handle in self.partitions() {
            handle.status.disk_free.store(free, Ordering::Relaxed);
        }
    }

    /// Tells the partitions how the disk is. While it is nearly full they make checkpoints as soon as there is something
    /// new, so that the log before them and the rows of finished instances give their room back.
    pub fn disk_is(&self, low: bool) {
        for handle in self.partitions() {
            let status = &handle.status;
            status.disk_low.store(low, Ordering::Relaxed);
            let committed = status.committed_position.load(Ordering::Relaxed);
            if low && committed > status.checkpoint_position.load(Ordering::Relaxed) {
                handle.inbox.send(Report::TakeSnapshot(None));
            }
        }
    }
}

impl EffectSink for Shared {
    fn routing(&self) -> Arc<Routing> {
        self.routing.clone()
    }

    fn send_remote(&self, partition: u32, command: Sent) {
        match (self.cluster.get(), self.partition(partition)) {
            (Some(cluster), _) if !self.leads(partition) => {
                cluster.send_remote(partition, command);
            }
            (_, Some(handle)) => self.remote_here(&handle, command),
            (_, None) => {}
        }
    }

    fn jobs_available(&self, job_type: &Arc<str>) {
        self.notifier.announce(job_type);
        if let Some(cluster) = self.cluster.get() {
            cluster.announce(job_type);
        }
    }

    fn replicate(&self, message: skep_replication::Message) {
        if let Some(cluster) = self.cluster.get() {
            cluster.replicate(&message);
        }
    }

    fn is_heard(&self, node: u32) -> bool {
        let cluster = self.cluster.get();
        cluster.is_some_and(|cluster| cluster.is_heard(node))
    }

    fn replicated(&self, partition: u32) -> u64 {
        let cluster = self.cluster.get();
        cluster.map_or(u64::MAX, |cluster| cluster.replicated(partition))
    }

    fn query(
        self: Arc<Self>,
        partition: u32,
        query: Query,
        answer: Box<dyn FnOnce(QueryResult) + Send>,
    ) {
        let asked = self.ask(partition, query, Consistency::ReadYourWrites);
        let runtime = self.cluster.get().and_then(|cluster| cluster.runtime());
        match runtime.cloned() {
            Some(runtime) => {
                runtime.spawn(async move { answer(self.answer(asked).await) });
            }
            None => answer(Err(gone())),
        }
    }

    fn fetch_store(
        &self,
        wanted: WantedStore,
        before: Box<dyn FnOnce() + Send>,
        done: Box<dyn FnOnce() + Send>,
    ) -> std::io::Result<()> {
        match self.cluster.get() {
            Some(cluster) => cluster.fetch_store(wanted, before, done),
            None => Ok(()),
        }
    }

    fn role_changed(&self) {
        if let Some(cluster) = self.cluster.get() {
            cluster.role_changed();
        }
    }
}

/// With the exporter for which the log is kept, if one is far behind: that is what fills the disk.
fn with_holder(reason: String, handle: &PartitionHandle) -> String {
    let Some(slowest) = handle.exporters.slowest() else {
        return reason;
    };
    let exported = slowest.exported_position();
    let behind = handle.status.committed().saturating_sub(exported);
    match slowest.fault() {
        Some(fault) if behind > 0 => format!(
            "{reason} The log is kept for exporter '{}', which is {behind} records behind: {}.",
            slowest.id, fault.reason
        ),
        _ => reason,
    }
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
        status.inbox_capacity.commands(),
        status.inbox_capacity.bytes() >> 20,
        MAX_WAITING_BYTES >> 20,
    )
}

#[cfg(test)]
mod tests {
    use skep_engine::RemoteCommand;
    use skep_protocol::Key;

    use super::{Alone, Preparation, Routing, Sent, Shared, State};
    use crate::config::BrokerConfig;

    #[test]
    fn what_was_purged_says_nothing_however_late_it_comes() {
        let directory = tempfile::tempdir().unwrap();
        let config = BrokerConfig {
            directory: directory.path().to_path_buf(),
            ..BrokerConfig::default()
        };
        let (tell, _told) = crossbeam_channel::bounded(1);
        let state = State {
            purged_keys: [(2, 100)].into(),
            ..State::clone(&Alone::open(&config, tell.clone()).unwrap().state())
        };
        std::fs::write(directory.path().join("alone"), state.encode()).unwrap();
        let shared = Shared::new(Preparation::start().unwrap(), Routing::new(2));
        let _ = shared.alone.set(Alone::open(&config, tell).unwrap());
        let sent = |distribution_key| {
            let command = RemoteCommand::AcknowledgeDistribution {
                distribution_key,
                partition: 1,
            };
            shared.is_purged(&Sent::from(command))
        };
        assert!(sent(Key::new(2, 7)) && sent(Key::new(2, 100)));
        assert!(!sent(Key::new(2, 101)) && !sent(Key::new(1, 7)));
        assert!(!sent(Key::NONE));
    }
}
