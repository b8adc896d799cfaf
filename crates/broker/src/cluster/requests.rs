//! Requests that another node carries out, and those that this one carries out for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_protocol::command::{Held, Request};
use skep_protocol::{Failure, Response};
use skep_service::{Answer, Reply, Responder, Timings, reply_channel};
use skep_transport::Class;
use tokio::task::AbortHandle;

use super::Cluster;
use super::wire::NodeMessage;
use crate::delivered_jobs::DeliveredJobs;
use crate::metrics::nanos;
use crate::metrics::nodes::{MessagingFamilies, OfAddress, OfAnswer, OfRequest, OfTopic};

/// Nodes that are asked one after the other when each says that another one leads.
const MAX_TRIES: u8 = 3;

/// A request that is with another node.
struct Pending {
    to: u32,
    partition: u32,
    tries: u8,
    /// Another node leads by now, and did when this was last looked at.
    overtaken: bool,
    responder: Responder,
    /// As it was sent: it may have to go to another node.
    message: Bytes,
    since: Instant,
    /// What the client occupies in its gateway while it waits.
    _held: Held,
}

impl Pending {
    /// There will be no answer.
    fn abort(self, why: &str) {
        let (node, partition) = (self.to, self.partition);
        let text = format!(
            "Node {node}, which led partition {partition}, did not answer: {why}. The command may or may not have been carried out."
        );
        let _ = self.responder.send(Answer {
            result: Err(Failure::Aborted(text)),
            timings: Timings::default(),
        });
    }
}

pub(super) struct Requests {
    metrics: MessagingFamilies,
    next: AtomicU64,
    pending: Mutex<FxHashMap<u64, Pending>>,
    /// Those of others, by node and their number.
    served: Mutex<FxHashMap<(u32, u64), AbortHandle>>,
}

