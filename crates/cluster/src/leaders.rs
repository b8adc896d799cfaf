//! Which node should lead which partition, so that all nodes lead about as many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A leader for each partition. `candidates` has the nodes that could lead a partition, the preferred one first; a partition without any
/// has no leader. The same candidates give the same leaders, so nodes agree without asking each other.
///
/// In the result, no leadership could move, directly or through others, from a node to one that has two fewer. Among the ways to reach
/// that, each partition stays with its preferred node where possible.
pub fn spread(candidates: &BTreeMap<u32, Vec<u32>>) -> BTreeMap<u32, u32> {
    let preferred = candidates.iter();
    let preferred = preferred.filter_map(|(partition, nodes)| Some((*partition, *nodes.first()?)));
    let mut leaders: BTreeMap<u32, u32> = preferred.collect();
    // Each round brings two nodes closer together, so this terminates.
    while let Some(moves) = moves_to_fewer(candidates, &leaders) {
        leaders.extend(moves);
    }
    leaders
}

/// New leaders for some partitions, after which one node leads one partition less, another one more, and all others as many as before.
fn moves_to_fewer(
    candidates: &BTreeMap<u32, Vec<u32>>,
    leaders: &BTreeMap<u32, u32>,
) -> Option<Vec<(u32, u32)>> {
    let mut led: BTreeMap<u32, usize> = candidates
        .values()
        .flatten()
        .map(|node| (*node, 0))
        .collect();
    for node in leaders.values() {
        *led.entry(*node).or_default() += 1;
    }
    let mut busiest: Vec<(usize, u32)> = led.iter().map(|(node, count)| (*count, *node)).collect();
    busiest.sort_unstable_by(|a, b| b.cmp(a));
    busiest.into_iter().find_map(|(count, from)| {
        let enough = |node: u32| led.get(&node).is_some_and(|other| other + 2 <= count);
        shortest_way(candidates, leaders, from, enough)
    })
}

/// The moves along the shortest chain of nodes that begins with `from`, each of which takes a partition from the previous one.
fn shortest_way(
    candidates: &BTreeMap<u32, Vec<u32>>,
    leaders: &BTreeMap<u32, u32>,
    from: u32,
    ends_at: impl Fn(u32) -> bool,
) -> Option<Vec<(u32, u32)>> {
    let mut seen = BTreeSet::from([from]);
    let mut ways = VecDeque::from([(from, Vec::new())]);
    while let Some((node, way)) = ways.pop_front() {
        if ends_at(node) {
            return Some(way);
        }
        let led = leaders.iter().filter(|(_, leader)| **leader == node);
        for (partition, _) in led {
            for next in candidates.get(partition).into_iter().flatten() {
                if seen.insert(*next) {
                    let mut longer = way.clone();
                    longer.push((*partition, *next));
                    ways.push_back((*next, longer));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use skep_random::Random;

    use super::*;
    use crate::Layout;

    fn of(nodes: &[u32], copies: u32, partitions: u32) -> BTreeMap<u32, Vec<u32>> {
        let layout = Layout {
            nodes: nodes.to_vec(),
            copies,
            partitions,
        };
        let replicas = layout.replicas().into_iter();
        let nodes =
            replicas.map(|(partition, of)| (partition, of.into_iter().map(|it| it.0).collect()));
        nodes.collect()
    }

    fn counts(leaders: &BTreeMap<u32, u32>) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for node in leaders.values() {
            *counts.entry(*node).or_default() += 1;
        }
        counts
    }

    #[test]
    fn with_all_nodes_there_each_partition_is_led_by_its_first_replica() {
        let candidates = of(&[0, 1, 2], 3, 7);
        let leaders = spread(&candidates);
        for (partition, nodes) in &candidates {
            assert_eq!(leaders[partition], nodes[0]);
        }
    }

    #[test]
    fn partitions_of_a_lost_node_are_spread_over_all_that_are_left() {
        for (nodes, copies, partitions) in [(3, 3, 6), (4, 3, 12), (7, 3, 21), (5, 2, 20)] {
            let all: Vec<u32> = (0..nodes).collect();
            let mut candidates = of(&all, copies, partitions);
            for nodes in candidates.values_mut() {
                nodes.retain(|node| *node != 1);
            }
            let leaders = spread(&candidates);
            assert_eq!(leaders.len(), partitions as usize);
            let counts = counts(&leaders);
            let (least, most) = (
                counts.values().min().unwrap(),
                counts.values().max().unwrap(),
            );
            assert!(
                most - least <= 1,
                "{nodes} nodes, {copies} copies: {counts:?}"
            );
        }
    }

    #[test]
    fn a_chain_of_moves_relieves_a_node_whose_own_partitions_nobody_else_can_take() {
        // Node 0 can give only to 1, which gives to 2 what only 2 can take from it.
        let candidates = BTreeMap::from([(1, vec![0, 1]), (2, vec![0, 1]), (3, vec![1, 2])]);
        let leaders = spread(&candidates);
        assert_eq!(counts(&leaders), BTreeMap::from([(0, 1), (1, 1), (2, 1)]));
    }

    #[test]
    fn a_partition_that_nobody_can_lead_has_no_leader() {
        let candidates = BTreeMap::from([(1, vec![]), (2, vec![5])]);
        assert_eq!(spread(&candidates), BTreeMap::from([(2, 5)]));
    }

    #[test]
    fn no_other_choice_of_leaders_is_more_even() {
        // All choices of a few random clusters are enumerated.
        let mut random = Random(7);
        let mut below = |bound: u64| random.below(bound);
        for _ in 0..300 {
            let nodes = 2 + below(3) as u32;
            let partitions = 1 + below(6) as u32;
            let mut candidates = BTreeMap::new();
            for partition in 1..=partitions {
                let mut of: Vec<u32> = (0..nodes).filter(|_| below(2) == 0).collect();
                let count = of.len().max(1);
                of.rotate_left(below(count as u64) as usize);
                candidates.insert(partition, of);
            }
            let leaders = spread(&candidates);
            for (partition, node) in &leaders {
                assert!(candidates[partition].contains(node));
            }
            assert_eq!(
                unevenness(&leaders),
                least_unevenness(&candidates),
                "{candidates:?}"
            );
        }
    }

    fn unevenness(leaders: &BTreeMap<u32, u32>) -> usize {
        counts(leaders).values().map(|count| count * count).sum()
    }

    fn least_unevenness(candidates: &BTreeMap<u32, Vec<u32>>) -> usize {
        let mut choices = vec![BTreeMap::new()];
        for (partition, nodes) in candidates.iter().filter(|(_, nodes)| !nodes.is_empty()) {
            let longer = choices.iter().flat_map(|choice| {
                nodes.iter().map(move |node| {
                    let mut longer: BTreeMap<u32, u32> = choice.clone();
                    longer.insert(*partition, *node);
                    longer
                })
            });
            choices = longer.collect();
        }
        choices.iter().map(unevenness).min().unwrap_or(0)
    }
}
