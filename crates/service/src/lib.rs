//! The interface between the gateways (REST, gRPC) and the broker: requests go in, answers and jobs come out.
//!
//! The gateways know this trait but not the partitions; the broker implements it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod reply;
mod ring;
mod wakes;
pub mod work;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use skep_identity::Directory;
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::failure::Failure;
use skep_protocol::origin::Claims;
use skep_protocol::response::{ActivatedJob, JobActivation, Response};

pub use self::reply::{Reply, Responder, reply_channel};
pub use self::ring::rings_later;
pub use self::wakes::{Post, Sleeper, Wakes};
pub use self::work::Work;

/// Where a request spent its time behind the gateway, in nanoseconds. Zero for stages that did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Finding the partition.
    pub route: u64,
    /// From the inbox to the partition thread.
    pub inbox_wait: u64,
    /// The engine's evaluation of the command.
    pub evaluation: u64,
    /// From the end of the evaluation until the batch was written to the log file, without the fsync.
    pub append: u64,
    /// The fsync that made it durable.
    pub fsync: u64,
    /// From durable on this node until committed by the quorum and released.
    pub commit: u64,
    /// From the answer's arrival on the caller's node until the caller took it: its thread was busy with others.
    pub wake: u64,
}

/// An answer with its timings.
#[derive(Debug)]
pub struct Answer {
    pub result: Result<Response, Failure>,
    pub timings: Timings,
}

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The operations that a gateway can request from the broker.
pub trait Broker: Send + Sync + 'static {
    /// Routes the request to its partition: by key, by message hash, round-robin over healthy partitions for creations,
    /// partition 1 for deployments. Never blocks. `ActivateJobs` goes through [`Broker::activate_jobs`] instead.
    fn execute(&self, request: Request) -> Reply;

    /// Activates up to `max_jobs` over all partitions. Returns as soon as there is at least one job; with none it waits up to `wait` (long
    /// polling; zero: answers at once) and then returns an empty list. Dropping the future gives back the jobs that are in transit;
    /// returned jobs that do not reach the client are given back by [`Broker::give_back`].
    fn activate_jobs(
        &self,
        command: ActivateJobs,
        claims: Claims,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>>;

    /// Gives back jobs that were activated and did not reach their worker: they are offered again at once and lose no retry. A job whose
    /// deadline has changed since is with another worker and stays there.
    fn give_back(&self, jobs: Vec<JobActivation>);

    /// Opens a job stream over all partitions. `spec.max_jobs` is the credit: at any time at most this many jobs are on their way to the
    /// receiver and not yet taken by [`JobReceiver::poll_recv`].
    /// Only jobs that the caller may take at that moment are pushed.
    fn open_job_stream(&self, spec: ActivateJobs, claims: Claims) -> Box<dyn JobReceiver>;

    /// The users, clients and other principals with their permissions, as this node knows them.
    fn directory(&self) -> Arc<Directory>;

    /// How long ago the directory was surely current: then the leader of partition 1 was known and heard.
    fn directory_age(&self) -> Duration;

    /// Whether every node of the cluster has a version that knows this request: others would refuse it.
    fn is_known_everywhere(&self, request: &Request) -> bool;

    /// Wakes partitions that have received something: must follow [`Broker::execute`] where [`rings_later`] was true.
    fn ring(&self) {}

    fn topology(&self) -> Topology;

    /// The number of jobs that wait for a worker on the partitions that this node leads, as of a few moments ago.
    fn waiting_jobs(&self) -> usize;

    /// The waiting jobs and the workers that poll for them, as known to all nodes: at most a second old.
    fn work(&self) -> BoxFuture<'_, Arc<Work>>;

    /// The partitions of each node, as the JSON text of its `/actuator/partitions`: at most a second old. `None` for a node that does not
    /// answer.
    fn node_states(&self) -> BoxFuture<'_, Arc<NodeStates>>;

    /// Each node's measurements since a moment (epoch milliseconds), as JSON text. `None` for a node that does not answer.
    fn measured(&self, from: i64) -> BoxFuture<'_, Arc<NodeStates>>;
}

/// By node.
pub type NodeStates = BTreeMap<u32, Option<String>>;

/// The receiving end of a job stream. Dropping it closes the stream; jobs pushed but not taken go back to their partition.
pub trait JobReceiver: Send {
    /// Takes the next job, which frees one credit. `None` when the broker closes the stream (shutdown).
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<ActivatedJob>>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    pub cluster_id: String,
    pub cluster_size: u32,
    pub partitions_count: u32,
    pub replication_factor: u32,
    pub gateway_version: String,
    pub last_completed_change_id: String,
    pub brokers: Arc<[BrokerInfo]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BrokerInfo {
    pub node_id: i32,
    pub host: String,
    pub port: u16,
    pub version: String,
    pub partitions: Vec<PartitionInfo>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionInfo {
    pub partition_id: u32,
    pub role: PartitionRole,
    pub health: PartitionHealth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionRole {
    Leader,
    Follower,
    Inactive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHealth {
    Healthy,
    Unhealthy,
    Dead,
}
