//! Nodes that use up their CPU limit.

use serde_json::Value;

/// Below this share of the periods, a limit costs little.
const NOTABLE: f64 = 0.05;

/// A line for each node that was stopped by its CPU limit in the last seconds; empty if there is none.
pub fn lines(nodes: &Value) -> String {
    let nodes = nodes.as_object().into_iter().flatten();
    let lines = nodes.filter_map(|(node, partitions)| {
        // The limit concerns each partition of the node.
        let detail = partitions.as_object()?.values().next()?;
        let share = detail["cpuThrottledShare"].as_f64()?;
        let cores = detail["cpuLimitCores"].as_f64()?;
        (share >= NOTABLE).then(|| {
            let percent = share * 100.0;
            format!(
                "  node {node}: {cores} core(s), used up in {percent:.0} % of the last seconds\n"
            )
        })
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nSlowed by a CPU limit:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nodes_that_are_stopped_often_are_named_with_their_limit() {
        let node =
            |share: Value| json!({ "1": { "cpuLimitCores": 0.5, "cpuThrottledShare": share } });
        let nodes = json!({ "0": node(json!(0.873)), "1": node(json!(0.01)), "2": node(Value::Null), "3": null });
        assert_eq!(
            lines(&nodes),
            "\nSlowed by a CPU limit:\n  node 0: 0.5 core(s), used up in 87 % of the last seconds\n"
        );
        assert_eq!(lines(&json!({ "1": node(json!(0.0)) })), "");
        assert_eq!(lines(&Value::Null), "");
    }
}
