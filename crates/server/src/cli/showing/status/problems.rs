//! Problems of a cluster: nodes that do not answer, partitions without a leader, missing replicas, phases that somebody paused.

use std::collections::BTreeSet;

use serde_json::Value;
use skep_client::Topology;

/// One line per problem, worst first. `nodes`: the nodes' reports on their partitions, null if unknown.
pub fn problems(topology: &Topology, nodes: &Value) -> Vec<String> {
    let mut found = gone(topology, nodes);
    for id in 1..=topology.partitions_count {
        of_partition(topology, id, &mut found);
    }
    paused(nodes, &mut found);
    found
}

/// Missing members of the cluster.
fn gone(topology: &Topology, nodes: &Value) -> Vec<String> {
    let seen: BTreeSet<i32> = topology.brokers.iter().map(|b| b.node_id).collect();
    let known = nodes.as_object().into_iter().flatten();
    let silent: BTreeSet<i32> = known
        .filter(|(_, answer)| answer.is_null())
        .filter_map(|(node, _)| node.parse().ok())
        .collect();
    let mut found: Vec<String> = silent
        .iter()
        .map(|node| format!("node {node} does not answer"))
        .collect();
    let missing = usize::try_from(topology.cluster_size).unwrap_or(0);
    let missing = missing.saturating_sub(seen.union(&silent).count());
    if missing > 0 {
        found.push(format!(
            "{missing} of {} nodes are not visible",
            topology.cluster_size
        ));
    }
    found
}

fn of_partition(topology: &Topology, id: i32, found: &mut Vec<String>) {
    let brokers = topology.brokers.iter();
    let copies: Vec<_> = brokers
        .flat_map(|broker| broker.partitions.iter().map(move |p| (broker.node_id, p)))
        .filter(|(_, partition)| partition.partition_id == id)
        .collect();
    if !copies.iter().any(|(_, copy)| copy.role == "leader") {
        found.push(format!(
            "partition {id} has no leader: it accepts no requests"
        ));
    }
    let wanted = usize::try_from(topology.replication_factor).unwrap_or(0);
    if copies.len() < wanted {
        let there = copies.len();
        found.push(format!("partition {id} has {there} of {wanted} copies"));
    }
    for (node, copy) in copies {
        if copy.health != "healthy" {
            let health = &copy.health;
            found.push(format!("partition {id} is {health} on node {node}"));
        }
    }
}

fn paused(nodes: &Value, found: &mut Vec<String>) {
    for (node, partitions) in nodes.as_object().into_iter().flatten() {
        for (id, state) in partitions.as_object().into_iter().flatten() {
            let is_leader = state["role"] == "LEADER";
            if is_leader && state["streamProcessorPhase"] == "PAUSED" {
                found.push(format!(
                    "processing of partition {id} is paused on node {node}"
                ));
            }
            if is_leader
                && let Some(phase @ ("PAUSED" | "SOFT_PAUSED")) = state["exporterPhase"].as_str()
            {
                let how = phase.to_lowercase().replace('_', " ");
                found.push(format!(
                    "exporting of partition {id} is {how} on node {node}"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skep_client::{BrokerInfo, PartitionInfo};

    use super::*;

    /// Brokers with their roles in partition 1, 2, …; "-" without a replica.
    fn cluster(size: i32, copies: i32, brokers: &[(i32, &[&str])]) -> Topology {
        let broker = |(node_id, roles): &(i32, &[&str])| BrokerInfo {
            node_id: *node_id,
            host: "h".into(),
            port: 1,
            version: "8.9.0".into(),
            partitions: (1..)
                .zip(*roles)
                .filter(|(_, role)| **role != "-")
                .map(|(partition_id, role)| PartitionInfo {
                    partition_id,
                    role: role.to_string(),
                    health: "healthy".into(),
                })
                .collect(),
        };
        Topology {
            brokers: brokers.iter().map(broker).collect(),
            cluster_size: size,
            partitions_count: 2,
            replication_factor: copies,
            gateway_version: "8.9.0".into(),
            skep_version: None,
        }
    }

    const ALL: [(i32, &[&str]); 3] = [
        (0, &["leader", "follower"]),
        (1, &["follower", "leader"]),
        (2, &["follower", "follower"]),
    ];

    #[test]
    fn a_whole_cluster_has_none() {
        let nodes = json!({"0": {"1": {"role": "LEADER", "streamProcessorPhase": "PROCESSING", "exporterPhase": "EXPORTING"}}});
        assert!(problems(&cluster(3, 3, &ALL), &nodes).is_empty());
        assert!(problems(&cluster(3, 3, &ALL), &Value::Null).is_empty());
    }

    #[test]
    fn a_node_that_is_gone_is_named_with_the_copies_that_are_missing() {
        let nodes = json!({"0": {}, "1": {}, "2": null});
        let said = problems(&cluster(3, 3, &ALL[..2]), &nodes);
        assert_eq!(
            said,
            [
                "node 2 does not answer",
                "partition 1 has 2 of 3 copies",
                "partition 2 has 2 of 3 copies",
            ]
        );
        let said = problems(&cluster(3, 3, &ALL[..2]), &Value::Null);
        assert_eq!(said[0], "1 of 3 nodes are not visible");
    }

    #[test]
    fn a_partition_without_a_leader_is_named_although_every_copy_is_healthy() {
        let said = problems(
            &cluster(1, 1, &[(0, &["leader", "follower"])]),
            &Value::Null,
        );
        assert_eq!(said, ["partition 2 has no leader: it accepts no requests"]);
        let said = problems(&cluster(1, 1, &[]), &Value::Null);
        assert!(
            said.iter()
                .any(|text| text.starts_with("partition 1 has no leader")),
            "{said:?}"
        );
    }

    #[test]
    fn paused_processing_and_exporting_are_named() {
        let nodes = json!({"0": {
            "1": {"role": "LEADER", "streamProcessorPhase": "PAUSED", "exporterPhase": "SOFT_PAUSED"},
            "2": {"role": "FOLLOWER", "streamProcessorPhase": "PAUSED", "exporterPhase": "PAUSED"},
        }});
        let said = problems(&cluster(3, 3, &ALL), &nodes);
        assert_eq!(
            said,
            [
                "processing of partition 1 is paused on node 0",
                "exporting of partition 1 is soft paused on node 0",
            ]
        );
    }
}
