//! The way out of a partition: its effects that go neither to clients nor to streams, and what it asks of other nodes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_engine::Sent;
use skep_protocol::Routing;
use skep_query::Query;

use crate::asking::QueryResult;
use crate::partition::status::PartitionStatus;

/// Takes the effects of a partition that go neither to clients nor to streams.
pub trait EffectSink: Send + Sync {
    /// Where keys live.
    fn routing(&self) -> Arc<Routing>;
    fn send_remote(&self, partition: u32, command: Sent);
    /// Jobs of this type wait and no stream took them.
    fn jobs_available(&self, job_type: &Arc<str>);
    /// To a replica of the partition on another node. It may be lost.
    fn replicate(&self, message: skep_replication::Message);
    /// The other node gives signs of life. When it ceases to, [`Report::NotHeard`](super::Report::NotHeard) comes.
    fn is_heard(&self, node: u32) -> bool;
    /// Highest log index that every other replica of the partition is known to have.
    fn replicated(&self, partition: u32) -> u64;
    /// Asks whoever has the rows of a partition.
    fn query(
        self: Arc<Self>,
        partition: u32,
        query: Query,
        answer: Box<dyn FnOnce(QueryResult) + Send>,
    );
    /// Fetches a copy of secondary storage from another node, on a thread of its own: `before` is done there first, and `done` once
    /// the copy is there.
    fn fetch_store(
        &self,
        wanted: WantedStore,
        before: Box<dyn FnOnce() + Send>,
        done: Box<dyn FnOnce() + Send>,
    ) -> std::io::Result<()>;
    /// The partition is led from here, or not any more.
    fn role_changed(&self);
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
