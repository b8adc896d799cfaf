//! Job streams across nodes.
//!
//! A stream is known to every node, each with a share of its credit, so that whoever leads a partition pushes its jobs. A job that the client's
//! connection has taken gives its credit back to the node that has pushed it. Shares move to where jobs are ([`Shares`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use skep_engine::StreamId;
use skep_protocol::ActivatedJob;
use skep_protocol::command::ActivateJobs;
use skep_protocol::response::JobActivation;

use super::Cluster;
use super::shares::{Moves, Shares};
use super::wire::NodeMessage;
use crate::job_streams::{Elsewhere, Stream};

#[derive(Default)]
pub(super) struct RemoteStreams {
    /// Streams of other nodes' clients, by node and the number there.
    of_others: Mutex<HashMap<(u32, StreamId), Arc<Stream>>>,
    /// Jobs that clients here have taken, by the node that has pushed them: not told yet.
    taken: Mutex<HashMap<(u32, StreamId), u32>>,
    /// Of the streams of clients here.
    shares: Mutex<HashMap<StreamId, Shares>>,
}

impl Cluster {
    /// A client of this node opens a stream with this credit. Returns the share of each node.
    pub fn deal_out(&self, stream: StreamId, credit: u32) -> u32 {
        let nodes = match self.is_gateway() {
            true => self.state().nodes.keys().copied().collect(),
            false => self.nodes(),
        };
        let shares = Shares::new(credit, nodes);
        let each = shares.each();
        self.streams.shares.lock().insert(stream, shares);
        each
    }

    /// A client of this node has opened a stream.
    pub fn open_elsewhere(&self, stream: StreamId, spec: &ActivateJobs) {
        self.broadcast(&NodeMessage::OpenStream {
            stream,
            spec: spec.clone(),
        });
    }

    pub fn close_elsewhere(&self, stream: StreamId) {
        self.streams.taken.lock().retain(|(_, of), _| *of != stream);
        self.streams.shares.lock().remove(&stream);
        self.broadcast(&NodeMessage::CloseStream { stream });
    }

    /// A node that is met (again) hears of all streams here.
    pub(super) fn tell_streams(&self, node: u32) {
        let Some(broker) = self.broker() else {
            return;
        };
        self.streams.taken.lock().retain(|(of, _), _| *of != node);
        for stream in broker.streams.streams() {
            let mut spec = stream.spec.clone();
            match self.streams.shares.lock().get_mut(&stream.id) {
                Some(shares) => spec.max_jobs = shares.met(node),
                // It is just being closed.
                None => continue,
            }
            let stream = stream.id;
            self.send(node, &NodeMessage::OpenStream { stream, spec });
        }
    }

    /// A client of another node has opened a stream.
    pub(super) fn open_for(self: &Arc<Self>, node: u32, stream: StreamId, spec: ActivateJobs) {
        let Some(broker) = self.broker() else {
            return;
        };
        self.close_for(node, stream);
        let elsewhere = Elsewhere { node, stream };
        let cluster = Arc::downgrade(self);
        let opened = Stream::new(broker.streams.next_id(), spec, cluster, Some(elsewhere));
        let mut of_others = self.streams.of_others.lock();
        of_others.insert((node, stream), opened.clone());
        drop(of_others);
        broker.streams.tell_of(&opened, true);
    }

    pub(super) fn close_for(&self, node: u32, stream: StreamId) {
        let closed = self.streams.of_others.lock().remove(&(node, stream));
        if let (Some(stream), Some(broker)) = (closed, self.broker()) {
            broker.streams.tell_of(&stream, false);
        }
    }

    /// Streams of clients of other nodes.
    pub fn streams_of_others(&self) -> Vec<Arc<Stream>> {
        self.streams.of_others.lock().values().cloned().collect()
    }

    /// The node is gone, and its clients' streams with it.
    pub(super) fn lose_streams(&self, node: u32) {
        for shares in self.streams.shares.lock().values_mut() {
            shares.lost(node);
        }
        let of_node: Vec<StreamId> = {
            let of_others = self.streams.of_others.lock();
            let of_node = of_others.keys().filter(|(of, _)| *of == node);
            of_node.map(|(_, stream)| *stream).collect()
        };
        for stream in of_node {
            self.close_for(node, stream);
        }
    }

