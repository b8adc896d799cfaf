//! A node gets a copy of a partition where it has one already.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_cluster::{State, member};
use skep_replication::Members;

use super::hanging_tests::hosting;
use crate::hosting::alone_tests::open;
use crate::metrics::BrokerMetrics;
use crate::partition::PartitionHandle;
use crate::router::Broker;

const DEADLINE: Duration = Duration::from_secs(180);

/// The node learns that it gets a copy of partition 1, as the member of this generation.
fn joins(broker: &Broker, state: &mut State, generation: u64) {
    let node = state.nodes.get_mut(&0).unwrap();
    node.partitions.get_mut(&1).unwrap().generation = generation;
    let own = member(0, generation);
    let mut members = Vec::new();
    Members::bootstrap(vec![own]).encode_into(&mut members);
    hosting(broker).join(broker.shared(), state, 1, own, members);
}

fn copy(broker: &Broker) -> Arc<PartitionHandle> {
    broker.shared().local.partition(1).unwrap()
}

/// It was removed and added again between two looks of the node, so nobody has given the failed copy up.
#[test]
fn a_copy_that_has_failed_gives_its_place_to_a_later_member_and_one_that_works_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(directory.path(), 2).unwrap();
    let hosted = &broker.shared().local.hosted;
    let works = hosted.remove(1).unwrap();
    assert!(works.stop());
    let before = member(0, 0);
    let metrics = Arc::new(BrokerMetrics::default().partition(1));
    let why = "its disk has failed".to_string();
    hosted.put(PartitionHandle::failed(
        broker.config(),
        (1, before),
        metrics,
        why,
    ));
    drop(works);

    let mut state = (*broker.cluster_state()).clone();
    // A message that is repeated.
    joins(&broker, &mut state, 0);
    assert!(copy(&broker).status.failure().is_some());
    joins(&broker, &mut state, 5);
    assert_eq!(copy(&broker).status.failure(), None);
    let began = Instant::now();
    while copy(&broker).status.member() != member(0, 5) || !copy(&broker).leads() {
        assert!(began.elapsed() < DEADLINE, "it does not work");
        std::thread::yield_now();
    }
    joins(&broker, &mut state, 6);
    assert_eq!(copy(&broker).status.member(), member(0, 5));
    assert!(copy(&broker).leads());
    assert!(broker.stop());
}
