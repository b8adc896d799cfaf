//! Exporters of records: a new leader continues where the last one stopped.

use skep_broker::partition::PartitionHandle;

use super::stores::{checkpoint, committed, stored};
use super::*;
use crate::support::exporter::Fake;

/// The partition on its leader.
fn led(rigs: &[Rig]) -> Option<(usize, Arc<PartitionHandle>)> {
    let handles = rigs.iter().map(|rig| rig.broker.partitions()[0].clone());
    let mut handles = handles.enumerate();
    handles.find(|(_, handle)| handle.status.role() == PartitionRole::Leader)
}

/// The last entry that was exported, according to the state.
fn reported(rigs: &[Rig]) -> u64 {
    let value = led(rigs).map(|(_, handle)| handle.exporters.value());
    let value = value.unwrap_or_default();
    value.exporter("fake").map_or(0, |e| e.position.entry)
}

async fn create_some(rigs: &[Rig]) {
    for _ in 0..20 {
        create_one(&rigs[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_got_a_snapshot_exports_what_its_exporter_lacks() {
    let fake = Fake::default();
    let mut nodes = Nodes::new(3, 1);
    nodes.exporters = vec![fake.named("fake")];
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    create_some(&rigs).await;
    let left = committed(&rigs[2]);
    stop(rigs.pop().unwrap()).await;
    for rig in &rigs {
        // The log is not kept for the missing node.
        let status = &rig.broker.partitions()[0].status;
        status.disk_low.store(true, Ordering::Relaxed);
    }
    create_some(&rigs).await;
    wait_until("the exporter", || reported(&rigs) > left + 10).await;
    // From here on the exporter falls behind.
    fake.0.lock().is_away = true;
    create_some(&rigs).await;
    for rig in &rigs {
        wait_until("secondary storage", || stored(rig) >= committed(&rigs[0])).await;
    }
    create_one(&rigs[0]).await;
    checkpoint(&rigs[0]).await;
    checkpoint(&rigs[1]).await;
    let behind = reported(&rigs);

    // The node gets a snapshot: the others' logs no longer contain the entries it lacks.
    rigs.push(nodes.open(2).await);
    let all = committed(&rigs[0]);
    wait_until("the snapshot", || committed(&rigs[2]) >= all).await;
    let snapshot = &rigs[2].broker.partitions()[0].status;
    assert!(snapshot.checkpoint_index.load(Ordering::Relaxed) > behind + 10);
    // After a restart it still has the entries that its exporter needs.
    stop(rigs.pop().unwrap()).await;
    rigs.push(nodes.open(2).await);
    wait_until("the node to catch up", || committed(&rigs[2]) >= all).await;
    let began = Instant::now();
    while !matches!(led(&rigs), Some((2, _))) {
        assert!(began.elapsed() < DEADLINE, "the node does not lead");
        if let Some((_, handle)) = led(&rigs) {
            handle.inbox.send(Report::HandOver(vec![3]));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop(rigs.remove(0)).await;
    fake.0.lock().is_away = false;
    create_one(&rigs[1]).await;
    let status = &rigs[1].broker.partitions()[0].status;
    let wanted = status.committed_position.load(Ordering::Relaxed);
    wait_until("everything to be exported", || {
        let target = fake.0.lock();
        target
            .records
            .last_key_value()
            .is_some_and(|(at, _)| *at >= wanted)
    })
    .await;
    let target = fake.0.lock();
    let lacking = (1..=wanted).filter(|at| !target.records.contains_key(at));
    assert_eq!(lacking.count(), 0, "records were not exported");
}
