//! Metrics of a replica, about itself and its followers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_cluster::node_of;
use skep_metrics::{Counter, Gauge, Histogram, Unlabelled};
use skep_replication::{Message, MessageKind};

use crate::metrics::nodes::{GROUP, OfFollower, OfReceived, OfSent, ReplicationFamilies};
use crate::metrics::{PartitionMetrics, nanos};

/// Maximum number of unanswered messages with entries whose latency is measured.
const MAX_WAITING: usize = 64;

pub struct ReplicaMetrics {
    partition: u32,
    families: ReplicationFamilies,
    metrics: Arc<PartitionMetrics>,
    followers: HashMap<u64, Follower>,
    sent: HashMap<(u64, MessageKind), Counter>,
    received: HashMap<MessageKind, Counter>,
    /// When the leader was last heard, or when its silence was last counted.
    last_contact: Option<Instant>,
    /// How long a leader may be silent before that is counted.
    silence: Duration,
    candidate: Option<Instant>,
    snapshot: Option<Instant>,
    paused: Option<Instant>,
}

struct Follower {
    latency: Histogram,
    entries: Counter,
    kib: Counter,
    /// Bytes that do not make a whole KiB yet.
    bytes: usize,
    lacking: Gauge,
    /// The last entries of messages, with the times at which they were sent.
    waiting: VecDeque<(u64, Instant)>,
}

impl ReplicaMetrics {
    pub fn new(
        partition: u32,
        families: ReplicationFamilies,
        metrics: Arc<PartitionMetrics>,
        heartbeat: Duration,
    ) -> ReplicaMetrics {
        ReplicaMetrics {
            partition,
            families,
            metrics,
            followers: HashMap::new(),
            sent: HashMap::new(),
            received: HashMap::new(),
            last_contact: None,
            silence: heartbeat * 2,
            candidate: None,
            snapshot: None,
            paused: None,
        }
    }

    fn follower(&mut self, member: u64) -> &mut Follower {
        let (families, partition) = (&self.families, self.partition);
        self.followers.entry(member).or_insert_with(|| {
            let node = node_of(member).map_or(member, u64::from);
            let of = || OfFollower::new(partition, node);
            Follower {
                latency: families.append_latency.of(of()),
                entries: families.appended.of(of()),
                kib: families.appended_kib.of(of()),
                bytes: 0,
                lacking: families.lacking.of(of()),
                waiting: VecDeque::new(),
            }
        })
    }

    pub fn sends(&mut self, message: &Message) {
        let (kind, to) = (message.kind(), message.to());
        if kind.is_request() {
            let (families, partition) = (&self.families, self.partition);
            let counter = self.sent.entry((to, kind)).or_insert_with(|| {
                let node = node_of(to).map_or(to, u64::from);
                families.sent.of(OfSent::new(partition, node, kind.name()))
            });
            counter.inc();
        }
        if let Some(last) = message.last_entry() {
            let follower = self.follower(to);
            follower.entries.inc_by(message.entries() as u64);
            follower.bytes += message.payload_bytes();
            follower.kib.inc_by((follower.bytes / 1024) as u64);
            follower.bytes %= 1024;
            if follower.waiting.len() < MAX_WAITING {
                follower.waiting.push_back((last, Instant::now()));
            }
        }
    }

    pub fn receives(&mut self, message: &Message) {
        let kind = message.kind();
        if kind.is_request() {
            let (families, partition) = (&self.families, self.partition);
            let counter = self.received.entry(kind).or_insert_with(|| {
                families.received.of(OfReceived {
                    partition,
                    r#type: kind.name(),
                    partitionGroupName: GROUP,
                })
            });
            counter.inc();
        }
        if kind.is_of_leader() {
            let now = Instant::now();
            if let Some(last) = self.last_contact.replace(now) {
                let time = now.saturating_duration_since(last);
                self.metrics.heartbeat_time.observe(nanos(time));
            }
        }
        if let Some(stored) = message.stored_up_to() {
            let follower = self.follower(message.from());
            while let Some((_, left)) = follower.waiting.pop_front_if(|w| w.0 <= stored) {
                follower.latency.observe(nanos(left.elapsed()));
            }
        }
    }

    /// Time has passed. A follower should hear its leader in each interval.
    pub fn tick(&mut self, follows: bool) {
        let Some(last) = self.last_contact.filter(|_| follows) else {
            self.last_contact = None;
            return;
        };
        if last.elapsed() >= self.silence {
            self.metrics.heartbeat_misses.inc();
            self.last_contact = Some(Instant::now());
        }
    }

    pub fn is_candidate(&mut self) {
        self.candidate.get_or_insert_with(Instant::now);
    }

    pub fn follows(&mut self) {
        self.candidate = None;
        for follower in self.followers.values_mut() {
            follower.waiting.clear();
            follower.lacking.set(0);
        }
    }

    /// `since`: when the replica learned that it was elected.
    pub fn leads(&mut self, since: Instant) {
        let millis = |since: Instant| i64::try_from(since.elapsed().as_millis()).unwrap_or(0);
        if let Some(candidate) = self.candidate.take() {
            self.metrics.election.set(millis(candidate));
        }
        self.metrics.transition.set(since.elapsed().as_secs_f64());
    }

    pub fn lack(&mut self, lacking: impl Iterator<Item = (u64, u64)>) {
        for (member, entries) in lacking {
            let entries = i64::try_from(entries).unwrap_or(i64::MAX);
            self.follower(member).lacking.set(entries);
        }
    }

    pub fn snapshot_begins(&mut self) {
        self.snapshot = Some(Instant::now());
        self.metrics.incoming_snapshots.set(1);
    }

    /// The snapshot has arrived, or is not needed.
    pub fn snapshot_ends(&mut self, is_there: bool) {
        self.metrics.incoming_snapshots.set(0);
        if let Some(began) = self.snapshot.take().filter(|_| is_there) {
            let time = began.elapsed();
            let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            self.metrics.snapshot_time.set(millis);
            self.metrics.snapshot_transfer.observe_time(time);
        }
    }

    /// Whether the partition starts nothing because another node is about to lead it.
    pub fn pauses(&mut self, pauses: bool) {
        match (pauses, self.paused) {
            (true, None) => {
                self.paused = Some(Instant::now());
                self.families.paused.inc();
            }
            (false, Some(since)) => {
                self.paused = None;
                self.families.paused.dec();
                let pause = self.families.pause.of(Unlabelled);
                pause.observe_time(since.elapsed());
            }
            _ => {}
        }
    }
}
