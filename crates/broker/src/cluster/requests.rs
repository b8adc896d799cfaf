//! Requests that another node carries out, and requests that this node carries out for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_cluster::is_gateway;
use skep_protocol::command::{Held, Peer, Request};
use skep_protocol::{Failure, Response};
use skep_service::{Answer, Reply, Responder, Timings, reply_channel};
use skep_transport::{Class, PROTOCOL_VERSION};
use tokio::task::AbortHandle;

use super::Cluster;
use super::wire::{NodeMessage, SentOn, in_version};
use crate::clock::real_time;
use crate::delivered_jobs::DeliveredJobs;
use crate::metrics::nanos;
use crate::metrics::nodes::{MessagingFamilies, OfAddress, OfAnswer, OfRequest, OfTopic};
use crate::workers::{self, Noted};

/// Interval between two checks for a leader: initial and maximum.
const LOOK: Duration = Duration::from_millis(5);
const LOOK_SELDOM: Duration = Duration::from_millis(100);

/// A request that is at another node, or waits for a leader of its partition.
struct Pending {
    /// `None` while it waits.
    to: Option<u32>,
    partition: u32,
    /// Another node leads by now, and already did at the last check.
    overtaken: bool,
    responder: Responder,
    /// The encoded request, in the newest version: it may have to go to another node.
    message: Bytes,
    since: Instant,
    /// Resources that the client occupies in its gateway while it waits.
    _held: Held,
}

impl Pending {
    /// Answers the client with this failure.
    fn fail(self, failure: Failure) {
        let _ = self.responder.send(Answer {
            result: Err(failure),
            timings: Timings::default(),
        });
    }

    /// Fails the request: this node will not answer it.
    fn abort(self, node: u32, why: &str) {
        let partition = self.partition;
        let text = format!(
            "Node {node}, which led partition {partition}, did not answer: {why}. The command may or may not have been carried out."
        );
        self.fail(Failure::Aborted(text));
    }
}

pub(super) struct Requests {
    metrics: MessagingFamilies,
    next: AtomicU64,
    pending: Mutex<FxHashMap<u64, Pending>>,
    served: Served,
}

/// A request of another node, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ServedId {
    node: u32,
    id: u64,
}

/// Requests of other nodes that are carried out here.
#[derive(Default)]
struct Served(Mutex<FxHashMap<ServedId, AbortHandle>>);

impl Served {
    /// Notes the task that `begin` starts. It may be over at once, on another thread: its end waits until it is noted.
    fn begin(&self, request: ServedId, begin: impl FnOnce() -> AbortHandle) {
        let mut served = self.0.lock();
        let task = begin();
        served.insert(request, task);
    }

    /// Forgets the task, which is over or is to be aborted.
    fn end(&self, request: ServedId) -> Option<AbortHandle> {
        self.0.lock().remove(&request)
    }

    /// Aborts the tasks for this node.
    fn abort_all(&self, node: u32) {
        self.0.lock().retain(|request, task| {
            if request.node == node {
                task.abort();
            }
            request.node != node
        });
    }

    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl Requests {
    pub(super) fn new(metrics: MessagingFamilies) -> Requests {
        Requests {
            metrics,
            next: AtomicU64::default(),
            pending: Mutex::default(),
            served: Served::default(),
        }
    }

    /// The request that this node has answered, if it was sent there.
    fn take(&self, node: u32, id: u64) -> Option<Pending> {
        let mut pending = self.pending.lock();
        let is_there = pending.get(&id).is_some_and(|it| it.to == Some(node));
        is_there.then(|| pending.remove(&id)).flatten()
    }

    fn sent(&self, node: u32, partition: u32, bytes: usize) {
        let (address, topic) = (node.to_string(), topic(partition));
        let of = OfAddress { address, topic };
        self.metrics
            .size
            .of(of.clone())
            .observe((bytes as u64 * 1000) >> 10);
        self.metrics.inflight.of(of.clone()).inc();
        let OfAddress { address, topic } = of;
        let of = OfRequest {
            r#type: "REQ_RESP",
            address,
            topic,
        };
        self.metrics.requests.of(of).inc();
    }

    /// Records that the request was answered, or never will be.
    fn ended(&self, pending: &Pending, outcome: &'static str) {
        let Some(node) = pending.to else {
            return;
        };
        let (address, topic) = (node.to_string(), topic(pending.partition));
        let of = OfAddress { address, topic };
        self.metrics.inflight.of(of.clone()).dec();
        let OfAddress { address, topic } = of;
        let latency = self.metrics.latency.of(OfTopic {
            topic: topic.clone(),
        });
        latency.observe(nanos(pending.since.elapsed()));
        let of = OfAnswer {
            address,
            topic,
            outcome,
        };
        self.metrics.responses.of(of).inc();
    }
}

/// The topic of requests for a partition, as the reference names it.
fn topic(partition: u32) -> String {
    format!("command-api-{partition}")
}

impl Cluster {
    /// Sends a request to the node that leads the partition, or waits for a leader for as long as an election takes. `Err` is the answer:
    /// nothing was done.
    pub(crate) fn forward(
        self: &Arc<Self>,
        partition: u32,
        request: Request,
    ) -> Result<Reply, Failure> {
        let leader = self.leader_of(partition);
        if !leader.is_some_and(|leader| self.is_present(leader))
            && let Some(failure) = self.cannot_wait(partition)
        {
            return Err(failure);
        }
        let (responder, reply) = reply_channel();
        self.send_on(partition, request, responder);
        Ok(reply)
    }

