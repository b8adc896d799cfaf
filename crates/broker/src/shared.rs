//! Local or remote: the objects of this node, and the other nodes. Effects of partitions, requests and returned jobs are routed here.

use std::sync::{Arc, Weak};
use std::time::Instant;

use skep_engine::{JobsAvailable, Sent};
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::origin::Claims;
use skep_protocol::response::JobActivation;
use skep_protocol::{Failure, Routing};
use skep_query::{Consistency, Query};
use skep_service::{Answer, Reply, Responder, Timings};

use crate::asking::gone;
use crate::cluster::Cluster;
use crate::directory_view::HOME;
use crate::job_streams::{Stream, StreamPeers};
use crate::local::Local;
use crate::partition::QueryResult;
use crate::partition::{Effect, EffectSink, Others, PartitionHandle};
use crate::stream_receiver::Receiver;

pub struct Shared {
    own: Weak<Shared>,
    pub local: Arc<Local>,
    pub cluster: Arc<Cluster>,
}

impl Shared {
    pub fn new(local: Arc<Local>, cluster: Arc<Cluster>) -> Arc<Shared> {
        Arc::new_cyclic(|own| Shared {
            own: own.clone(),
            local,
            cluster,
        })
    }

    /// The routing of keys to partitions that the cluster last agreed on.
    pub fn routing(&self) -> Arc<Routing> {
        self.local.known.routing()
    }

    /// The other nodes, if there may be any.
    pub(crate) fn others(&self) -> Option<&Arc<Cluster>> {
        self.cluster.has_others().then_some(&self.cluster)
    }

    /// Streams of the clients of all nodes.
    pub(crate) fn all_streams(&self) -> Vec<Arc<Stream>> {
        let mut streams = self.local.streams.streams();
        if let Some(cluster) = self.others() {
            streams.extend(cluster.streams_of_others());
        }
        streams
    }

    /// A local client opens a stream.
    pub(crate) fn open_stream(
        self: &Arc<Self>,
        mut spec: ActivateJobs,
        claims: Claims,
    ) -> Receiver {
        let id = self.local.streams.next_id();
        let cluster = self.others();
        if let Some(cluster) = cluster {
            spec.max_jobs = cluster.deal_out(id, spec.max_jobs);
        }
        let peers = cluster.map(|it| it.clone() as Arc<dyn StreamPeers>);
        let stream = Stream::new(id, (spec, claims), peers.as_ref(), None);
        self.local.streams.open(&stream);
        if let Some(cluster) = cluster {
            cluster.open_elsewhere(id, &stream.spec, &stream.claims);
        }
        Receiver::new(stream, self.clone())
    }

    /// Hands a request to a partition, here or where it is led; `Err` is the answer.
    pub fn submit(
        &self,
        partition: u32,
        request: Request,
        started: Instant,
    ) -> Result<Reply, Failure> {
        let handle = self.local.partition(partition);
        if let Some(cluster) = self.others()
            && !handle.as_deref().is_some_and(PartitionHandle::leads)
            && cluster.has_partition(partition)
        {
            return cluster.forward(partition, request);
        }
        self.local.take(handle, partition, request, started)
    }

    /// Gives back jobs that did not reach their worker.
    pub fn give_back(&self, jobs: impl IntoIterator<Item = JobActivation>) {
        self.cluster.give_back(jobs);
    }

    /// Hands the request of a client who waits already to a partition, here or where it is led.
    fn send_on(&self, partition: u32, request: Request, responder: Responder) {
        let handle = self.local.partition(partition);
        if let Some(cluster) = self.others()
            && !handle.as_deref().is_some_and(PartitionHandle::leads)
        {
            return cluster.send_on(partition, request, responder);
        }
        let asked = (request, responder);
        let handed_over = self
            .local
            .hand_over(handle, partition, asked, Instant::now());
        if let Err((failure, responder)) = handed_over {
            let answer = Answer {
                result: Err(failure),
                timings: Timings::default(),
            };
            // Its client may be gone.
            drop(responder.send(answer));
        }
    }

    fn send_remote(&self, partition: u32, command: Sent) {
        match (self.others(), self.local.partition(partition)) {
            (Some(cluster), _) if !self.local.leads(partition) => {
                cluster.send_remote(partition, command);
            }
            (_, Some(handle)) => self.local.remote_here(&handle, command),
            (_, None) => {}
        }
    }

    fn jobs_available(&self, available: &JobsAvailable) {
        let JobsAvailable { job_type, tenant } = available;
        self.local.notifier.announce(job_type, Some(tenant));
        if let Some(cluster) = self.others() {
            cluster.announce(job_type, tenant);
        }
    }

    fn query(&self, partition: u32, query: Query, answer: Box<dyn FnOnce(QueryResult) + Send>) {
        let runtime = self.cluster.runtime();
        let (Some(shared), Some(runtime)) = (self.own.upgrade(), runtime) else {
            return answer(Err(gone()));
        };
        let asked = shared.ask(partition, query, Consistency::ReadYourWrites);
        runtime.spawn(async move { answer(shared.answer(asked).await) });
    }
}

impl EffectSink for Shared {
    fn send(&self, effect: Effect) {
        match (effect, self.others()) {
            (Effect::Remote(partition, command), _) => self.send_remote(partition, command),
            (Effect::Directory(directory), _) if self.local.leads(HOME) => {
                self.local.directory.lead_with(directory);
            }
            (Effect::Directory(directory), _) => self.local.directory.set(directory),
            (Effect::Evaluate(evaluation), _) => self.local.preparation.evaluate(evaluation),
            (Effect::JobsAvailable(available), _) => self.jobs_available(&available),
            (
                Effect::Query {
                    partition,
                    query,
                    answer,
                },
                _,
            ) => self.query(partition, query, answer),
            (
                Effect::SendOn {
                    partition,
                    request,
                    responder,
                },
                _,
            ) => self.send_on(partition, *request, responder),
            (Effect::Replicate(message), Some(cluster)) => cluster.replicate(&message),
            (Effect::RoleChanged, Some(cluster)) => cluster.role_changed(),
            (Effect::MembersChanged, Some(cluster)) => cluster.hurry_change(),
            (
                Effect::FetchStore {
                    wanted,
                    before,
                    done,
                },
                Some(cluster),
            ) => cluster.fetch_store(wanted, before, done),
            (
                Effect::Replicate(_)
                | Effect::RoleChanged
                | Effect::MembersChanged
                | Effect::FetchStore { .. },
                None,
            ) => {}
        }
    }

    fn others(&self, partition: u32) -> Others {
        match self.others() {
            Some(cluster) => Others {
                replicated: cluster.replicated(partition),
                alive: cluster.alive_nodes(),
            },
            None => Others {
                replicated: u64::MAX,
                alive: Vec::new(),
            },
        }
    }
}
