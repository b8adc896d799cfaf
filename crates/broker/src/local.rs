//! The node's own objects: its partitions, the streams of its clients, waiting job activations, the status of its disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_cluster::State;
use skep_engine::{OldestNode, Sent};
use skep_protocol::command::{Class, Command, Request, Whose};
use skep_protocol::response::JobActivation;
use skep_protocol::{Failure, Routing, TenantId};
use skep_service::{Reply, Responder, reply_channel};

use crate::clock::real_time;
use crate::directory_view::DirectoryView;
use crate::disk::DiskSpace;
use crate::flow_control::{
    InboxPermit, MAX_EVALUATING, MAX_NEW_MANY, MAX_WAITING, MAX_WAITING_BYTES, NoPermit, Permit,
    SoleTenants,
};
use crate::freshness::Freshness;
use crate::hosted::{Hosted, Partitions};
use crate::job_streams::StreamHub;
use crate::known_state::KnownState;
use crate::long_polling::JobNotifier;
use crate::partition::{ClientRequest, Notice, PartitionHandle, PartitionStatus, Report, Work};
use crate::preparation::Preparation;
use crate::workers::Workers;

pub struct Local {
    pub(crate) hosted: Hosted,
    /// The entries that clients know of, and since when commit positions are unknown.
    pub(crate) freshness: Freshness,
    pub(crate) notifier: JobNotifier,
    /// Workers that have polled here.
    pub(crate) workers: Workers,
    /// When the node began to record them, in epoch milliseconds.
    pub(crate) began: i64,
    /// The directory of users and permissions.
    pub(crate) directory: DirectoryView,
    sole_tenants: SoleTenants,
    /// Streams of this node's clients.
    pub(crate) streams: StreamHub,
    pub(crate) disk: Arc<DiskSpace>,
    pub(crate) preparation: Preparation,
    pub(crate) known: KnownState,
    /// Shared with the engines of all partitions.
    pub(crate) oldest_node: OldestNode,
}

impl Local {
    pub fn new(preparation: Preparation) -> Local {
        Local {
            hosted: Hosted::default(),
            freshness: Freshness::new(Instant::now()),
            notifier: JobNotifier::default(),
            workers: Workers::default(),
            began: real_time(),
            directory: DirectoryView::default(),
            sole_tenants: SoleTenants::default(),
            streams: StreamHub::default(),
            disk: Arc::default(),
            preparation,
            known: KnownState::default(),
            oldest_node: OldestNode::default(),
        }
    }

    /// The newest known state of the cluster.
    pub fn state(&self) -> Arc<State> {
        self.known.get()
    }

    /// New keys of the partition must be above this one.
    pub(crate) fn least_key(&self, partition: u32) -> u64 {
        let least = self.state().least_keys.get(&partition).copied();
        least.unwrap_or_default()
    }

    /// The cluster has agreed on another routing.
    pub(crate) fn routing_is(&self, routing: &Arc<Routing>) {
        for handle in self.partitions() {
            handle.inbox.send(Notice::Routing(Arc::clone(routing)));
        }
    }

    /// Whether the command is from before a purge: such commands are ignored, even if they were delayed on their way.
    fn is_purged(&self, command: &Sent) -> bool {
        let Some(key) = command.command.made_with() else {
            return false;
        };
        let (state, routing) = self.known.both();
        let home = routing.home(key);
        let purged = home.and_then(|id| state.purged_keys.get(&id));
        purged.is_some_and(|purged| key.counter() <= *purged)
    }

