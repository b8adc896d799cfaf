//! Information about jobs that nodes exchange: which wait, which are with workers, and which workers poll for them.
//!
//! Nodes send it as JSON. Everything in it is bounded: a node that knows more leaves it out, and says so.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::{Key, TenantId};

/// The combined knowledge of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub nodes: Vec<NodeWork>,
    /// A node did not answer, a partition has no leader, or a node knows more than it reports.
    pub is_incomplete: bool,
}

/// One node's knowledge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeWork {
    /// Since when it has recorded workers, epoch milliseconds.
    pub since: i64,
    pub askers: Vec<Asker>,
    /// The jobs of the partitions that it leads.
    pub partitions: Vec<PartitionWork>,
    pub is_incomplete: bool,
}

/// Maximum bytes of a job type and of a worker's name.
const MAX_NAME_BYTES: usize = 256;

/// The part of a job type or a worker's name that is noted: the beginning of a long one. Clients choose them, and each node keeps
/// those of all workers for a day.
pub fn noted(name: &str) -> &str {
    let end = name.floor_char_boundary(MAX_NAME_BYTES);
    name.get(..end).unwrap_or(name)
}

/// A name as [noted]; a short one is not copied.
pub fn shared_noted(name: &Arc<str>) -> Arc<str> {
    let noted = noted(name);
    if noted.len() == name.len() {
        return Arc::clone(name);
    }
    noted.into()
}

/// A worker that asks for jobs of a type at a node, in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    pub job_type: Arc<str>,
    pub worker: Arc<str>,
    /// The node that its client is connected to: its number, or `gateway 0` and so on.
    pub node: Arc<str>,
    pub way: Way,
    /// The tenants whose jobs it takes; `None`: those of all tenants.
    pub tenants: Option<Vec<TenantId>>,
    /// When it last asked, epoch milliseconds. An open stream asks all the time.
    pub seen: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    Poll,
    Stream,
}

/// The jobs of one partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionWork {
    pub partition: u32,
    pub waiting: Vec<WaitingJobs>,
    pub in_flight: Vec<JobsInFlight>,
    pub is_incomplete: bool,
}

/// Jobs of a type that a worker could take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingJobs {
    pub job_type: Arc<str>,
    pub tenant: TenantId,
    pub count: u64,
    pub oldest: Key,
}

/// Jobs of a type that a worker has taken and not finished, and whose deadline has not passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobsInFlight {
    pub job_type: Arc<str>,
    pub worker: Arc<str>,
    pub tenant: TenantId,
    pub count: u64,
}
