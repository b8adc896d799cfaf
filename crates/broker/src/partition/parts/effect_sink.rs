//! Sends effects of a partition that go neither to clients nor to streams, and its requests to other nodes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_engine::{JobsAvailable, Sent};
use skep_identity::Directory;
use skep_protocol::command::Request;
use skep_query::Query;
use skep_replication::Message;
use skep_service::Responder;

use crate::partition::QueryResult;
use crate::partition::message::LongEvaluation;
use crate::partition::status::PartitionStatus;

/// The queue from a partition to the rest of the system.
pub trait EffectSink: Send + Sync {
    /// Enqueues an effect. It may be lost. Never blocks.
    fn send(&self, effect: Effect);
    /// The state of the other replicas of a partition, as last reported.
    fn others(&self, partition: u32) -> Others;
}

/// An effect that leaves a partition.
pub enum Effect {
    /// A command for this partition.
    Remote(u32, Sent),
    /// Jobs wait, and no stream took them.
    JobsAvailable(JobsAvailable),
    /// A message to a replica of the partition on another node.
    Replicate(Message),
    /// A request that was not begun, for the partition's current leader.
    SendOn {
        partition: u32,
        request: Box<Request>,
        responder: Responder,
    },
    /// The directory of users and permissions that partition 1 has committed.
    Directory(Directory),
    /// An evaluation that would block the partition.
    Evaluate(Box<LongEvaluation>),
    /// The partition is now led from here, or no longer.
    RoleChanged,
    /// The members of the partition's group are others now: the next step of a change of the cluster can be taken.
    MembersChanged,
    /// A query for the nodes that have the rows of the partition.
    Query {
        partition: u32,
        query: Query,
        answer: Box<dyn FnOnce(QueryResult) + Send>,
    },
    /// A request for a copy of secondary storage from another node. `before` is called before it is fetched, and `done` once it is there or
    /// cannot be fetched.
    FetchStore {
        wanted: WantedStore,
        before: Box<dyn FnOnce() + Send>,
        done: Box<dyn FnOnce(std::io::Result<()>) + Send>,
    },
}

/// The other replicas of a partition.
#[derive(Debug)]
pub struct Others {
    /// Highest log index that each of them is known to have.
    pub replicated: u64,
    /// Nodes whose heartbeats arrive. When one falls silent, [`Report::NodeSilent`](crate::partition::Report::NodeSilent) follows.
    pub alive: Vec<u32>,
}

/// A copy of secondary storage that a replica needs from another node.
#[derive(Clone, Debug)]
pub struct WantedStore {
    pub partition: u32,
    /// The copy must include at least this entry of the log.
    pub at_least: u64,
    /// The path where it is stored.
    pub file: PathBuf,
    /// The replica that needs it.
    pub by: Arc<PartitionStatus>,
}

impl WantedStore {
    /// Whether its directory now belongs to another copy.
    pub fn is_abandoned(&self) -> bool {
        self.by.abandoned.load(Ordering::Acquire)
    }
}

/// The peers of a partition without any.
#[cfg(test)]
pub struct Nobody;

#[cfg(test)]
impl EffectSink for Nobody {
    fn send(&self, _: Effect) {}

    fn others(&self, _: u32) -> Others {
        Others {
            replicated: u64::MAX,
            alive: Vec::new(),
        }
    }
}
