//! Leaders are spread over the live nodes automatically.

use super::*;

/// Number of partitions that each node leads, in ascending order; `None` while a partition has no leader.
fn led(rig: &Rig) -> Option<Vec<usize>> {
    let topology = rig.broker.topology();
    let mut led: BTreeMap<usize, usize> = topology
        .brokers
        .iter()
        .map(|broker| (broker.node_id as usize, 0))
        .collect();
    for partition in 1..=topology.partitions_count {
        *led.entry(leader(&topology, partition)?).or_default() += 1;
    }
    let mut counts: Vec<usize> = led.into_values().collect();
    counts.sort_unstable();
    Some(counts)
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_are_rebalanced_when_a_node_stops_and_when_it_returns() {
    let nodes = Nodes::new(3, 4);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::from([new_one(&rigs[0]).await]);
    stop(rigs.pop().unwrap()).await;
    for rig in &rigs {
        wait_until("two leaders on each of two nodes", || {
            led(rig) == Some(vec![2, 2])
        })
        .await;
    }
    created.insert(create_one(&rigs[0]).await);
    rigs.push(nodes.open(2).await);
    for rig in &rigs {
        wait_until("leaders on all three nodes", || {
            led(rig) == Some(vec![1, 1, 2])
        })
        .await;
    }
    created.insert(create_one(&rigs[2]).await);
    all_are_there(&rigs[1], created).await;
}