    /// Forwards a request of a waiting client, because this node does not lead its partition.
    pub(crate) fn send_on(
        self: &Arc<Self>,
        partition: u32,
        mut request: Request,
        responder: Responder,
    ) {
        // Waiting for the end of an instance may take days.
        let waits = request.command.awaits_end();
        let held = std::mem::take(&mut request.held);
        let id = self.exchanges.requests.next.fetch_add(1, Ordering::Relaxed);
        let message = match request.hops {
            0 => NodeMessage::Request {
                id,
                partition,
                request,
            },
            hops => NodeMessage::SentOn(SentOn {
                id,
                partition,
                request,
                hops,
            }),
        };
        let pending = Pending {
            to: None,
            partition,
            overtaken: false,
            responder,
            message: message.encode(),
            since: Instant::now(),
            _held: if waits { Held::default() } else { held },
        };
        self.place(id, pending, None);
    }

    /// Sends the request to its partition's leader, unless that is the node that has just refused it.
    fn place(self: &Arc<Self>, id: u64, mut pending: Pending, refused: Option<u32>) {
        let requests = &self.exchanges.requests;
        match self.leader_of(pending.partition) {
            Some(leader) if leader == self.node() => {
                if self.local.leads(pending.partition) {
                    return self.take_back(pending);
                }
            }
            Some(leader) if Some(leader) != refused && self.is_present(leader) => {
                // Whether work on it begins is up to the other node now.
                pending.responder.begins();
                pending.to = Some(leader);
                let message = pending.message.clone();
                requests.sent(leader, pending.partition, message.len());
                requests.pending.lock().insert(id, pending);
                let sent = self.send_in_class(leader, Class::Requests, |version| {
                    in_version(version, message)
                });
                if sent.is_ok() {
                    return;
                }
                let Some(again) = requests.pending.lock().remove(&id) else {
                    return;
                };
                requests.ended(&again, "NOT_SENT");
                pending = again;
            }
            Some(_) | None => {}
        }
        self.wait_for_leader(id, pending);
    }

    fn wait_for_leader(self: &Arc<Self>, id: u64, mut pending: Pending) {
        pending.to = None;
        if pending.responder.is_abandoned() {
            return;
        }
        let waited = pending.since.elapsed();
        let over = waited >= self.config.election_timeout() * 2;
        let failure = if over {
            Some(self.nobody_leads_it(pending.partition))
        } else {
            self.cannot_wait(pending.partition)
        };
        let runtime = self.runtime().filter(|_| !self.is_stopped());
        let (None, Some(runtime)) = (&failure, runtime) else {
            let failure = failure.unwrap_or_else(|| self.nobody_leads_it(pending.partition));
            return pending.fail(failure);
        };
        let (cluster, pause) = (self.clone(), (waited / 4).clamp(LOOK, LOOK_SELDOM));
        runtime.spawn(async move {
            tokio::time::sleep(pause).await;
            cluster.place(id, pending, None);
        });
    }

    /// Takes the request back, as this node leads the partition by now.
    fn take_back(self: &Arc<Self>, pending: Pending) {
        // The message was encoded here.
        let message = NodeMessage::decode(PROTOCOL_VERSION, &pending.message);
        let request = if let Some(NodeMessage::SentOn(sent)) = message {
            sent.request()
        } else if let Some(NodeMessage::Request { request, .. }) = message {
            request
        } else {
            return;
        };
        let reply = self
            .local
            .submit(pending.partition, request, Instant::now());
        let (reply, runtime) = match (reply, self.runtime()) {
            (Ok(reply), Some(runtime)) => (reply, runtime),
            (Ok(_), None) => return,
            (Err(failure), _) => return pending.fail(failure),
        };
        let cluster = self.clone();
        runtime.spawn(async move {
            let give_back = |jobs| cluster.give_back(jobs);
            let answer = DeliveredJobs::new(reply, give_back).answer().await;
            if let Err(answer) = pending.responder.send(answer) {
                cluster.give_back_jobs(answer.result);
            }
        });
    }

