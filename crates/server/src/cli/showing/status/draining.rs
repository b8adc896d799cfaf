//! Drained partitions, which get no new instances, and their progress.

use std::collections::BTreeMap;

use serde_json::Value;

/// A line for each drained partition; empty if there is none.
pub fn lines(nodes: &Value) -> String {
    let partitions = nodes.as_object().into_iter().flatten();
    let partitions = partitions.flat_map(|(_, partitions)| partitions.as_object());
    let mut left: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for (id, detail) in partitions.flatten() {
        let Some(id) = id.parse().ok().filter(|_| detail["isDraining"] == true) else {
            continue;
        };
        let of_leader = detail["liveElementInstances"].as_u64();
        let of_leader = of_leader.filter(|_| detail["role"] == "LEADER");
        let known = left.entry(id).or_default();
        *known = known.or(of_leader);
    }
    if left.is_empty() {
        return String::new();
    }
    let lines = left.iter().map(|(id, left)| match left {
        Some(0) => format!("  partition {id}: nothing is left\n"),
        Some(count) => format!("  partition {id}: {count} element instance(s) left\n"),
        None => format!("  partition {id}: its leader does not answer\n"),
    });
    let lines: String = lines.collect();
    format!("\nDrained, without new instances:\n{lines}")
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
}
