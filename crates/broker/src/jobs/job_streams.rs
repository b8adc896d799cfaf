//! Job streams: jobs are pushed only while the receiver has credit.
//!
//! The credit of a stream is the number of jobs that may be in transit to it; in a cluster each node has a share of it, which grows where
//! jobs are (`cluster/shares.rs`). A partition takes one credit when it activates a job for the stream. The receiver returns the credit
//! when it takes the job (`JobReceiver::poll_recv`), which it does as its connection has room. If the stream closes, jobs that were not
//! taken return to their partitions.

mod of_type;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_engine::state::VariableNames;
use skep_engine::{JobStreams, Reservation, StreamId};
use skep_protocol::command::ActivateJobs;
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Tenants};
use skep_service::{Sleeper, Wakes};

use self::of_type::StreamsOfType;
use crate::partition::{Message, Notice, PartitionHandle, Work};

/// One open stream, shared by its receiver and all partitions.
#[derive(Debug)]
pub struct Stream {
    pub id: StreamId,
    pub spec: ActivateJobs,
    /// The caller that opened it.
    pub claims: Claims,
    fetch_variables: VariableNames,
    /// This node's share of the credit, free or taken for jobs in transit.
    capacity: AtomicI64,
    credit: AtomicI64,
    /// Whether a partition had a job and found no credit.
    starving: AtomicBool,
    queue: Mutex<Queue>,
    /// The nodes that share the credit; none in a single-node cluster.
    peers: Weak<dyn StreamPeers>,
    /// Set if the client is connected to another node, which gets the jobs.
    elsewhere: Option<Elsewhere>,
}

/// The other nodes, as a stream sees them.
pub trait StreamPeers: Send + Sync + std::fmt::Debug {
    /// Hands a job to a stream of another node. False if it cannot arrive.
    fn push(&self, to: &Elsewhere, job: ActivatedJob) -> bool;
    /// This node has jobs for the stream, and no credit.
    fn starve(&self, stream: StreamId, elsewhere: Option<&Elsewhere>);
}

/// A stream that a client has opened at another node.
#[derive(Debug)]
pub struct Elsewhere {
    pub node: u32,
    /// The name that the other node uses for the stream towards this node.
    pub stream: StreamId,
}

/// A job; if another node pushed it, with that node and its name for the stream.
pub(crate) type PushedJob = (ActivatedJob, Option<(u32, StreamId)>);

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<PushedJob>,
    receiver: Option<Sleeper>,
    closed: bool,
}

impl Stream {
    pub fn new(
        id: StreamId,
        (spec, claims): (ActivateJobs, Claims),
        peers: Option<&Arc<dyn StreamPeers>>,
        elsewhere: Option<Elsewhere>,
    ) -> Arc<Stream> {
        // A node may have no share of the credit for now.
        let least = u32::from(elsewhere.is_none());
        let capacity = i64::from(spec.max_jobs.max(least));
        Arc::new(Stream {
            id,
            fetch_variables: spec.fetch_variables.iter().cloned().collect(),
            spec,
            claims,
            capacity: AtomicI64::new(capacity),
            credit: AtomicI64::new(capacity),
            starving: AtomicBool::new(false),
            queue: Mutex::default(),
            peers: peers.map_or_else(nobody, Arc::downgrade),
            elsewhere,
        })
    }

    fn capacity(&self) -> i64 {
        self.capacity.load(Ordering::Acquire)
    }

    /// There is a job here but no credit; other nodes may have some. They are asked once, until credit arrives.
    fn starve(&self) {
        if self.starving.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(peers) = self.peers.upgrade() {
            peers.starve(self.id, self.elsewhere.as_ref());
        }
    }

    /// This node's share of the credit grows. True if partitions that lacked credit must be notified.
    pub fn grow(&self, amount: u32) -> bool {
        self.capacity.fetch_add(i64::from(amount), Ordering::AcqRel);
        self.credit.fetch_add(i64::from(amount), Ordering::AcqRel);
        self.starving.swap(false, Ordering::AcqRel)
    }

