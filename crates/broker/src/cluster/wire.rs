//! Messages between nodes, except those between replicas.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skep_cluster::State;
use skep_engine::Sent;
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::origin::Claims;
use skep_protocol::record::{decode, encode};
use skep_protocol::response::JobActivation;
use skep_protocol::{ActivatedJob, Failure, Response, TenantId, Tenants};
use skep_query::Query;
use skep_service::PartitionHealth;
use skep_transport::PROTOCOL_VERSION;

use super::directory::WholeDirectory;
use super::stores::CopyAnswer;
use crate::confirmation::ReplicaTerm;
use crate::partition::{QueryResult, StoreState};

pub(super) mod owner;
mod version1;
mod version2;
mod version3;
mod version4;
mod version5;
mod version7;

/// Sent between two nodes, and received in sending order. All of them may be lost with the connection.
///
/// This is the encoding of the newest version of the protocol ([`PROTOCOL_VERSION`]). New messages, and new variants of their contents, are
/// added at the end. Changing a message or a field makes a new version, and a module beside this one keeps the encoding of the previous one
/// (such as [`version1`]). The frames of each version are golden files.
#[derive(Debug, Serialize, Deserialize)]
pub enum NodeMessage {
    /// A client's request, to the node that leads the partition.
    Request {
        id: u64,
        partition: u32,
        request: Request,
    },
    Answer {
        id: u64,
        result: Result<Response, Failure>,
        /// The entry up to which the partition was committed when the answer was sent.
        committed: u64,
        /// How long the command waited for its turn there, in nanoseconds.
        waited: u64,
    },
    /// The sender no longer waits for the answer.
    Cancel {
        id: u64,
    },
    /// A command of another partition.
    Remote {
        partition: u32,
        command: Box<Sent>,
        /// Whether a node that did not lead has forwarded it already.
        forwarded: bool,
    },
    /// Jobs that did not reach their worker.
    GiveBack {
        partition: u32,
        jobs: Vec<JobActivation>,
    },
    /// A client waits for jobs of this type: announce the next one that is not taken, of any tenant.
    Wanted {
        job_type: Arc<str>,
    },
    /// Wakes whoever waits for jobs of this type.
    Available {
        job_type: Arc<str>,
    },
    /// A job stream that a client has opened at the sending node. `spec.max_jobs` is the share of its credit.
    OpenStream {
        stream: u64,
        spec: ActivateJobs,
        claims: Claims,
    },
    CloseStream {
        stream: u64,
    },
    Push {
        stream: u64,
        job: Box<ActivatedJob>,
    },
    /// The client has taken this many of the pushed jobs.
    Credit {
        stream: u64,
        amount: u32,
    },
    /// The sending node has jobs for the stream and no credit for it.
    Starves {
        stream: u64,
    },
    /// Asks to give up this much of the stream's credit, as far as it is not in use.
    Shrink {
        stream: u64,
        amount: u32,
    },
    Shrunk {
        stream: u64,
        amount: u32,
    },
    /// Others gave up this much.
    Grow {
        stream: u64,
        amount: u32,
    },
    /// The status that nodes of earlier versions send and get: see [`NodeMessage::StatusOf`].
    Status(NodeStatus),
    /// Asks to give partitions to their first replicas.
    Rebalance,
    /// About the cluster itself.
    Cluster(ClusterMessage),
    /// A client's query for the rows of a partition.
    Query {
        id: u64,
        partition: u32,
        /// Fingerprint of what the columns mean to the asking node.
        columns: u64,
        query: Query,
        /// The answer must include everything committed up to this entry; `None`: whatever is there.
        wanted: Option<u64>,
    },
    QueryAnswer {
        id: u64,
        answered: QueryResult,
    },
    /// Asks for a part of a copy of the partition's secondary storage, which must go up to at least some entry.
    CopyWanted {
        transfer: u64,
        partition: u32,
        at_least: u64,
        offset: u64,
    },
    Copy {
        transfer: u64,
        answer: CopyAnswer,
    },
    /// An operator's question about what this node knows.
    Ask {
        id: u64,
        question: String,
    },
    NodeReport {
        id: u64,
        answer: String,
    },
    /// Asks the leader of the partition for its current commit index.
    Position {
        id: u64,
        partition: u32,
    },
    PositionIs {
        id: u64,
        /// `None`: the node that was asked cannot be sure that it leads.
        entry: Option<u64>,
    },
    /// Asks the leader of partition 1 for the directory of users and permissions, if it differs from the known one.
    DirectoryWanted {
        known: Option<u64>,
    },
    DirectoryIs(Box<WholeDirectory>),
    /// Jobs that did not reach their worker, forwarded by a node that did not lead. A node that does not know this message leaves them to
    /// their timeout.
    ForwardedGiveBack {
        partition: u32,
        jobs: Vec<JobActivation>,
    },
    /// About who leads a partition.
    Confirmation(ConfirmationMessage),
    /// About clients that wait for jobs.
    Polls(PollMessage),
    /// The sending node's report about itself.
    StatusOf(StatusReport),
    /// A request about a correlation key that has moved.
    SentOn(SentOn),
}

/// All logs begin again when everything is purged, and those of recovered partitions go on from an older entry. Positions in logs from
/// before mean nothing then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsOf {
    /// How often partitions were recovered.
    pub epoch: u64,
    /// How often everything was purged.
    pub incarnation: u64,
}

impl LogsOf {
    /// The logs in this state of the cluster.
    pub fn state(state: &State) -> LogsOf {
        LogsOf {
            epoch: state.epoch,
            incarnation: state.incarnation,
        }
    }
}

