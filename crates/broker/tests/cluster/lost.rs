//! Permanent loss of most nodes, or of most copies of a partition: the others continue with the data they have.

use std::path::Path;

use super::changes::{ask, change, is_over, nodes_waiting, partitions_of, scale};
use super::*;
use skep_cluster::{Planned, Refusal, Request};

/// Repeats the request until the lost nodes are no longer considered reachable.
pub async fn remove_lost(rig: &Rig, lost: &[u32]) -> Planned {
    let began = Instant::now();
    loop {
        let brokers = lost.to_vec();
        match ask(rig, Request::ForceRemove { brokers }, false).await {
            Ok(planned) => return planned,
            // Invalid: a leader that does not know yet that it has no majority.
            Err(
                Refusal::Busy(_)
                | Refusal::Unreachable(_)
                | Refusal::Unanswered(_)
                | Refusal::Invalid(_),
            ) if began.elapsed() < DEADLINE => {}
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
async fn two_of_five_recover_under_the_first_of_them_and_get_copies_of_each_other() {
    let nodes = Nodes::new(5, 3);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = some(&rigs[3], 10).await;
    for node in [4, 2, 1] {
        stop(rigs.remove(node)).await;
    }
    // The second of the remaining nodes gets the request, the first decides.
    let planned = remove_lost(&rigs[1], &[1, 2, 4]).await;
    let unsafe_recovery = planned.unsafe_recovery.as_ref().unwrap();
    assert_eq!(
        (unsafe_recovery.from.len(), unsafe_recovery.lost.len()),
        (3, 0)
    );
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
    // A lost node comes back with its old data.
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
    // Both keep their new role after a restart.
    for node in [0, 3] {
        stop(rigs.remove(0)).await;
        rigs.push(nodes.open(node).await);
    }
    all_are_there(&rigs[0], created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_majority_that_lives_does_not_yield_to_a_minority_after_unsafe_recovery() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = some(&rigs[0], 10).await;
    for node in [1, 0] {
        stop(rigs.remove(node)).await;
    }
    let planned = remove_lost(&rigs[0], &[0, 1]).await;
    wait_until("the end of the change", || {
        is_over(&rigs[0], planned.change)
    })
    .await;
    create_one(&rigs[0]).await;
    stop(rigs.remove(0)).await;
    // The nodes considered lost are a majority of the former cluster.
    let opening = [nodes.opening(0), nodes.opening(1)];
    for (node, opening) in opening.into_iter().enumerate() {
        rigs.push(nodes.rig(node, opening).await);
    }
    for rig in &rigs {
        wait_until("leaders", || knows_all_leaders(rig)).await;
    }
    let minority = nodes.open(2).await;
    let met = Instant::now();
    while met.elapsed() < Duration::from_secs(5) {
        for rig in &rigs {
            assert!(created.insert(create_one(rig).await));
            let failed = rig.broker.partitions().into_iter();
            let failed: Vec<_> = failed.filter_map(|it| it.status.failure()).collect();
            assert!(failed.is_empty(), "{failed:?}");
        }
    }
    all_are_there(&rigs[0], created).await;
    stop(minority).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_lost_most_of_its_copies_recovers_in_a_living_cluster() {
    let nodes = Nodes::new(3, 3);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    change(&rigs.iter().collect::<Vec<_>>(), scale(&[], &[], Some(2))).await;
    let mut created = some(&rigs[0], 10).await;
    stop(rigs.remove(1)).await;
    let planned = remove_lost(&rigs[1], &[1]).await;
    assert_eq!(planned.unsafe_recovery.as_ref().unwrap().from.len(), 2);
    for rig in &rigs {
        wait_until("the end of the change", || is_over(rig, planned.change)).await;
        assert_eq!(rig.broker.cluster_state().epoch, 0);
        wait_until("leaders", || knows_all_leaders(rig)).await;
    }
    created.extend(some(&rigs[1], 10).await);
    let empty = nodes.directories[1].path();
    for entry in std::fs::read_dir(empty).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
    let back = nodes_waiting(&nodes, &rigs, 1, scale(&[1], &[], Some(3))).await;
    wait_until("copies", || partitions_of(&back) == [1, 2, 3]).await;
    all_are_there(&back, created).await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to)
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

/// Gives the node a directory with this content.
fn put(nodes: &mut Nodes, node: usize, content: &Path) {
    nodes.directories[node] = Arc::new(tempfile::tempdir().unwrap());
    copy(content, nodes.directories[node].path());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsafe_recovery_is_atomic_across_crashes() {
    let mut nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let created = some(&rigs[0], 10).await;
    for rig in rigs.drain(..).rev() {
        stop(rig).await;
    }
    let kept = tempfile::tempdir().unwrap();
    let before = kept.path().join("before");
    copy(nodes.directories[0].path(), &before);
    let left = nodes.open(0).await;
    let planned = remove_lost(&left, &[1, 2]).await;
    wait_until("the end of the change", || is_over(&left, planned.change)).await;
    stop(left).await;
    let group = nodes.directories[0].path().join("cluster-state");
    let decision =
        ["first", "replica"].map(|name| (name, std::fs::read(group.join(name)).unwrap()));

    // The decision was written partially or completely, and the former data still exists or not.
    for (written, still_there) in [(1, true), (2, true), (2, false)] {
        put(&mut nodes, 0, &before);
        let group = nodes.directories[0].path().join("cluster-state");
        let decided = group.with_extension("anew");
        std::fs::create_dir(&decided).unwrap();
        for (name, bytes) in decision.iter().take(written) {
            std::fs::write(decided.join(name), bytes).unwrap();
        }
        if !still_there {
            std::fs::remove_dir_all(&group).unwrap();
        }
        let left = nodes.open(0).await;
        assert!(!decided.exists());
        if written < decision.len() {
            assert_eq!(left.broker.cluster_state().epoch, 0);
            let planned = remove_lost(&left, &[1, 2]).await;
            wait_until("the end of the change", || is_over(&left, planned.change)).await;
        }
        wait_until("the cluster", || left.broker.cluster_state().epoch == 1).await;
        wait_until("a leader", || knows_all_leaders(&left)).await;
        all_are_there(&left, created.clone()).await;
        stop(left).await;
    }
}