    /// Gives up unused credit, at most this much. Returns how much.
    pub fn shrink(&self, amount: u32) -> u32 {
        let free = |credit: i64| credit.clamp(0, i64::from(amount));
        let taken = self
            .credit
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |credit| {
                Some(credit - free(credit))
            });
        let taken = free(taken.unwrap_or_default());
        self.capacity.fetch_sub(taken, Ordering::AcqRel);
        u32::try_from(taken).unwrap_or_default()
    }

    fn has_credit(&self) -> bool {
        self.credit.load(Ordering::Acquire) > 0
    }

    fn take_credit(&self) -> bool {
        let take = |credit: i64| (credit > 0).then_some(credit - 1);
        self.credit
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }

    /// Hands over a committed job; tasks to wake are added to `wakes`. False if the stream is closed: the job goes back.
    pub fn deliver(&self, job: ActivatedJob, wakes: &mut Wakes) -> bool {
        if let Some(elsewhere) = &self.elsewhere {
            let peers = self.peers.upgrade();
            let sent = peers.is_some_and(|peers| peers.push(elsewhere, job));
            if !sent {
                // It will not arrive, so nobody takes it there.
                self.add_credit(1);
            }
            return sent;
        }
        let mut queue = self.queue.lock();
        if queue.closed {
            return false;
        }
        queue.jobs.push_back((job, None));
        if let Some(receiver) = queue.receiver.take() {
            wakes.add(receiver);
        }
        true
    }

    /// Takes a job that another node has pushed. The job is returned if the stream is closed.
    pub fn take_over(
        &self,
        from: (u32, StreamId),
        job: ActivatedJob,
    ) -> Result<(), Box<ActivatedJob>> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(Box::new(job));
        }
        queue.jobs.push_back((job, Some(from)));
        if let Some(receiver) = queue.receiver.take() {
            receiver.wake();
        }
        Ok(())
    }

    /// The client took jobs. True if partitions that lacked credit must be notified.
    pub fn add_credit(&self, amount: i64) -> bool {
        let capacity = self.capacity();
        let add = |credit: i64| Some((credit + amount).min(capacity));
        let added = self
            .credit
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        let credit = added.unwrap_or_default() + amount;
        // More is requested by halves of the credit, not job by job.
        credit * 2 >= capacity && self.starving.swap(false, Ordering::AcqRel)
    }

    /// The next job for the client. `None`: the stream has ended.
    pub(crate) fn poll_job(&self, cx: &mut Context<'_>) -> Poll<Option<PushedJob>> {
        let mut queue = self.queue.lock();
        match queue.jobs.pop_front() {
            Some(job) => Poll::Ready(Some(job)),
            None if queue.closed => Poll::Ready(None),
            None => {
                queue.receiver = Some(Sleeper::of(cx));
                Poll::Pending
            }
        }
    }

    /// The client is gone. Returns the jobs that it did not take.
    pub(crate) fn close(&self) -> Vec<ActivatedJob> {
        let mut queue = self.queue.lock();
        queue.closed = true;
        let left = std::mem::take(&mut queue.jobs);
        left.into_iter().map(|(job, _)| job).collect()
    }

    /// Ends the stream from the broker's side; the receiver gets the remaining jobs, then the end.
    pub fn end(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        if let Some(receiver) = queue.receiver.take() {
            receiver.wake();
        }
    }
}

/// The streams as one partition sees them.
#[derive(Debug, Default)]
pub struct StreamRegistry {
    by_type: HashMap<Arc<str>, StreamsOfType>,
    by_id: HashMap<StreamId, Arc<Stream>>,
    /// Credit taken for jobs that were not delivered yet.
    reserved: FxHashMap<StreamId, i64>,
}

impl StreamRegistry {
    pub fn open(&mut self, stream: Arc<Stream>) {
        let entry = self
            .by_type
            .entry(stream.spec.job_type.clone())
            .or_default();
        entry.open(stream.clone());
        self.by_id.insert(stream.id, stream);
    }

    pub fn close(&mut self, id: StreamId) {
        self.reserved.remove(&id);
        if let Some(stream) = self.by_id.remove(&id)
            && let Some(streams) = self.by_type.get_mut(&stream.spec.job_type)
        {
            streams.close(&stream);
            if streams.is_empty() {
                self.by_type.remove(&stream.spec.job_type);
            }
        }
    }

    /// Hands a committed job to its stream; tasks to wake are added to `wakes`. False if the stream is closed: the job goes back.
    pub fn deliver(&mut self, id: StreamId, job: ActivatedJob, wakes: &mut Wakes) -> bool {
        if let Some(reserved) = self.reserved.get_mut(&id) {
            *reserved -= 1;
        }
        let stream = self.by_id.get(&id);
        stream.is_some_and(|stream| stream.deliver(job, wakes))
    }

