//! What a partition does while it applies a long log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_cluster::member;
use skep_engine::OldestNode;
use skep_protocol::command::{Command, PublishMessage, Request};
use skep_protocol::{Document, Routing};
use skep_service::Broker as _;

use super::{Counters, Partition, Polled, open};
use crate::Broker;
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::metrics::{BrokerMetrics, WorkCounter};
use crate::partition::Report;
use crate::partition::parts::effect_sink::{EffectSink, Nobody};
use crate::partition::replica_metrics::ReplicaMetrics;
use crate::replica_file::ReplicaOf;

const DEADLINE: Duration = Duration::from_secs(180);

pub(super) fn config(directory: &Path) -> BrokerConfig {
    BrokerConfig {
        directory: directory.to_path_buf(),
        secondary_storage: None,
        ..BrokerConfig::default()
    }
}

pub(super) fn message(n: usize, variables: &str) -> Command {
    Command::PublishMessage(PublishMessage {
        name: "large".into(),
        correlation_key: n.to_string().into(),
        time_to_live: 3_600_000,
        message_id: "".into(),
        variables: Document::parse(variables).unwrap(),
    })
}

/// A message of one MiB, which is an entry of its own. It cannot be compressed.
fn large(n: usize) -> Command {
    let mut random = n as u32;
    let letters = std::iter::repeat_with(|| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'A' + (random >> 27) as u8)
    });
    let text: String = letters.take(1 << 20).collect();
    let variables = format!(r#"{{"x":"{}"}}"#, text.replace('\\', "/"));
    message(n, &variables)
}

/// A node with so many of these messages in its log, and no checkpoint, ends. Returns its last entry.
async fn with_a_long_log(directory: &Path, messages: usize) -> u64 {
    let broker = Broker::open(config(directory), Arc::new(Clock::default())).unwrap();
    let began = Instant::now();
    while !broker.is_ready() {
        assert!(began.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for n in 0..messages {
        let answer = broker.execute(Request::internal(large(n))).await;
        answer.result.unwrap();
    }
    let partition = broker.partitions()[0].clone();
    let last = partition.status.applied.load(Ordering::Acquire);
    assert!(partition.abandon());
    assert!(broker.stop());
    last
}

/// Partition 1 without its thread.
pub(super) fn opened(
    config: &BrokerConfig,
    replica: &ReplicaOf,
    effect_sink: Arc<dyn EffectSink>,
) -> Box<Partition> {
    let metrics = BrokerMetrics::default();
    let own = Arc::new(metrics.partition(1));
    let families = metrics.replication.clone();
    let counters = Counters {
        metrics: own.clone(),
        work: WorkCounter::new(&metrics.work, 1),
        exporting: metrics.exporting.clone(),
        replica: ReplicaMetrics::new(1, families, own, Duration::from_secs(1)),
    };
    open::open(
        config,
        (1, replica, 0),
        effect_sink,
        (Arc::new(Routing::new(1)), OldestNode::default()),
        Arc::new(Clock::default()),
        counters,
    )
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_read_between_the_parts_of_a_long_log() {
    let directory = tempfile::tempdir().unwrap();
    // A part is 4 MiB.
    let last = with_a_long_log(directory.path(), 24).await;
    let alone = member(0, 0);
    let replica = ReplicaOf::bootstrap(alone, vec![alone]);
    let mut partition = opened(&config(directory.path()), &replica, Arc::new(Nobody));
    assert_eq!(partition.core.applied(), 0, "there is no checkpoint");
    let (mut polled, began) = (Polled::default(), Instant::now());
    let mut parts = 0;
    while partition.core.applied() < last {
        assert!(began.elapsed() < DEADLINE);
        let before = partition.core.applied();
        // Like a heartbeat that has arrived.
        partition.env.inbox.send(Report::Wake);
        partition.drive(&mut polled).unwrap();
        parts += usize::from(partition.core.applied() > before);
        partition.take_messages().unwrap();
        partition.run_scheduled().unwrap();
    }
    // Two without a report: what was known to be committed, and the rest after the election.
    assert!(parts >= 3, "applied in {parts} parts");
}
