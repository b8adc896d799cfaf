//! This node within the cluster: bootstrap, messages between replicas, requests and jobs across nodes, membership.

mod backups;
pub mod bootstrap;
mod carried_over;
mod changes;
mod directory;
mod gateways;
mod heartbeats;
mod held;
mod management;
mod members;
mod metadata_group;
pub mod metadata_member;
mod queries;
mod questions;
mod rebalance;
mod requests;
pub mod shares;
mod state;
pub mod steps;
mod stores;
mod streams;
mod unsafe_recovery;
mod versions;
mod wanted;
mod wire;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::Sender;
use parking_lot::Mutex;
use skep_cluster::{State, is_gateway, node_of};
use skep_replication::Message as ReplicaMessage;
use skep_transport::{Class, SendError, Transport};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use self::backups::Backups;
use self::bootstrap::Bootstrap;
use self::bootstrap::disbelieved::Disbelieved;
pub(crate) use self::changes::now;
use self::gateways::Visitors;
use self::heartbeats::Heartbeats;
use self::held::HeldCommands;
use self::management::OperatorRequests;
pub use self::management::{Answer, Ask};
use self::members::Members;
use self::queries::Queries;
use self::queries::confirming::Confirmations;
use self::queries::positions::Positions;
pub use self::questions::Answerer;
use self::questions::Questions;
pub(crate) use self::questions::node_answers::{PULSE_QUESTION, WORK_QUESTION};
use self::rebalance::{Meters, Stability};
use self::requests::Requests;
use self::state::Metadata;
pub(crate) use self::state::{known_nodes, write_first};
use self::stores::Copies;
use self::streams::RemoteStreams;
use self::wanted::Wanted;
use self::wire::owner::{Bulk, in_bulk};
use self::wire::{ClusterMessage, NodeMessage};
use crate::config::BrokerConfig;
use crate::local::Local;
use crate::metrics::BrokerMetrics;
use crate::metrics::nodes::MessagingFamilies;
use crate::partition::Report;

pub use skep_transport::OpenError;

/// How often requests that will not be answered are looked for.
const LOOK_AROUND: Duration = Duration::from_millis(250);
/// Once per second a node broadcasts its status and drops requests whose clients are gone.
const LOOKS_A_SECOND: u64 = 4;
/// A node that no longer leads anything stays connected until it has had no request for `QUIET`, but no longer than `LAST_ANSWERS`.
const QUIET: Duration = Duration::from_millis(200);
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// How long a stopping node waits for a step of a change.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Cluster {
    config: BrokerConfig,
    incarnation: u64,
    bootstrap: Bootstrap,
    /// `None` for a single node.
    transport: Option<Transport>,
    /// This node's own objects.
    local: Arc<Local>,
    exchanges: Exchanges,
    peers: Peers,
    streams: RemoteStreams,
    metadata: Metadata,
    /// Starts and stops replicas.
    hosting: Sender<HostingEvent>,
    backups: Backups,
    life: Life,
}

/// Unanswered requests to other nodes, and requests that others have made here.
struct Exchanges {
    requests: Requests,
    queries: Queries,
    positions: Positions,
    confirmations: Confirmations,
    questions: Questions,
    copies: Copies,
    operator_requests: OperatorRequests,
    held: HeldCommands,
}

impl Exchanges {
    fn new(metrics: MessagingFamilies) -> Exchanges {
        Exchanges {
            requests: Requests::new(metrics),
            queries: Queries::default(),
            positions: Positions::default(),
            confirmations: Confirmations::default(),
            questions: Questions::default(),
            copies: Copies::default(),
            operator_requests: OperatorRequests::default(),
            held: HeldCommands::default(),
        }
    }
}

/// The other nodes of the cluster, as they last reported themselves.
#[derive(Default)]
struct Peers {
    members: Members,
    heartbeats: Heartbeats,
    /// Nodes whose clients wait for jobs.
    wanted: Wanted,
    visitors: Visitors,
    /// Nodes whose states of the cluster do not count.
    disbelieved: Disbelieved,
    /// The node whose directory this node has, and the directory's number there.
    followed: Mutex<Option<(u32, u64)>>,
}

