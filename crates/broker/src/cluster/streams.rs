//! Job streams across nodes.
//!
//! Every node knows a stream and has a share of its credit, so every leader can push its jobs. When the client's connection
//! has taken a job, the credit returns to the node that pushed it. Shares move to the nodes that have jobs ([`Shares`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use skep_cluster::is_gateway;
use skep_engine::StreamId;
use skep_protocol::ActivatedJob;
use skep_protocol::command::ActivateJobs;
use skep_protocol::origin::Claims;

use super::Cluster;
use super::shares::{Moves, Shares};
use super::wire::NodeMessage;
use crate::job_streams::{Elsewhere, Stream, StreamPeers};

#[derive(Default)]
pub(super) struct RemoteStreams {
    /// Streams of other nodes' clients, by node and by the name that it uses for them towards this one.
    of_others: Mutex<HashMap<(u32, StreamId), Arc<Stream>>>,
    /// Jobs that local clients have taken but whose pushing node was not notified yet, by that node and its name for the stream.
    taken: Mutex<HashMap<(u32, StreamId), u32>>,
    own: Mutex<OwnStreams>,
}

/// The streams of local clients.
#[derive(Default)]
struct OwnStreams {
    shares: HashMap<StreamId, Shares>,
    /// The streams by the names that other nodes use or used for them.
    names: HashMap<StreamId, StreamId>,
    /// All names of each stream.
    names_of: HashMap<StreamId, Vec<StreamId>>,
}

impl OwnStreams {
    fn is_named(&mut self, stream: StreamId, name: StreamId) {
        self.names.insert(name, stream);
        self.names_of.entry(stream).or_default().push(name);
    }

    /// Forgets a stream with its names, without a look at those of other streams.
    fn remove(&mut self, stream: StreamId) -> Option<Shares> {
        for name in self.names_of.remove(&stream).into_iter().flatten() {
            self.names.remove(&name);
        }
        self.shares.remove(&stream)
    }

    fn named(&mut self, name: StreamId) -> Option<(StreamId, &mut Shares)> {
        let stream = *self.names.get(&name)?;
        Some((stream, self.shares.get_mut(&stream)?))
    }
}

impl Cluster {
    /// A local client opens a stream with this credit. Returns the share of each node.
    pub fn deal_out(&self, stream: StreamId, credit: u32) -> u32 {
        let nodes = if self.is_gateway() {
            self.state().nodes.keys().copied().collect()
        } else {
            self.nodes()
        };
        let shares = Shares::new(credit, stream, nodes);
        let each = shares.each();
        let mut own = self.streams.own.lock();
        own.is_named(stream, stream);
        own.shares.insert(stream, shares);
        each
    }

    /// Announces a local client's new stream to the other nodes.
    pub fn open_elsewhere(&self, stream: StreamId, spec: &ActivateJobs, claims: &Claims) {
        let message = NodeMessage::OpenStream {
            stream,
            spec: spec.clone(),
            claims: claims.clone(),
        };
        // A node that was met in the meantime knows it by another name.
        self.send_to_all(&message, |node| self.name_at(node, stream) == Some(stream));
    }

    fn name_at(&self, node: u32, stream: StreamId) -> Option<StreamId> {
        self.streams.own.lock().shares.get(&stream)?.name_at(node)
    }

    pub fn close_elsewhere(&self, stream: StreamId) {
        let shares = self.streams.own.lock().remove(stream);
        let announced_at = |node: u32| shares.as_ref()?.announced_at(node);
        for node in self.nodes_with_streams() {
            if let Some(stream) = announced_at(node) {
                self.streams.taken.lock().remove(&(node, stream));
                self.send(node, &NodeMessage::CloseStream { stream });
            }
        }
    }

    fn nodes_with_streams(&self) -> Vec<u32> {
        let peers = self.peers();
        peers.filter(|node| !is_gateway(*node)).collect()
    }