    /// Takes a command of another partition, for one that this node leads.
    pub(crate) fn remote_here(&self, handle: &PartitionHandle, command: Sent) {
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

    /// Hands a request to a partition that this node leads; `Err` is the answer.
    pub(crate) fn submit(
        &self,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        self.take(self.partition(partition), partition, request, started)
    }

    /// The same for a partition that was already looked up.
    pub(crate) fn take(
        &self,
        handle: Option<Arc<PartitionHandle>>,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        let (responder, reply) = reply_channel();
        let handed_over = self.hand_over(handle, partition, (request, responder), started);
        handed_over.map(|()| reply).map_err(|(failure, _)| failure)
    }

    /// Hands a command of this node to a partition that it leads. Nobody waits for the answer: the partition's state shows whether the
    /// command was carried out. If it was not, the caller sends it again.
    pub(crate) fn command(&self, partition: u32, command: Command) {
        let asked = (Request::internal(command), Responder::of_nobody());
        let handle = self.partition(partition);
        drop(self.hand_over(handle, partition, asked, Instant::now()));
    }

    /// The same as [`Local::take`] for a client who waits already. `Err` is the answer to it.
    pub(crate) fn hand_over(
        &self,
        handle: Option<Arc<PartitionHandle>>,
        partition: u32,
        (request, responder): (Request, Responder),
        started: Instant,
    ) -> Result<(), (Failure, Responder)> {
        let admitted = handle
            .ok_or_else(|| self.not_here(partition))
            .and_then(|handle| Ok((self.admit(&handle, partition, &request)?, handle)));
        let ((permit, inbox_permit), handle) = match admitted {
            Ok(admitted) => admitted,
            Err(failure) => return Err((failure, responder)),
        };
        let received = Instant::now();
        let route = received.saturating_duration_since(started);
        let work = Work::Request(ClientRequest {
            request,
            responder,
            received,
            route,
            inbox_permit,
            permit: Some(permit),
            prepared: None,
        });
        let ring = !skep_service::rings_later();
        self.preparation.hand_on(work, &handle.inbox, ring);
        Ok(())
    }

    fn admit(
        &self,
        handle: &Arc<PartitionHandle>,
        partition: u32,
        request: &Request,
    ) -> Result<(Permit, InboxPermit), Failure> {
        let status = &handle.status;
        if !handle.leads() {
            return Err(Failure::Unavailable(match status.failure() {
                Some(reason) => format!("Partition {partition} has stopped: {reason}"),
                None => format!("Partition {partition} has no leader yet; send the request again."),
            }));
        }
        let class = request.command.class();
        let finishing = class.is_finishing();
        if let Some(reason) = self.no_disk_space(handle, class) {
            status.limit.refuse();
            return Err(Failure::ResourceExhausted(reason));
        }
        if !finishing
            && class != Class::Polling
            && let Some(reason) = status.writes.refusal(partition)
        {
            return Err(Failure::ResourceExhausted(reason));
        }
        let permit = status.limit.acquire(class, || self.tenant_of(request));
        let permit = permit.map_err(|why| {
            Failure::ResourceExhausted(match why {
                NoPermit::Full => no_permit(status, class),
                NoPermit::TenantIsFull(tenant, most) => share_is_taken(status, &tenant, most),
            })
        })?;
        let Some(inbox_permit) = status.inbox_capacity.take(request.weight()) else {
            status.limit.dropped.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::ResourceExhausted(inbox_is_full(status)));
        };
        Ok((permit, inbox_permit))
    }

    /// The tenant that a request belongs to, if that is known without looking up what it refers to.
    fn tenant_of(&self, request: &Request) -> Option<TenantId> {
        match request.command.whose() {
            Whose::New | Whose::Shown => Some(request.tenant.clone()),
            Whose::NewOf(tenant) | Whose::Of(tenant) => tenant.cloned(),
            Whose::Its | Whose::Resource(_) => {
                self.sole_tenants.of(&self.directory, &request.claims)
            }
            Whose::Cluster | Whose::Each => None,
        }
    }

    /// Why the disk has no space for the command, if so.
    fn no_disk_space(&self, handle: &PartitionHandle, class: Class) -> Option<String> {
        if class.is_finishing() {
            return None;
        }
        let status = &handle.status;
        let partition = status.partition;
        // Workers that get no jobs cannot finish what fills the disk.
        if class != Class::Polling
            && let Some(reason) = self.disk.refusal(partition)
        {
            return Some(with_holder(reason, handle));
        }
        let stalled = status.stalled.load(Ordering::Relaxed);
        stalled.then(|| {
            format!(
                "Partition {partition} takes no new work: its disk is full and the log cannot grow."
            )
        })
    }

    fn not_here(&self, partition: u32) -> Failure {
        let routing = self.known.routing();
        let partitions = routing.count();
        if routing.has(partition) {
            Failure::Unavailable(format!(
                "Partition {partition} is not available at the moment; nothing was done. Send the request again."
            ))
        } else {
            Failure::NotFound(format!(
                "Partition {partition} does not exist: this cluster has the partitions 1 to {partitions}."
            ))
        }
    }

    pub(crate) fn give_back(&self, partition: u32, jobs: Vec<JobActivation>) {
        for JobActivation { key, deadline } in jobs {
            if let Some(handle) = self.partition(partition) {
                handle.inbox.send(Work::Yield { key, deadline });
            }
        }
    }

    /// The last entry of the partition that is committed here.
    pub(crate) fn committed(&self, partition: u32) -> u64 {
        let handle = self.partition(partition);
        handle.map_or(0, |handle| handle.status.applied.load(Ordering::Acquire))
    }

    /// A client knows of entries up to this one: queries must see them.
    pub(crate) fn expect(&self, partition: u32, committed: u64) {
        match self.partition(partition) {
            Some(handle) => handle.progress.expect(committed),
            None => self.freshness.expect(partition, committed),
        }
    }

    /// True if the disk has no space for new work.
    pub(crate) fn is_disk_low(&self) -> bool {
        self.disk.low.load(Ordering::Relaxed)
    }