/// Progress of this node's life cycle.
#[derive(Default)]
struct Life {
    /// Whether the partitions are there.
    begun: AtomicBool,
    /// When that was.
    begun_at: Mutex<Option<Instant>>,
    stopped: AtomicBool,
    /// Held while a step of a change is carried out here.
    step: Mutex<()>,
    /// A step of a change may be possible now: it need not wait until the node looks around.
    change_is_due: Arc<Notify>,
    /// The node was left behind and has acted on that.
    left: AtomicBool,
    stability: Mutex<Stability>,
    meters: Meters,
}

/// A change in what this node should host.
pub(crate) enum HostingEvent {
    /// The state has changed.
    Look,
    /// The leader of a partition says that this node is a member of its group.
    Join {
        partition: u32,
        member: u64,
        members: Vec<u8>,
    },
}

impl Cluster {
    /// Listens for the other nodes and looks for them. `hosting` is notified of replicas to start or stop.
    ///
    /// # Errors
    /// The port is in use.
    pub(crate) fn open(
        config: BrokerConfig,
        bootstrap: Bootstrap,
        metrics: &BrokerMetrics,
        local: Arc<Local>,
        hosting: Sender<HostingEvent>,
    ) -> Result<Arc<Cluster>, OpenError> {
        let wire = config
            .cluster
            .as_ref()
            .map(|cluster| members::wire_of(&config, cluster));
        let listening = wire.map(Transport::listen).transpose()?;
        let (transport, listening) = listening.unzip();
        let backups = Backups::new(&config, metrics.backups.clone());
        let this = Arc::new(Cluster {
            config,
            incarnation: uuid::Uuid::new_v4().as_u64_pair().0,
            bootstrap,
            transport,
            local,
            exchanges: Exchanges::new(metrics.messaging.clone()),
            peers: Peers::default(),
            streams: RemoteStreams::default(),
            metadata: Metadata::new(metrics.changes.clone()),
            hosting,
            backups,
            life: Life::default(),
        });
        if let (Some(runtime), Some(listening)) = (this.runtime(), listening) {
            let due = this.life.change_is_due.clone();
            runtime.spawn(look_around(Arc::downgrade(&this), due));
            heartbeats::keep_beating(&this, runtime);
            directory::keep_following(&this, runtime);
            listening.serve(this.clone());
        }
        Ok(this)
    }

    /// Whether there may be other nodes.
    pub(crate) fn has_others(&self) -> bool {
        self.transport.is_some()
    }

    /// The known other nodes.
    fn peers(&self) -> impl Iterator<Item = u32> {
        self.transport.iter().flat_map(Transport::peers)
    }

    /// The partitions are there: messages for them are accepted from now on.
    pub(crate) fn begin(&self) {
        *self.life.begun_at.lock() = Some(Instant::now());
        self.life.begun.store(true, Ordering::Release);
        self.broadcast_status();
    }

    pub fn bootstrap(&self) -> &Bootstrap {
        &self.bootstrap
    }

    pub fn node(&self) -> u32 {
        self.config.node_id
    }

    /// Asks for the local replicas to be brought in line with the state.
    pub(super) fn look_after_replicas(&self) {
        self.notify_hosting(HostingEvent::Look);
    }

    fn notify_hosting(&self, event: HostingEvent) {
        // The hosting thread also checks by itself.
        let _ = self.hosting.try_send(event);
    }

    /// Tells connected nodes that are no longer in the cluster that they were removed.
    fn notify_removed(&self) {
        let state = self.state();
        let Some((leader, own)) = self.metadata_leader() else {
            return;
        };
        if leader != own {
            return;
        }
        for node in self.peers() {
            if !state.nodes.contains_key(&node)
                && !is_gateway(node)
                && self.is_connected(node, Class::Requests)
            {
                let state = state.encode();
                let message = NodeMessage::Cluster(ClusterMessage::State { state });
                self.send(node, &message);
            }
        }
    }

    pub(super) fn is_connected(&self, node: u32, class: Class) -> bool {
        let transport = self.transport.as_ref();
        transport.is_some_and(|transport| transport.is_connected(node, class))
    }

    /// Prevents further steps of a change here. Waits for the running one; false: not until it had ended.
    pub(crate) fn stop_steps(&self) -> bool {
        self.life.stopped.store(true, Ordering::Release);
        self.notify_hosting(HostingEvent::Look);
        self.life.step.try_lock_for(PATIENCE).is_some()
    }