impl Requests {
    pub(super) fn new(metrics: MessagingFamilies) -> Requests {
        Requests {
            metrics,
            next: AtomicU64::default(),
            pending: Mutex::default(),
            served: Mutex::default(),
        }
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

    /// It is answered, or never will be.
    fn ended(&self, pending: &Pending, outcome: &'static str) {
        let (address, topic) = (pending.to.to_string(), topic(pending.partition));
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

/// As the reference names what requests for a partition are sent to.
fn topic(partition: u32) -> String {
    format!("command-api-{partition}")
}

impl Cluster {
    /// Sends a request to the node that leads the partition. `Err` is the answer: nothing was done.
    pub fn forward(&self, partition: u32, mut request: Request) -> Result<Reply, Failure> {
        let leader = self.leader_elsewhere(partition)?;
        // Who waits for the end of an instance may wait for days.
        let waits = request.command.awaits_end();
        let held = std::mem::take(&mut request.held);
        let id = self.exchanges.requests.next.fetch_add(1, Ordering::Relaxed);
        let message = NodeMessage::Request {
            id,
            partition,
            request,
        };
        let message = message.encode();
        let (responder, reply) = reply_channel();
        // It is the other node that begins with it, or not.
        responder.begins();
        let pending = Pending {
            to: leader,
            partition,
            tries: 1,
            overtaken: false,
            responder,
            message: message.clone(),
            since: Instant::now(),
            _held: if waits { Held::default() } else { held },
        };
        self.exchanges
            .requests
            .sent(leader, partition, message.len());
        self.exchanges.requests.pending.lock().insert(id, pending);
        if let Err(error) = self.send_bytes(leader, Class::Requests, message) {
            if let Some(pending) = self.exchanges.requests.pending.lock().remove(&id) {
                self.exchanges.requests.ended(&pending, "NOT_SENT");
            }
            return Err(Failure::Unavailable(format!(
                "Partition {partition} is led by node {leader}, which cannot be reached: {error}. Nothing was done; send the \
                 request again after a moment."
            )));
        }
        Ok(reply)
    }

    /// The node that leads the partition, which is not this one.
    fn leader_elsewhere(&self, partition: u32) -> Result<u32, Failure> {
        let leader = self.leader_of(partition);
        leader.filter(|leader| *leader != self.node()).ok_or_else(|| {
            if self.state().is_lost(partition) {
                return Failure::Unavailable(format!(
                    "Partition {partition} is lost: no node has a copy of it any more. Nothing was done."
                ));
            }
            let reached = self.there();
            let size = self.size();
            let why = if reached * 2 > size {
                "one is being elected".to_string()
            } else {
                format!("only {reached} of {size} nodes can be reached from node {}, and a majority has to agree", self.node())
            };
            Failure::Unavailable(format!(
                "Partition {partition} has no leader at the moment: {why}. Nothing was done; send the request again after a moment."
            ))
        })
    }

    /// The answer to a request that went to another node.
    pub(super) fn answered(&self, id: u64, result: Result<Response, Failure>, committed: u64) {
        let Some(mut pending) = self.exchanges.requests.pending.lock().remove(&id) else {
            // The client has gone away.
            self.give_back_jobs(result);
            return;
        };
        self.exchanges
            .requests
            .ended(&pending, if result.is_ok() { "SUCCESS" } else { "FAILURE" });
        if matches!(result, Err(Failure::Unavailable(_)))
            && pending.tries < MAX_TRIES
            && let Some(leader) = self.leader_of(pending.partition)
            && leader != pending.to
            && leader != self.node()
        {
            let message = pending.message.clone();
            self.exchanges
                .requests
                .sent(leader, pending.partition, message.len());
            (pending.to, pending.tries) = (leader, pending.tries + 1);
            self.exchanges.requests.pending.lock().insert(id, pending);
            if self.send_bytes(leader, Class::Requests, message).is_ok() {
                return;
            }
            let Some(again) = self.exchanges.requests.pending.lock().remove(&id) else {
                return;
            };
            self.exchanges.requests.ended(&again, "NOT_SENT");
            pending = again;
        }
        self.expect(pending.partition, committed);
        let answer = Answer {
            result,
            timings: Timings::default(),
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

    /// A request of another node's client.
    pub(super) fn serve(self: &Arc<Self>, from: u32, id: u64, partition: u32, request: Request) {
        let answer = |result| NodeMessage::Answer {
            id,
            result,
            committed: 0,
        };
        let Some(local) = self.local() else {
            let text = "The node has not started yet; send the request again after a moment.";
            self.send(from, &answer(Err(Failure::Unavailable(text.to_string()))));
            return;
        };
        let reply = match local.submit(partition, request, std::time::Instant::now()) {
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
        let task = runtime.spawn(async move {
            let give_back = |jobs| cluster.give_back(jobs);
            let mut delivered = DeliveredJobs::new(reply, give_back);
            let result = delivered.answer().await.result;
            cluster.exchanges.requests.served.lock().remove(&(from, id));
            let message = NodeMessage::Answer {
                id,
                committed: cluster.local.committed(partition),
                result,
            };
            if !cluster.send(from, &message)
                && let NodeMessage::Answer { result, .. } = message
            {
                cluster.give_back_jobs(result);
            }
        });
        let mut served = self.exchanges.requests.served.lock();
        served.insert((from, id), task.abort_handle());
        if task.is_finished() {
            served.remove(&(from, id));
        }
    }

    pub(super) fn cancel(&self, from: u32, id: u64) {
        if let Some(task) = self.exchanges.requests.served.lock().remove(&(from, id)) {
            task.abort();
        }
    }

    /// The connection with the node is lost, one way or the other: answers may be too.
    pub(super) fn lose(&self, node: u32) {
        let lost: Vec<Pending> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let of_node = pending.iter().filter(|(_, request)| request.to == node);
            let ids: Vec<u64> = of_node.map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| pending.remove(id)).collect()
        };
        for pending in lost {
            self.exchanges.requests.ended(&pending, "LOST");
            pending.abort(&format!("the connection with node {node} was lost"));
        }
        self.exchanges
            .requests
            .served
            .lock()
            .retain(|(from, _), task| {
                if *from == node {
                    task.abort();
                }
                *from != node
            });
    }

    /// Requests that are with a node which does not lead any more and does not say so either: it is paused, or cut off. It
    /// has some time to answer what it has committed.
    pub(super) fn abort_overtaken(&self) {
        let overtaken: Vec<Pending> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let mut ids = Vec::new();
            for (id, request) in pending.iter_mut() {
                let leader = self.leader_of(request.partition);
                let elsewhere = leader.is_some_and(|leader| leader != request.to);
                if std::mem::replace(&mut request.overtaken, elsewhere) && elsewhere {
                    ids.push(*id);
                }
            }
            ids.iter().filter_map(|id| pending.remove(id)).collect()
        };
        for pending in overtaken {
            self.exchanges.requests.ended(&pending, "LOST");
            pending.abort("another node leads the partition by now");
        }
    }

    /// Requests whose clients have gone away.
    pub(super) fn forget_abandoned(&self) {
        let abandoned: Vec<(u64, u32)> = {
            let mut pending = self.exchanges.requests.pending.lock();
            let gone = pending.iter().filter(|(_, p)| p.responder.is_abandoned());
            let gone: Vec<(u64, u32)> = gone.map(|(id, p)| (*id, p.to)).collect();
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