/// A request that this many partitions have sent on, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub struct SentOn {
    pub id: u64,
    pub partition: u32,
    pub request: Request,
    pub hops: u32,
}

impl SentOn {
    /// The request, which knows the number of hops.
    pub fn request(self) -> Request {
        Request {
            hops: self.hops,
            ..self.request
        }
    }
}

/// Messages of long polling. Nodes of earlier versions get [`NodeMessage::Wanted`] and [`NodeMessage::Available`].
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum PollMessage {
    /// A client waits for jobs of this type and these tenants: announce the next one that is not taken.
    Wanted {
        job_type: Arc<str>,
        tenants: Tenants,
    },
    /// Wakes those who may get a job of this tenant.
    Available {
        job_type: Arc<str>,
        tenant: TenantId,
    },
}

/// Messages by which a leader is confirmed, see [`crate::confirmation`].
#[derive(Debug, Serialize, Deserialize)]
pub enum ConfirmationMessage {
    /// [`NodeMessage::Position`] of a node with a replica, which may confirm that the leader still leads.
    PositionInTerm {
        id: u64,
        partition: u32,
        asker: ReplicaTerm,
    },
    /// Asks for the term of this voter, to confirm that the sending node leads the partition.
    TermWanted {
        id: u64,
        partition: u32,
        member: u64,
    },
    TermIs {
        id: u64,
        partition: u32,
        /// `None`: that voter is not there.
        term: Option<u64>,
    },
}

/// Messages between nodes about the cluster itself.
#[derive(Debug, Serialize, Deserialize)]
pub enum ClusterMessage {
    /// The node is now part of the cluster, as this member of the metadata group.
    Admit {
        member: u64,
        members: Vec<u8>,
        state: Vec<u8>,
    },
    /// The node is now a member of the partition's group.
    JoinReplica {
        partition: u32,
        member: u64,
        members: Vec<u8>,
    },
    /// An entry for the metadata group, to the node that leads it.
    Propose {
        entry: Vec<u8>,
    },
    /// An operator's request, and its result.
    Ask {
        id: u64,
        ask: Vec<u8>,
    },
    Outcome {
        id: u64,
        outcome: Vec<u8>,
    },
    /// The cluster's state, for gateways and for a node that is no longer part of the cluster.
    State {
        state: Vec<u8>,
    },
}

impl ClusterMessage {
    /// Whether gateways send it: they pass on what operators ask. Everything else comes from brokers.
    pub fn is_of_gateways(&self) -> bool {
        match self {
            ClusterMessage::Ask { .. } => true,
            ClusterMessage::Outcome { .. }
            | ClusterMessage::Admit { .. }
            | ClusterMessage::JoinReplica { .. }
            | ClusterMessage::Propose { .. }
            | ClusterMessage::State { .. } => false,
        }
    }
}

/// A node's periodic report about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    pub version: String,
    pub host: String,
    pub port: u16,
    /// Whether its disk has no room for new work.
    pub disk_low: bool,
    pub partitions: Vec<ReplicaStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaStatus {
    pub partition: u32,
    /// As [`skep_service::PartitionRole`]: leader, follower, inactive.
    pub role: u8,
    /// As [`skep_service::PartitionHealth`]: healthy, unhealthy, dead.
    pub health: u8,
    /// Entries up to this one are in the replica's log and state.
    pub applied: u64,
    /// State of its secondary storage.
    pub store: StoreState,
    /// If two replicas claim to lead, the one with the higher term does.
    pub term: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct StatusReport {
    /// The logs in which its entries are.
    pub logs: LogsOf,
    pub status: NodeStatus,
    /// One for each of its partitions.
    pub loads: Vec<ReplicaLoad>,
}

/// By what leaders are placed, beside [`NodeStatus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaLoad {
    pub partition: u32,
    /// CPU time that the replica's thread takes, in thousandths of a core.
    pub cpu: u32,
    /// The node that should lead the partition in the place of this one, which is too busy.
    pub stand_in: Option<u32>,
}

impl ReplicaStatus {
    /// Whether the replica has stopped for good, or leads and hangs, although its node is there.
    pub fn has_failed(&self) -> bool {
        self.health == PartitionHealth::Dead as u8
    }
}

/// Converts a message from the newest version to that of another node. `None`: such nodes do not know it.
pub fn in_version(version: u32, message: Bytes) -> Option<Bytes> {
    match version {
        PROTOCOL_VERSION => Some(message),
        version => NodeMessage::decode(PROTOCOL_VERSION, &message)?.encode_for(version),
    }
}

impl NodeMessage {
    /// Encodes in the newest version.
    pub fn encode(&self) -> Bytes {
        encode(self).into()
    }

    /// Encodes in this version of the protocol; `None`: nodes of that version do not know the message.
    pub fn encode_for(&self, version: u32) -> Option<Bytes> {
        let older = match version {
            1..=5 => version5::instead_of(self).or_else(|| version7::instead_of(self)),
            6 | 7 => version7::instead_of(self),
            _ => None,
        };
        let message = older.as_ref().unwrap_or(self);
        match version {
            1..=7 if !version7::knows(message) => None,
            1..=4 if !version4::knows(message) => None,
            1..=3 if !version3::knows(message) => None,
            1 | 2 if !version2::knows(message) => None,
            1 => version1::encode(message),
            _ => Some(message.encode()),
        }
    }

    /// Decodes a message in this version of the protocol.
    pub fn decode(version: u32, bytes: &[u8]) -> Option<NodeMessage> {
        match version {
            1 => version1::decode(bytes),
            _ => decode(bytes).ok(),
        }
    }
}

#[cfg(test)]
mod tests;
