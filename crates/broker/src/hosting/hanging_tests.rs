//! Copies whose threads do not end, as on a disk that does not answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::Hosting;
use super::given_up::GivenUp;
use crate::hosting::alone_tests::open;
use crate::metrics::BrokerMetrics;
use crate::partition::PartitionHandle;
use crate::router::{Broker, OpenError};

pub(super) fn hosting(broker: &Broker) -> Hosting {
    Hosting {
        config: broker.config().clone(),
        clock: broker.clock().clone(),
        metrics: BrokerMetrics::default(),
        shared: Arc::downgrade(broker.shared()),
    }
}

/// Replaces the copy by one that was told to end, and whose thread does when the sender is dropped.
pub(super) fn hangs(broker: &Broker, partition: u32) -> Sender<()> {
    let hosted = &broker.shared().local.hosted;
    let works = hosted.remove(partition).unwrap();
    assert!(works.stop());
    let (release, hangs) = crossbeam_channel::bounded::<()>(0);
    let thread = std::thread::spawn(move || {
        let _ = hangs.recv();
    });
    let member = works.status.member();
    let handle = PartitionHandle::with_thread(broker.config(), partition, member, thread);
    assert!(!handle.stop_until(Instant::now()));
    hosted.put(handle);
    release
}

#[test]
fn the_directory_of_a_copy_stays_where_it_is_while_its_thread_runs() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(directory.path(), 2).unwrap();
    let (hosting, shared) = (hosting(&broker), broker.shared());
    let release = hangs(&broker, 1);
    let mut state = (*broker.cluster_state()).clone();
    let node = state.nodes.get_mut(&0).unwrap();
    node.partitions.remove(&1);
    let mut given_up = GivenUp::default();
    let (there, gone) = (
        hosting.directory(1),
        hosting.directory(1).with_extension("given-up"),
    );
    hosting.give_up(shared, &state, &mut given_up);
    assert!(there.exists() && !gone.exists());
    let kept = shared.local.partition(1).unwrap();
    let failure = kept.status.failure();
    assert!(failure.is_some(), "operators see it");
    drop((release, kept));
    while there.exists() {
        hosting.give_up(shared, &state, &mut given_up);
        std::thread::yield_now();
    }
    assert!(gone.exists());
    assert!(shared.local.partition(1).is_none());
    assert!(broker.stop());
}

#[test]
fn the_data_directory_stays_locked_while_a_thread_may_write_into_it() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(directory.path(), 2).unwrap();
    assert!(broker.stop());
    drop(broker);
    let broker = open(directory.path(), 2).unwrap();
    let release = hangs(&broker, 1);
    let began = Instant::now();
    assert!(!broker.stop_until(began + Duration::from_secs(600)));
    assert!(began.elapsed() < Duration::from_secs(300), "a stop ends");
    drop(broker);
    let refused = open(directory.path(), 2).err();
    assert!(
        matches!(refused, Some(OpenError::InUse { .. })),
        "{refused:?}"
    );
    drop(release);
}