    /// Returns the credit of jobs that will not come, because the state that had them was dropped. Returns the job types of all streams,
    /// because jobs may wait for them.
    pub fn forget_reservations(&mut self) -> Vec<Arc<str>> {
        for (id, reserved) in self.reserved.drain() {
            if let Some(stream) = self.by_id.get(&id) {
                stream.credit.fetch_add(reserved, Ordering::AcqRel);
            }
        }
        self.job_types()
    }

    pub fn job_types(&self) -> Vec<Arc<str>> {
        self.by_type.keys().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Stream>> {
        self.by_id.values()
    }
}

/// A partition that ends delivers nothing more; its streams continue with others.
impl Drop for StreamRegistry {
    fn drop(&mut self) {
        self.forget_reservations();
    }
}

impl JobStreams for StreamRegistry {
    fn reserve(
        &mut self,
        job_type: &str,
        may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Reservation> {
        let stream = self.by_type.get_mut(job_type)?.take_credit(may)?;
        *self.reserved.entry(stream.id).or_default() += 1;
        Some(Reservation {
            stream: stream.id,
            worker: stream.spec.worker.clone(),
            timeout: stream.spec.timeout,
            fetch_variables: stream.fetch_variables.clone(),
            tenant_filter: stream.spec.tenants.filter,
        })
    }

    fn has_credit(&mut self, job_type: &str) -> bool {
        let of_type = self.by_type.get(job_type);
        of_type.is_some_and(StreamsOfType::has_credit)
    }

    fn release(&mut self, reservation: Reservation) {
        if let Some(reserved) = self.reserved.get_mut(&reservation.stream) {
            *reserved -= 1;
        }
        if let Some(stream) = self.by_id.get(&reservation.stream) {
            stream.credit.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// No other node shares the credit.
fn nobody() -> Weak<dyn StreamPeers> {
    Weak::<Nobody>::new()
}

#[derive(Debug)]
struct Nobody;

impl StreamPeers for Nobody {
    fn push(&self, _: &Elsewhere, _: ActivatedJob) -> bool {
        false
    }

    fn starve(&self, _: StreamId, _: Option<&Elsewhere>) {}
}

/// The streams of this node's clients, opened and closed at all of its partitions.
#[derive(Default)]
pub struct StreamHub {
    next_id: AtomicI64,
    partitions: Mutex<Vec<Weak<PartitionHandle>>>,
    open: Mutex<HashMap<StreamId, Arc<Stream>>>,
}

impl StreamHub {
    pub fn attach(&self, partition: &Arc<PartitionHandle>) {
        let mut partitions = self.partitions.lock();
        // Partitions come and go.
        partitions.retain(|known| known.strong_count() > 0);
        partitions.push(Arc::downgrade(partition));
    }

    fn send_to_partitions<M: Into<Message>>(&self, message: impl Fn() -> M) {
        for partition in self.partitions.lock().iter().filter_map(Weak::upgrade) {
            partition.inbox.send(message());
        }
    }

    /// A number that no other stream has.
    pub fn next_id(&self) -> StreamId {
        self.next_id.fetch_add(1, Ordering::Relaxed) as StreamId
    }

    /// A local client has opened the stream.
    pub(crate) fn open(&self, stream: &Arc<Stream>) {
        self.open.lock().insert(stream.id, stream.clone());
        self.announce(stream, true);
    }

    pub(crate) fn close(&self, stream: &Arc<Stream>) {
        self.open.lock().remove(&stream.id);
        self.announce(stream, false);
    }

    /// A stream of this type has credit again.
    pub fn has_room(&self, job_type: &Arc<str>) {
        self.send_to_partitions(|| Work::StreamHasRoom(job_type.clone()));
    }

    /// A stream, perhaps of another node's client, is opened or closed.
    pub fn announce(&self, stream: &Arc<Stream>, opened: bool) {
        self.send_to_partitions(|| {
            if opened {
                Notice::StreamOpened(stream.clone())
            } else {
                Notice::StreamClosed(stream.id)
            }
        });
    }

    pub fn find(&self, id: StreamId) -> Option<Arc<Stream>> {
        self.open.lock().get(&id).cloned()
    }

    /// All open streams, for `/actuator/jobstreams` and metrics.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        self.open.lock().values().cloned().collect()
    }

    /// Ends all streams because the node is shutting down.
    pub fn end_all(&self) {
        for stream in self.streams() {
            stream.end();
        }
    }
}