    /// The reason to refuse a request for the partition at once, if there will be no leader soon.
    fn cannot_wait(&self, partition: u32) -> Option<Failure> {
        let (present, size) = (self.present_nodes(), self.size());
        if self.state().is_lost(partition) {
            return Some(Failure::Unavailable(format!(
                "Partition {partition} is lost: no node has a copy of it any more. Nothing was done."
            )));
        }
        (present * 2 <= size && self.is_at_home()).then(|| {
            Failure::Unavailable(format!(
                "Partition {partition} has no leader at the moment: only {present} of {size} nodes can be reached from node {}, and a majority has to \
                 agree. Nothing was done; send the request again after a moment.",
                self.node()
            ))
        })
    }

    fn nobody_leads_it(&self, partition: u32) -> Failure {
        Failure::Unavailable(format!(
            "Partition {partition} has no leader at the moment: one is being elected. Nothing was done; send the request again after a moment."
        ))
    }

    /// Handles the answer to a request at another node, where it waited this long for its turn.
    pub(super) fn answered(
        self: &Arc<Self>,
        from: u32,
        id: u64,
        (result, waited): (Result<Response, Failure>, u64),
        committed: u64,
    ) {
        let requests = &self.exchanges.requests;
        let Some(pending) = requests.take(from, id) else {
            // The client is gone.
            self.give_back_jobs(result);
            return;
        };
        requests.ended(&pending, if result.is_ok() { "SUCCESS" } else { "FAILURE" });
        let waits = pending.since.elapsed() < self.config.election_timeout() * 2;
        if matches!(result, Err(Failure::Unavailable(_))) && waits {
            // Nothing was done there: another node leads the partition, or will soon.
            let refused = pending.to;
            return self.place(id, pending, refused);
        }
        self.expect(pending.partition, committed);
        let answer = Answer {
            result,
            timings: Timings {
                inbox_wait: waited,
                ..Timings::default()
            },
        };
        if let Err(answer) = pending.responder.send(answer) {
            self.give_back_jobs(answer.result);
        }
    }

    fn give_back_jobs(&self, result: Result<Response, Failure>) {
        if let Ok(Response::JobsActivated { jobs, .. }) = result {
            self.give_back(jobs.iter().map(|job| job.activation()));
        }
    }

    /// Carries out a request about a correlation key that has moved.
    pub(super) fn serve_sent_on(self: &Arc<Self>, from: u32, sent: SentOn) {
        self.serve(from, sent.id, sent.partition, sent.request());
    }

    /// Carries out a request of another node's client.
    pub(super) fn serve(
        self: &Arc<Self>,
        from: u32,
        id: u64,
        partition: u32,
        mut request: Request,
    ) {
        request.peer = Peer::Node(from);
        let answer = |result| NodeMessage::Answer {
            id,
            result,
            committed: 0,
            waited: 0,
        };
        let Some(local) = self.local() else {
            let text = "The node has not started yet; send the request again after a moment.";
            self.send(from, &answer(Err(Failure::Unavailable(text.to_string()))));
            return;
        };
        // A gateway keeps nothing, so its polling workers are noted here.
        let asked = request.command.asked_for().filter(|_| is_gateway(from));
        let asker = asked.map(|asked| {
            let whose = (&request.claims, &*local.directory.get());
            let noted = Noted {
                node: from,
                now: real_time(),
            };
            workers::poll(asked, whose, noted)
        });
        // The sender may not have met the older node yet.
        let known = self.knows_everywhere(&request);
        let reply = known.and_then(|()| local.submit(partition, request, Instant::now()));
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => {
                self.send(from, &answer(Err(failure)));
                return;
            }
        };
        let Some(runtime) = self.runtime() else {
            return;
        };
        let cluster = self.clone();
        let request = ServedId { node: from, id };
        let carry_out = async move {
            let give_back = |jobs| cluster.give_back(jobs);
            let mut delivered = DeliveredJobs::new(reply, give_back);
            let Answer { result, timings } = delivered.answer().await;
            if let (Some(asker), Ok(_)) = (asker, &result) {
                let until = asker.seen;
                cluster.local.workers.asked(asker, until);
            }
            cluster.exchanges.requests.served.end(request);
            let message = NodeMessage::Answer {
                id,
                committed: cluster.local.committed(partition),
                waited: timings.inbox_wait.saturating_add(timings.wake),
                result,
            };
            if !cluster.send(from, &message)
                && let NodeMessage::Answer { result, .. } = message
            {
                cluster.give_back_jobs(result);
            }
        };
        let served = &self.exchanges.requests.served;
        served.begin(request, || runtime.spawn(carry_out).abort_handle());
    }