    /// Announces all local streams to a node that is met (again).
    pub(super) fn announce_streams(&self, node: u32) {
        let Some(local) = self.local() else {
            return;
        };
        self.streams.taken.lock().retain(|(of, _), _| *of != node);
        for stream in local.streams.streams() {
            let mut spec = stream.spec.clone();
            let name = local.streams.next_id();
            let mut own = self.streams.own.lock();
            // The stream may just be closing.
            let Some(shares) = own.shares.get_mut(&stream.id) else {
                continue;
            };
            let before = shares.announced_at(node);
            spec.max_jobs = shares.met(node, name);
            own.is_named(stream.id, name);
            drop(own);
            if let Some(stream) = before {
                self.send(node, &NodeMessage::CloseStream { stream });
            }
            let opened = NodeMessage::OpenStream {
                stream: name,
                spec,
                claims: stream.claims.clone(),
            };
            self.send(node, &opened);
            // Its client may have left meanwhile, and what closes it may have been sent before.
            if self.name_at(node, stream.id) != Some(name) {
                self.send(node, &NodeMessage::CloseStream { stream: name });
            }
        }
    }

    /// A client of another node has opened a stream.
    pub(super) fn open_for(
        self: &Arc<Self>,
        node: u32,
        stream: StreamId,
        opened: (ActivateJobs, Claims),
    ) {
        self.close_for(node, stream);
        // A node that has not begun has no partitions yet. Those that it opens look for the streams then, which are not announced again.
        let streams = &self.local.streams;
        let elsewhere = Elsewhere { node, stream };
        let peers: Arc<dyn StreamPeers> = self.clone();
        let opened = Stream::new(streams.next_id(), opened, Some(&peers), Some(elsewhere));
        let mut of_others = self.streams.of_others.lock();
        of_others.insert((node, stream), opened.clone());
        drop(of_others);
        streams.announce(&opened, true);
    }

    pub(super) fn close_for(&self, node: u32, stream: StreamId) {
        let closed = self.streams.of_others.lock().remove(&(node, stream));
        if let Some(stream) = closed {
            self.local.streams.announce(&stream, false);
        }
    }

    /// Streams opened by clients of other nodes.
    pub fn streams_of_others(&self) -> Vec<Arc<Stream>> {
        self.streams.of_others.lock().values().cloned().collect()
    }

    /// Streams opened by clients of gateways, with the gateway of each.
    pub(crate) fn streams_of_gateways(&self) -> Vec<(u32, Arc<Stream>)> {
        let streams = self.streams.of_others.lock();
        let of_gateways = streams.iter().filter(|((node, _), _)| is_gateway(*node));
        of_gateways
            .map(|((node, _), stream)| (*node, Arc::clone(stream)))
            .collect()
    }