    /// Publishes the number of free bytes on the disk.
    pub(crate) fn disk_has(&self, free: u64) {
        for handle in self.partitions() {
            handle.status.disk_free.store(free, Ordering::Relaxed);
        }
    }

    /// Informs the partitions of the disk's status. While it is nearly full, they store a checkpoint whenever there is something new, to
    /// free the space of the log before it and of finished instances.
    pub(crate) fn disk_is(&self, low: bool) {
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

/// Names the exporter or the backups for which the log is kept: that is what fills the disk.
fn with_holder(reason: String, handle: &PartitionHandle) -> String {
    if handle.status.space.kept_for_backup.load(Ordering::Relaxed) {
        return format!(
            "{reason} The log is kept until it is shipped to the store of backups, because backups are required \
             (camunda.data.primary-storage.backup.required)."
        );
    }
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

fn share_is_taken(status: &PartitionStatus, tenant: &TenantId, most: u32) -> String {
    let partition = status.partition;
    format!(
        "Partition {partition} has {most} requests of the tenant '{tenant}' in flight, which is the share of its limit that one tenant may have \
         now (skep.tenants.in-flight-share); send the request again after a pause."
    )
}

fn no_permit(status: &PartitionStatus, class: Class) -> String {
    let partition = status.partition;
    match class {
        Class::NewMany => format!(
            "Partition {partition} already carries out {MAX_NEW_MANY} commands of this kind, which is the maximum: each may start very \
             many process instances. Nothing was done; send the request again after a pause."
        ),
        Class::Evaluating => format!(
            "Partition {partition} has {MAX_EVALUATING} evaluations in flight, which is the maximum; send the request again after a pause."
        ),
        Class::New | Class::Polling | Class::Finishing | Class::Ending => format!(
            "Partition {partition} has {} requests in flight, which is its limit now; send the request again after a pause.",
            status.limit.limit()
        ),
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
        "Partition {} has {} commands with {} MiB waiting, and at most {MAX_WAITING} commands or {} MiB may wait: {why}. Nothing was \
         done; send the request again after a pause.",
        status.partition,
        status.inbox_capacity.commands(),
        status.inbox_capacity.bytes() >> 20,
        MAX_WAITING_BYTES >> 20,
    )
}

#[cfg(test)]
mod tests {
    use skep_cluster::{Layout, State};
    use skep_engine::remote::{Distributed, GlobalLocation};
    use skep_engine::{RemoteCommand, ScalingCommand, Sent};
    use skep_protocol::Key;

    use super::Local;
    use crate::preparation::Preparation;

    #[test]
    fn late_commands_of_a_purged_partition_are_ignored() {
        let layout = Layout {
            nodes: vec![0],
            copies: 1,
            partitions: 2,
        };
        let state = State {
            revision: 1,
            purged_keys: [(2, 100)].into(),
            ..State::bootstrapped("id".to_string(), &layout, 0)
        };
        let local = Local::new(Preparation::start().unwrap());
        local.known.take_in(&state).unwrap();
        let sent = |distribution_key| {
            let command = RemoteCommand::AcknowledgeDistribution {
                distribution_key,
                partition: 1,
            };
            local.is_purged(&Sent::from(command))
        };
        assert!(sent(Key::new(2, 7)) && sent(Key::new(2, 100)));
        assert!(!sent(Key::new(2, 101)) && !sent(Key::new(1, 7)));
        assert!(!sent(Key::NONE));
    }

    /// After a purge, partitions that were added ask the first one for the global state again.
    #[test]
    fn a_late_part_of_the_global_state_before_a_purge_is_ignored() {
        let layout = Layout {
            nodes: vec![0],
            copies: 1,
            partitions: 2,
        };
        let state = State {
            revision: 1,
            purged_keys: [(1, 100)].into(),
            ..State::bootstrapped("id".to_string(), &layout, 0)
        };
        let local = Local::new(Preparation::start().unwrap());
        local.known.take_in(&state).unwrap();
        let part = |counter: u64| {
            let deployment = Distributed::Deployment {
                deployment_key: Key::new(1, counter),
                definitions: Vec::new(),
            };
            let items = vec![Distributed::PinClock { time: 5 }, deployment];
            let command = ScalingCommand::GlobalState {
                after: GlobalLocation::default(),
                items,
                next: None,
                partitions: 2,
            };
            local.is_purged(&Sent::from(RemoteCommand::Scaling(command)))
        };
        assert!(part(7) && part(100));
        assert!(!part(101));
        let pull = |counter: u64| {
            let after = GlobalLocation {
                kind: 4,
                key: Key::new(1, counter),
            };
            let command = ScalingCommand::PullGlobalState {
                partition: 2,
                after,
            };
            local.is_purged(&Sent::from(RemoteCommand::Scaling(command)))
        };
        assert!(pull(7) && !pull(101));
    }
}
