//! The way out of a partition for effects that go neither to clients nor to streams, and for its requests to other nodes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_engine::Sent;
use skep_identity::Directory;
use skep_protocol::command::Request;
use skep_query::Query;
use skep_replication::Message;
use skep_service::Responder;

use crate::asking::QueryResult;
use crate::partition::message::LongEvaluation;
use crate::partition::status::PartitionStatus;

/// The queue from a partition to the rest of the world.
pub trait EffectSink: Send + Sync {
    /// Takes it in. It may be lost, and never blocks.
    fn send(&self, effect: Effect);
    /// The state of the other replicas of a partition, as last reported.
    fn others(&self, partition: u32) -> Others;
}

/// What leaves a partition.
pub enum Effect {
    /// A command for this partition.
    Remote(u32, Sent),
    /// Jobs of this type wait and no stream took them.
    JobsAvailable(Arc<str>),
    /// To a replica of the partition on another node.
    Replicate(Message),
    /// A request that was not begun, for the partition's present leader.
    SendOn {
        partition: u32,
        request: Box<Request>,
        responder: Responder,
    },
    /// The directory of users and permissions that partition 1 has committed.
    Directory(Directory),
    /// An evaluation that would hold up the partition.
    Evaluate(Box<LongEvaluation>),
    /// The partition is led from here, or not any more.
    RoleChanged,
    /// For the nodes that have the rows of the partition.
    Query {
        partition: u32,
        query: Query,
        answer: Box<dyn FnOnce(QueryResult) + Send>,
    },
    /// A copy of secondary storage is wanted from another node: `before` is done before it is fetched, and `done` once it is there, or
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
    /// Nodes that give signs of life. When one ceases to, [`Report::NotHeard`](crate::partition::Report::NotHeard) comes.
    pub heard: Vec<u32>,
}

/// A copy of secondary storage that a replica needs of another node.
#[derive(Clone, Debug)]
pub struct WantedStore {
    pub partition: u32,
    /// The copy must go up to this entry of the log at least.
    pub at_least: u64,
    /// Where it is put.
    pub file: PathBuf,
    /// Who wants it.
    pub by: Arc<PartitionStatus>,
}

impl WantedStore {
    /// Its directory is that of another copy now.
    pub fn is_abandoned(&self) -> bool {
        self.by.abandoned.load(Ordering::Acquire)
    }
}