    /// Hands a job to a stream of another node. False if it cannot arrive.
    pub fn push(&self, node: u32, stream: StreamId, job: ActivatedJob) -> bool {
        let job = Box::new(job);
        self.send(node, &NodeMessage::Push { stream, job })
    }

    /// Another node has pushed a job to a stream here.
    pub(super) fn pushed(&self, from: u32, stream: StreamId, job: ActivatedJob) {
        let Some(broker) = self.broker() else {
            return;
        };
        let job = match broker.streams.find(stream) {
            Some(stream) => stream.take_over(from, job).err(),
            None => Some(Box::new(job)),
        };
        if let Some(job) = job
            && let Some(partition) = broker.routing.home(job.key)
        {
            let jobs = vec![job.activation()];
            self.send(from, &NodeMessage::GiveBack { partition, jobs });
        }
    }

    /// A client here has taken a job that the node has pushed. The node is told in halves of its share.
    pub fn taken(&self, node: u32, stream: StreamId) {
        let share = self.streams.shares.lock().get(&stream).map(|s| s.of(node));
        let share = share.unwrap_or(1);
        let amount = {
            let mut taken = self.streams.taken.lock();
            let count = taken.entry((node, stream)).or_default();
            *count += 1;
            if *count * 2 < share {
                return;
            }
            taken.remove(&(node, stream)).unwrap_or_default()
        };
        self.send(node, &NodeMessage::Credit { stream, amount });
    }

    /// Clients of the node have taken jobs that were pushed from here.
    pub(super) fn credit(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        if let (Some(stream), Some(broker)) = (found, self.broker())
            && stream.add_credit(i64::from(amount))
        {
            broker.streams.has_room(&stream.spec.job_type);
        }
    }

    /// This node has jobs for a stream of another node, and no credit.
    pub fn starve_for(&self, node: u32, stream: StreamId) {
        self.send(node, &NodeMessage::Starves { stream });
    }

    /// A node has jobs for a stream of this node, and no credit.
    pub fn starves(&self, node: u32, stream: StreamId) {
        let moves = match self.streams.shares.lock().get_mut(&stream) {
            Some(shares) => shares.starves(node, Instant::now()),
            None => return,
        };
        self.carry_out(stream, moves);
    }

    fn carry_out(&self, stream: StreamId, moves: Moves) {
        for (node, amount) in moves.grow {
            match node == self.node() {
                true => self.grow_here(stream, amount),
                false => {
                    self.send(node, &NodeMessage::Grow { stream, amount });
                }
            }
        }
        for (node, amount) in moves.shrink {
            if node != self.node() {
                self.send(node, &NodeMessage::Shrink { stream, amount });
            } else if let Some(broker) = self.broker()
                && let Some(own) = broker.streams.find(stream)
            {
                self.shrunk(node, stream, own.shrink(amount));
            }
        }
    }

    fn grow_here(&self, stream: StreamId, amount: u32) {
        if let Some(broker) = self.broker()
            && let Some(own) = broker.streams.find(stream)
            && own.grow(amount)
        {
            broker.streams.has_room(&own.spec.job_type);
        }
    }

    /// A node has given up credit of a stream of this node.
    pub(super) fn shrunk(&self, node: u32, stream: StreamId, amount: u32) {
        let grow = match self.streams.shares.lock().get_mut(&stream) {
            Some(shares) => shares.freed(node, amount),
            None => return,
        };
        let shrink = Vec::new();
        self.carry_out(stream, Moves { grow, shrink });
    }

    /// A node wants back credit of its stream.
    pub(super) fn shrink(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        let amount = found.map_or(0, |found| found.shrink(amount));
        self.send(node, &NodeMessage::Shrunk { stream, amount });
    }

    /// A node gives more credit for its stream.
    pub(super) fn grow(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        if let (Some(found), Some(broker)) = (found, self.broker())
            && found.grow(amount)
        {
            broker.streams.has_room(&found.spec.job_type);
        }
    }

    /// A job that was not delivered to a client of this node.
    pub fn return_job(&self, job: JobActivation) {
        if let Some(broker) = self.broker() {
            broker.give_back([job]);
        }
    }
}