    /// Carries out a step of a change, unless the node is stopping.
    pub(crate) fn step<T>(&self, carry_out: impl FnOnce() -> T) -> Option<T> {
        let _step = self.life.step.lock();
        (!self.is_stopped()).then(carry_out)
    }

    /// Ends all connections. Blocks. False: the thread of the cluster's state, or that of the connections, still runs at the deadline.
    pub fn stop(&self, deadline: Instant) -> bool {
        self.life.stopped.store(true, Ordering::Release);
        self.bootstrap.give_up("the node stops");
        self.answer_the_last();
        self.forget_incoming();
        let has_ended = self.stop_metadata_group(deadline);
        let until = deadline.max(Instant::now() + QUIET);
        let hangs = (self.transport.as_ref()).is_some_and(|transport| !transport.stop(until));
        if hangs {
            tracing::warn!(
                "the connections between nodes do not end: a message that is being handled may wait for the disk"
            );
        }
        has_ended && !hangs
    }

    /// Tells the others that this node no longer leads anything. Answers requests sent before, so that no outcome stays unknown.
    fn answer_the_last(&self) {
        if !self.has_others() {
            return;
        }
        self.broadcast_status();
        let began = Instant::now();
        let mut quiet = began;
        while quiet.elapsed() < QUIET && began.elapsed() < LAST_ANSWERS {
            if !self.serves_nobody() {
                quiet = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.life.stopped.load(Ordering::Acquire)
    }

    /// The partition's leader, as far as the local replica knows, or as other nodes report if there is no working replica here.
    pub fn leader_of(&self, partition: u32) -> Option<u32> {
        match self.local()?.partition(partition) {
            Some(handle) if handle.status.works() => handle.status.leader(),
            _ => self.peers.members.leader(partition),
        }
    }

    /// The reachable nodes of the cluster, without this one.
    fn reached_nodes(&self) -> BTreeSet<u32> {
        let state = self.state();
        let reached = self.peers().filter(|node| {
            let belongs = !state.is_bootstrapped() || state.nodes.contains_key(node);
            belongs && self.is_connected(*node, Class::Requests)
        });
        reached.collect()
    }

    /// The number of reachable nodes.
    pub fn reached(&self) -> u32 {
        u32::try_from(self.reached_nodes().len()).unwrap_or(u32::MAX)
    }

    /// Whether requests for the partition can be sent to its leader.
    pub fn reaches_leader_of(&self, partition: u32) -> bool {
        let leader = self.leader_of(partition);
        leader.is_some_and(|leader| self.is_present(leader))
    }

    /// Whether the partition's leader has no room for new work.
    pub fn is_leader_full(&self, partition: u32) -> bool {
        let leader = self.leader_of(partition);
        leader.is_some_and(|leader| self.peers.members.is_disk_low(leader))
    }

    /// Whether this node has been up long enough to have heard the others.
    fn is_at_home(&self) -> bool {
        let begun = *self.life.begun_at.lock();
        begun.is_some_and(|begun| begun.elapsed() >= self.config.election_timeout() * 2)
    }

    /// This node's own objects, once the partitions are there.
    fn local(&self) -> Option<&Arc<Local>> {
        let begun = self.life.begun.load(Ordering::Acquire);
        begun.then_some(&self.local)
    }

    pub(crate) fn runtime(&self) -> Option<&Handle> {
        self.transport.as_ref().map(Transport::runtime)
    }

    /// Sends a message. Returns false if it will not arrive.
    fn send(&self, to: u32, message: &NodeMessage) -> bool {
        self.send_in_class(to, Class::Requests, |version| message.encode_for(version))
            .is_ok()
    }

    /// Sends a message, encoded for the version that the receiver reads. A message that it would not understand is not sent.
    fn send_in_class(
        &self,
        to: u32,
        class: Class,
        encode: impl FnOnce(u32) -> Option<Bytes>,
    ) -> Result<(), SendError> {
        let transport = self.transport.as_ref().ok_or(SendError::Down)?;
        let version = transport.version(to, class).ok_or(SendError::Down)?;
        let message = encode(version).ok_or(SendError::Down)?;
        transport.send_in(version, to, class, message)
    }

    fn send_bytes(&self, to: u32, class: Class, message: Bytes) -> Result<(), SendError> {
        let transport = self.transport.as_ref().ok_or(SendError::Down)?;
        transport.send(to, class, message)
    }

    /// Sends to all nodes that can have partitions.
    fn broadcast(&self, message: &NodeMessage) {
        self.send_to_all(message, |node| !is_gateway(node));
    }

    fn send_to_all(&self, message: &NodeMessage, which: impl Fn(u32) -> bool) {
        for node in self.peers().filter(|node| which(*node)) {
            self.send(node, message);
        }
    }

    /// Sends bulk data, which must not delay other messages.
    fn send_in_bulk(&self, to: u32, message: &NodeMessage) -> Result<(), SendError> {
        self.send_in_class(to, Class::Bulk, |version| {
            Some(in_bulk(Bulk::Node, &message.encode_for(version)?))
        })
    }

    /// Sends a message from a local replica to one on another node. It may be lost: replicas repeat what matters.
    pub fn replicate(&self, message: &ReplicaMessage) {
        let (class, bytes) = if message.is_snapshot() {
            (Class::Bulk, in_bulk(Bulk::Replica, &message.encode()))
        } else {
            (Class::Consensus, message.encode())
        };
        if let Some(to) = node_of(message.to()) {
            let _ = self.send_bytes(to, class, bytes);
        }
    }

    /// Announces that this node starts or stops leading a partition.
    pub fn role_changed(&self) {
        self.broadcast_status();
    }

    /// A client knows that the partition is committed up to this entry, here or elsewhere.
    fn expect(&self, partition: u32, committed: u64) {
        self.local.expect(partition, committed);
    }

    fn replica_message(&self, from: u32, bytes: Bytes) {
        // Without a copy it is in no group, and a later term of it would end a leader's.
        if is_gateway(from) {
            return;
        }
        let size = bytes.len();
        let Ok(message) = ReplicaMessage::decode(bytes) else {
            return;
        };
        if message.group() == metadata_group::GROUP {
            if node_of(message.from()) == Some(from) {
                self.metadata_group_message(message);
            }
            return;
        }
        let Some(local) = self.local() else {
            return;
        };
        if let Some(handle) = local.partition(message.group())
            && node_of(message.from()) == Some(from)
            && !(message.fills_disk() && handle.status.space.spared.load(Ordering::Relaxed))
            && let Some(inbox_permit) = handle.status.replica_capacity.take(size)
        {
            handle.inbox.send(Report::Replica {
                from: message.from(),
                message,
                inbox_permit,
            });
        }
    }

    fn node_message(self: &Arc<Self>, from: u32, message: NodeMessage) {
        match message {
            NodeMessage::Request {
                id,
                partition,
                request,
            } => self.serve(from, id, partition, request),
            NodeMessage::SentOn(sent) => self.serve_sent_on(from, sent),
            NodeMessage::Answer {
                id,
                result,
                committed,
                waited,
            } => self.answered(from, id, (result, waited), committed),
            NodeMessage::Cancel { id } => self.cancel(from, id),
            NodeMessage::Remote {
                partition,
                command,
                forwarded,
            } => self.remote_command(partition, command, forwarded),
            NodeMessage::GiveBack { partition, jobs } => self.given_back(partition, jobs, false),
            NodeMessage::ForwardedGiveBack { partition, jobs } => {
                self.given_back(partition, jobs, true);
            }
            NodeMessage::Wanted { job_type } => self.peers.wanted.note(from, job_type, None),
            NodeMessage::Available { job_type } => self.available(&job_type),
            NodeMessage::Polls(message) => self.poll_message(from, message),
            NodeMessage::OpenStream {
                stream,
                spec,
                claims,
            } => self.open_for(from, stream, (spec, claims)),
            NodeMessage::CloseStream { stream } => self.close_for(from, stream),
            NodeMessage::Push { stream, job } => self.pushed(from, stream, *job),
            NodeMessage::Credit { stream, amount } => self.credit(from, stream, amount),
            NodeMessage::Starves { stream } => self.starves(from, stream),
            NodeMessage::Shrink { stream, amount } => self.shrink(from, stream, amount),
            NodeMessage::Shrunk { stream, amount } => self.shrunk(from, stream, amount),
            NodeMessage::Grow { stream, amount } => self.grow(from, stream, amount),
            NodeMessage::Status(status) => self.note_status(from, None, status),
            NodeMessage::StatusOf(report) => self.note_report(from, report),
            NodeMessage::Rebalance => self.rebalance_here(),
            NodeMessage::Cluster(message) => self.cluster_message(from, message),
            NodeMessage::Query {
                id,
                partition,
                columns,
                query,
                wanted,
            } => self.answer_query(from, (id, columns), (partition, query), wanted),
            NodeMessage::QueryAnswer { id, answered } => self.found(from, id, answered),
            NodeMessage::Ask { id, question } => self.asked(from, id, question),
            NodeMessage::NodeReport { id, answer } => self.question_answered(from, id, answer),
            NodeMessage::CopyWanted {
                transfer,
                partition,
                at_least,
                offset,
            } => self.copy_wanted(from, (transfer, partition), (at_least, offset)),
            NodeMessage::Copy { transfer, answer } => self.copy_answer(from, transfer, answer),
            NodeMessage::Position { id, partition } => self.send_position(from, id, partition),
            NodeMessage::Confirmation(message) => self.confirmation_message(from, message),
            NodeMessage::PositionIs { id, entry } => self.position_known(from, id, entry),
            NodeMessage::DirectoryWanted { known } => self.send_directory(from, known),
            NodeMessage::DirectoryIs(whole) => self.directory_is(from, *whole),
        }
    }

    fn cluster_message(self: &Arc<Self>, from: u32, message: ClusterMessage) {
        if is_gateway(from) && !message.is_of_gateways() {
            return;
        }
        match message {
            ClusterMessage::Admit {
                member,
                members,
                state,
            } => self.admitted(from, member, members, state),
            ClusterMessage::JoinReplica {
                partition,
                member,
                members,
            } => self.notify_hosting(HostingEvent::Join {
                partition,
                member,
                members,
            }),
            ClusterMessage::Propose { entry } => self.proposed(from, &entry),
            ClusterMessage::Ask { id, ask } => self.operator_asked(from, id, &ask),
            ClusterMessage::Outcome { id, outcome } => self.operator_answered(id, &outcome),
            ClusterMessage::State { state } => {
                if let Ok(state) = State::decode(&state) {
                    self.receive_state(from, &state);
                }
            }
        }
    }

    /// Sends a node that knows nothing of this one, or has forgotten it, what it needs to know.
    fn introduce_to(&self, node: u32) {
        self.broadcast_status();
        if is_gateway(node) {
            self.send_state_to(node, &self.state())
        } else {
            self.announce_streams(node)
        }
    }

    fn loses_requests(self: &Arc<Self>, node: u32) {
        if !is_gateway(node) {
            self.life.stability.lock().end();
        }
        self.peers.members.lose(node);
        self.lose(node);
        self.lose_streams(node);
        self.lose_queries(node);
        self.lose_questions(node);
        self.lose_positions(node);
        self.lose_terms(node);
        self.lose_copies(node);
    }

    fn received_by_node(self: &Arc<Self>, from: u32, version: u32, message: &[u8]) {
        match NodeMessage::decode(version, message) {
            Some(message) => self.node_message(from, message),
            None => {
                tracing::error!(
                    code = "NODE_REFUSED",
                    from,
                    "a message of another node cannot be read; its version of Skep may be too different"
                );
            }
        }
    }
}

/// Periodic work of a node, for as long as it is running.
async fn look_around(cluster: Weak<Cluster>, change_is_due: Arc<Notify>) {
    let mut pace = tokio::time::interval(LOOK_AROUND);
    let mut looks = 0_u64;
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let is_look = tokio::select! {
            _ = pace.tick() => true,
            () = change_is_due.notified() => false,
        };
        let Some(cluster) = cluster.upgrade() else {
            return;
        };
        if !is_look {
            cluster.go_on_with_change();
            continue;
        }
        cluster.note_oldest();
        cluster.bootstrap.note_majority(cluster.majority());
        cluster.observe_threads();
        cluster.deliver_held();
        cluster.abort_overtaken();
        cluster.forget_positions();
        cluster.forget_terms();
        cluster.retire();
        cluster.go_on_with_change();
        looks += 1;
        if looks.is_multiple_of(LOOKS_A_SECOND) {
            cluster.broadcast_status();
            cluster.rebalance_on_low_disk();
            cluster.rebalance_when_stable();
            cluster.forget_abandoned();
            cluster.notify_removed();
        }
    }
}