    /// Whether nothing is being carried out here for other nodes.
    pub(super) fn serves_nobody(&self) -> bool {
        self.exchanges.requests.served.is_empty()
    }

    pub(super) fn cancel(&self, from: u32, id: u64) {
        let request = ServedId { node: from, id };
        if let Some(task) = self.exchanges.requests.served.end(request) {
            task.abort();
        }
    }

    /// The connection with the node is lost, in either direction: answers may be too.
    pub(super) fn lose(&self, node: u32) {
        let lost: Vec<Pending> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let of_node = pending
                .iter()
                .filter(|(_, request)| request.to == Some(node));
            let ids: Vec<u64> = of_node.map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| pending.remove(id)).collect()
        };
        for pending in lost {
            self.exchanges.requests.ended(&pending, "LOST");
            pending.abort(node, &format!("the connection with node {node} was lost"));
        }
        self.exchanges.requests.served.abort_all(node);
    }

    /// Aborts requests at a node which no longer leads and does not say so, or is not heard: it is paused, or cut off. It gets some time to
    /// answer what it has committed.
    pub(super) fn abort_overtaken(&self) {
        let overtaken: Vec<Pending> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let mut ids = Vec::new();
            for (id, request) in pending.iter_mut() {
                let leader = self.leader_of(request.partition);
                let elsewhere = leader.is_some_and(|leader| Some(leader) != request.to)
                    || request.to.is_some_and(|node| self.has_fallen_silent(node));
                if std::mem::replace(&mut request.overtaken, elsewhere) && elsewhere {
                    ids.push(*id);
                }
            }
            ids.iter().filter_map(|id| pending.remove(id)).collect()
        };
        for pending in overtaken {
            self.exchanges.requests.ended(&pending, "LOST");
            let node = pending.to.unwrap_or_default();
            let why = if self.has_fallen_silent(node) {
                "it has gone silent"
            } else {
                "another node leads the partition by now"
            };
            pending.abort(node, why);
        }
    }

    /// Drops requests whose clients are gone.
    pub(super) fn forget_abandoned(&self) {
        let abandoned: Vec<(u64, u32)> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let gone = pending.iter().filter(|(_, p)| p.responder.is_abandoned());
            let gone: Vec<(u64, u32)> = gone.filter_map(|(id, p)| Some((*id, p.to?))).collect();
            for (id, _) in &gone {
                if let Some(pending) = pending.remove(id) {
                    self.exchanges.requests.ended(&pending, "ABANDONED");
                }
            }
            gone
        };
        for (id, to) in abandoned {
            self.send(to, &NodeMessage::Cancel { id });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Served, ServedId};

    #[test]
    fn a_request_that_is_carried_out_at_once_is_not_served_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let served = Arc::new(Served::default());
        let (ends, ended) = crossbeam_channel::bounded(1);
        let its_own = served.clone();
        let mut thread = None;
        served.begin(ServedId { node: 2, id: 17 }, || {
            thread = Some(std::thread::spawn(move || {
                its_own.end(ServedId { node: 2, id: 17 });
                let _ = ends.send(());
            }));
            // As much time as it wants, were it possible to end before it is noted.
            let _ = ended.recv_timeout(Duration::from_millis(100));
            runtime.spawn(async {}).abort_handle()
        });
        thread.unwrap().join().unwrap();
        assert!(served.is_empty());
    }

    #[test]
    fn a_node_that_is_lost_is_served_no_more() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let served = Served::default();
        let mut tasks = Vec::new();
        for node in [1, 2] {
            served.begin(ServedId { node, id: 17 }, || {
                let task = runtime.spawn(std::future::pending::<()>());
                let handle = task.abort_handle();
                tasks.push(task);
                handle
            });
        }
        served.abort_all(1);
        assert!(!served.is_empty());
        let ended = |node| served.end(ServedId { node, id: 17 });
        assert!(ended(1).is_none() && ended(2).is_some());
        let lost = runtime.block_on(tasks.remove(0));
        assert!(lost.unwrap_err().is_cancelled());
    }
}
