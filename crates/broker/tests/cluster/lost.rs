//! Most nodes are lost for good, or most copies of a partition: the others go on with what they have.

use super::changes::{ask, change, is_over, nodes_waiting, partitions_of, scale};
use super::*;
use skep_cluster::{Planned, Refusal, Request};

/// Asks until nobody takes the lost ones for reachable any more.
async fn remove_lost(rig: &Rig, lost: &[u32]) -> Planned {
    let began = Instant::now();
    loop {
        let brokers = lost.to_vec();
        match ask(rig, Request::ForceRemove { brokers }, false).await {
            Ok(planned) => return planned,
            Err(Refusal::Busy(_) | Refusal::Unreachable(_) | Refusal::Unanswered(_))
                if began.elapsed() < DEADLINE => {}
            // A leader that does not know yet that it has no majority.
            Err(Refusal::Invalid(text))
                if text.contains("a majority of the 5 brokers is there") => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

async fn some(rig: &Rig, count: usize) -> HashSet<Key> {
    let mut created = HashSet::new();
    for _ in 0..count {
        assert!(created.insert(create_one(rig).await));
    }
    created
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_five_go_on_under_the_first_of_them_and_get_copies_of_each_other() {
    let nodes = Nodes::new(5, 3);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = some(&rigs[3], 10).await;
    for node in [4, 2, 1] {
        stop(rigs.remove(node)).await;
    }
    // The second of those that are left is asked, and the first decides.
    let planned = remove_lost(&rigs[1], &[1, 2, 4]).await;
    let anew = planned.anew.as_ref().unwrap();
    assert_eq!((anew.from.len(), anew.lost.len()), (3, 0));
    for rig in &rigs {
        wait_until("the end of the change", || is_over(rig, planned.change)).await;
        wait_until("copies", || partitions_of(rig) == [1, 2, 3]).await;
        let state = rig.broker.cluster_state();
        assert_eq!(state.nodes.keys().copied().collect::<Vec<_>>(), [0, 3]);
        assert_eq!((state.epoch, state.replication_factor()), (1, 2));
    }
    let new = some(&rigs[1], 10).await;
    let most = |keys: &HashSet<Key>, partition| {
        let keys = keys.iter().filter(|key| key.partition() == Some(partition));
        keys.map(|key| key.counter()).max()
    };
    let least = |partition| {
        let keys = new.iter().filter(|key| key.partition() == Some(partition));
        keys.map(|key| key.counter()).min()
    };
    for partition in 1..=3 {
        let after = most(&created, partition).zip(least(partition));
        assert!(after.is_none_or(|(old, new)| new > old + (1 << 31)));
    }
    created.extend(new);
    // One that was lost comes back, with what it had.
    let old = nodes.opening(1);
    wait_until("the node to open, or not", || old.is_finished()).await;
    match old.join().unwrap() {
        Err(refused) => assert!(refused.to_string().contains("node 1 was removed as lost")),
        Ok(broker) => {
            wait_until("the node to know that it is none of them", || {
                let mut partitions = broker.partitions().into_iter();
                partitions.all(|it| {
                    let failure = it.status.failure();
                    failure.is_some_and(|text| text.contains("node 1 was removed as lost"))
                })
            })
            .await;
            tokio::task::spawn_blocking(move || broker.stop())
                .await
                .unwrap();
        }
    }
    // Restarted, both are what they have become.
    for node in [0, 3] {
        stop(rigs.remove(0)).await;
        rigs.push(nodes.open(node).await);
    }
    all_are_there(&rigs[0], created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_has_lost_most_of_its_copies_goes_on_while_the_cluster_lives() {
    let nodes = Nodes::new(3, 3);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    change(&rigs.iter().collect::<Vec<_>>(), scale(&[], &[], Some(2))).await;
    let mut created = some(&rigs[0], 10).await;
    stop(rigs.remove(1)).await;
    let planned = remove_lost(&rigs[1], &[1]).await;
    assert_eq!(planned.anew.as_ref().unwrap().from.len(), 2);
    for rig in &rigs {
        wait_until("the end of the change", || is_over(rig, planned.change)).await;
        assert_eq!(rig.broker.cluster_state().epoch, 0);
        wait_until("leaders", || knows_all_leaders(rig)).await;
    }
    created.extend(some(&rigs[1], 10).await);
    let empty = nodes.directories[1].path();
    for entry in std::fs::read_dir(empty).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }
    let back = nodes_waiting(&nodes, &rigs, 1, scale(&[1], &[], Some(3))).await;
    wait_until("copies", || partitions_of(&back) == [1, 2, 3]).await;
    all_are_there(&back, created).await;
}