    /// The node is lost, and its clients' streams with it.
    pub(super) fn lose_streams(&self, node: u32) {
        for shares in self.streams.own.lock().shares.values_mut() {
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

    /// Another node has pushed a job to a local stream.
    pub(super) fn pushed(&self, from: u32, name: StreamId, job: ActivatedJob) {
        let Some(local) = self.local() else {
            return;
        };
        let named = self.streams.own.lock().named(name).map(|(stream, shares)| {
            shares.came(from, name);
            stream
        });
        let job = match named.and_then(|stream| local.streams.find(stream)) {
            Some(stream) => stream.take_over((from, name), job).err(),
            None => Some(Box::new(job)),
        };
        if let Some(job) = job
            && let Some(partition) = local.known.routing().home(job.key)
        {
            let jobs = vec![job.activation()];
            self.send(from, &NodeMessage::GiveBack { partition, jobs });
        }
    }

    /// A local client has taken a job that the node pushed. The node is notified whenever half of its share was taken.
    pub fn taken(&self, node: u32, name: StreamId) {
        let taken = match self.streams.own.lock().named(name) {
            Some((stream, shares)) => (stream, shares.taken(node, name)),
            None => return,
        };
        let share = match taken {
            (_, Ok(share)) => share,
            (stream, Err(grow)) => {
                let shrink = Vec::new();
                return self.carry_out(stream, Moves { grow, shrink });
            }
        };
        let amount = {
            let mut taken = self.streams.taken.lock();
            let count = taken.entry((node, name)).or_default();
            *count += 1;
            if *count * 2 < share {
                return;
            }
            taken.remove(&(node, name)).unwrap_or_default()
        };
        let credit = NodeMessage::Credit {
            stream: name,
            amount,
        };
        if !self.send(node, &credit) {
            // Sent with the next notification.
            *self.streams.taken.lock().entry((node, name)).or_default() += amount;
        }
    }

    /// Clients of the node have taken jobs that were pushed from here.
    pub(super) fn credit(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        if let Some(stream) = found
            && stream.add_credit(i64::from(amount))
        {
            self.local.streams.has_room(&stream.spec.job_type);
        }
    }

    /// A node has jobs for a local stream, and no credit.
    pub(super) fn starves(&self, node: u32, name: StreamId) {
        let (stream, moves) = match self.streams.own.lock().named(name) {
            Some((stream, shares)) => (stream, shares.starves(node, Instant::now())),
            None => return,
        };
        self.carry_out(stream, moves);
    }

    fn carry_out(&self, stream: StreamId, moves: Moves) {
        for (node, amount) in moves.grow {
            if node == self.node() {
                self.grow_here(stream, amount);
            } else if let Some(name) = self.name_at(node, stream) {
                let grow = NodeMessage::Grow {
                    stream: name,
                    amount,
                };
                let sent = self.send(node, &grow);
                let mut own = self.streams.own.lock();
                if let Some(shares) = own.shares.get_mut(&stream).filter(|_| !sent) {
                    shares.not_grown(node, amount);
                }
            }
        }
        for (node, amount) in moves.shrink {
            if node != self.node() {
                if let Some(stream) = self.name_at(node, stream) {
                    self.send(node, &NodeMessage::Shrink { stream, amount });
                }
            } else if let Some(local) = self.local()
                && let Some(own) = local.streams.find(stream)
            {
                self.shrunk(node, stream, own.shrink(amount));
            }
        }
    }

    fn grow_here(&self, stream: StreamId, amount: u32) {
        if let Some(local) = self.local()
            && let Some(own) = local.streams.find(stream)
            && own.grow(amount)
        {
            local.streams.has_room(&own.spec.job_type);
        }
    }

    /// A node has given up credit of a local stream.
    pub(super) fn shrunk(&self, node: u32, name: StreamId, amount: u32) {
        let (stream, grow) = match self.streams.own.lock().named(name) {
            Some((stream, shares)) if shares.name_at(node) == Some(name) => {
                (stream, shares.freed(node, amount))
            }
            _ => return,
        };
        let shrink = Vec::new();
        self.carry_out(stream, Moves { grow, shrink });
    }

    /// A node wants credit of its stream back.
    pub(super) fn shrink(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        let amount = found.as_ref().map_or(0, |found| found.shrink(amount));
        let sent = self.send(node, &NodeMessage::Shrunk { stream, amount });
        if let Some(found) = found.filter(|_| !sent) {
            found.grow(amount);
        }
    }

    /// A node gives more credit for its stream.
    pub(super) fn grow(&self, node: u32, stream: StreamId, amount: u32) {
        let found = self.streams.of_others.lock().get(&(node, stream)).cloned();
        if let Some(found) = found
            && found.grow(amount)
        {
            self.local.streams.has_room(&found.spec.job_type);
        }
    }
}

impl StreamPeers for Cluster {
    fn push(&self, to: &Elsewhere, job: ActivatedJob) -> bool {
        let (stream, job) = (to.stream, Box::new(job));
        self.send(to.node, &NodeMessage::Push { stream, job })
    }

    fn starve(&self, stream: StreamId, elsewhere: Option<&Elsewhere>) {
        match elsewhere {
            Some(of) => drop(self.send(of.node, &NodeMessage::Starves { stream: of.stream })),
            None => self.starves(self.node(), stream),
        }
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnStreams, Shares};

    #[test]
    fn a_closed_stream_leaves_none_of_its_names_and_those_of_others() {
        let mut own = OwnStreams::default();
        for stream in [1, 2] {
            own.is_named(stream, stream);
            own.shares.insert(stream, Shares::new(8, stream, [0, 1]));
        }
        // A connection was lost and made again.
        own.is_named(1, 3);
        own.is_named(2, 4);
        assert_eq!(own.named(3).map(|(stream, _)| stream), Some(1));
        assert!(own.remove(1).is_some());
        assert!(own.named(1).is_none() && own.named(3).is_none());
        assert_eq!(own.named(4).map(|(stream, _)| stream), Some(2));
        assert!(own.remove(2).is_some() && own.remove(2).is_none());
        assert!(own.names.is_empty() && own.names_of.is_empty());
    }
}
