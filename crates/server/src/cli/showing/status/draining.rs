//! Partitions that get no new instances: those that are drained, with their progress, and those that do not take part yet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A line for each drained or new partition; empty if there is none.
pub fn lines(nodes: &Value) -> String {
    let partitions = nodes.as_object().into_iter().flatten();
    let partitions = partitions.flat_map(|(_, partitions)| partitions.as_object());
    let mut left: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    let mut added: BTreeSet<u32> = BTreeSet::new();
    for (id, detail) in partitions.flatten() {
        let Ok(id) = id.parse() else {
            continue;
        };
        if detail["isBeingAdded"] == true {
            added.insert(id);
        }
        if detail["isDraining"] != true {
            continue;
        }
        let of_leader = detail["liveElementInstances"].as_u64();
        let of_leader = of_leader.filter(|_| detail["role"] == "LEADER");
        let known = left.entry(id).or_default();
        *known = known.or(of_leader);
    }
    // Nodes may know different states of the change for a moment.
    left.retain(|id, _| !added.contains(id));
    let added = added
        .iter()
        .map(|id| format!("  partition {id}: not taking part yet\n"));
    let added: String = added.collect();
    let lines = left.iter().map(|(id, left)| match left {
        Some(0) => format!("  partition {id}: nothing is left\n"),
        Some(count) => format!("  partition {id}: {count} element instance(s) left\n"),
        None => format!("  partition {id}: its leader does not answer\n"),
    });
    let lines: String = lines.collect();
    let mut text = String::new();
    if !lines.is_empty() {
        text.push_str(&format!("\nDrained, without new instances:\n{lines}"));
    }
    if !added.is_empty() {
        text.push_str(&format!("\nBeing added:\n{added}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rest_to_drain_is_taken_from_the_leader() {
        let nodes = json!({
            "0": {
                "1": { "isDraining": false, "role": "LEADER", "liveElementInstances": 9 },
                "4": { "isDraining": true, "role": "FOLLOWER", "liveElementInstances": 7 },
                "10": { "isDraining": true, "role": "FOLLOWER", "liveElementInstances": 1 },
            },
            "1": {
                "4": { "isDraining": true, "role": "LEADER", "liveElementInstances": 5 },
                "5": { "isDraining": true, "role": "LEADER", "liveElementInstances": 0 },
            },
            "2": null,
        });
        let shown = lines(&nodes);
        let shown: Vec<&str> = shown.lines().skip(1).collect();
        let expected = [
            "Drained, without new instances:",
            "  partition 4: 5 element instance(s) left",
            "  partition 5: nothing is left",
            "  partition 10: its leader does not answer",
        ];
        assert_eq!(shown, expected);
        assert_eq!(lines(&json!({ "0": { "1": { "isDraining": false } } })), "");
        assert_eq!(lines(&Value::Null), "");
    }

    #[test]
    fn a_partition_that_is_being_added_is_not_drained() {
        let nodes = json!({
            "0": {
                "3": { "isDraining": true, "role": "LEADER", "liveElementInstances": 0 },
                "4": { "isDraining": false, "isBeingAdded": true, "role": "LEADER", "liveElementInstances": 0 },
            },
            "1": { "4": { "isDraining": false, "isBeingAdded": true, "role": "FOLLOWER" } },
        });
        let shown = lines(&nodes);
        let shown: Vec<&str> = shown.lines().skip(1).collect();
        let expected = [
            "Drained, without new instances:",
            "  partition 3: nothing is left",
            "",
            "Being added:",
            "  partition 4: not taking part yet",
        ];
        assert_eq!(shown, expected);
    }
}
