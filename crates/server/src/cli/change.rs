//! Steps of a change of the cluster, in words.

use serde_json::Value;

use super::search::word;

/// The step as the management port shows it; a step of a later version keeps its name.
pub fn in_words(operation: &Value) -> String {
    let field = |name: &str| word(operation, name);
    let node = || format!("node {}", field("brokerId"));
    let partition = || format!("partition {}", field("partitionId"));
    let name = field("operation");
    match name.as_str() {
        "BROKER_ADD" => format!("{} joins the cluster", node()),
        "BROKER_REMOVE" => format!("{} leaves the cluster", node()),
        "BROKER_FORCE_REMOVE" => format!("{}, which is lost, is removed", node()),
        "PARTITION_JOIN" => format!("{} joins {}", node(), partition()),
        "PARTITION_LEAVE" => format!("{} leaves {}", node(), partition()),
        "DELETE_HISTORY" => format!("{} deletes its history", node()),
        "UPDATE_INCARNATION_NUMBER" => "a new incarnation of the cluster begins".to_string(),
        "PARTITION_BOOTSTRAP" => format!("{} bootstraps {}", node(), partition()),
        "START_PARTITION_SCALE_UP" => "new partitions are created".to_string(),
        "AWAIT_REDISTRIBUTION" => "new partitions get what every partition has".to_string(),
        "AWAIT_RELOCATION" => relocation(operation),
        "UPDATE_ROUTING_STATE" => "which partitions get new instances is decided".to_string(),
        "PARTITION_RECONFIGURE_PRIORITY" => {
            let priority = field("priority");
            format!("{} gets priority {priority} for {}", node(), partition())
        }
        "PARTITION_FORCE_RECONFIGURE" => {
            format!("{} continues with its remaining copies", partition())
        }
        _ => name,
    }
}

/// A plan names the moves, and a change under way does not.
fn relocation(operation: &Value) -> String {
    let mut text = "correlation keys move to the partitions that are to have them".to_string();
    let moves = operation.get("moves").and_then(Value::as_array);
    for (number, one) in moves.into_iter().flatten().enumerate() {
        let [from, to, slots, rows] =
            ["fromPartitionId", "toPartitionId", "slots", "estimatedRows"]
                .map(|name| one.get(name).and_then(Value::as_u64));
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let slots = slots.unwrap_or_default();
        let before = if number == 0 { ": " } else { ", " };
        text += &format!("{before}{slots} slots from partition {from} to {to}");
        if let Some(rows) = rows {
            text += &format!(" with about {rows} messages and subscriptions");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::in_words;

    #[test]
    fn a_step_is_a_sentence() {
        let join =
            json!({"operation": "PARTITION_JOIN", "brokerId": 2, "partitionId": 1, "priority": 1});
        assert_eq!(in_words(&join), "node 2 joins partition 1");
        let scale = json!({"operation": "START_PARTITION_SCALE_UP"});
        assert_eq!(in_words(&scale), "new partitions are created");
        assert_eq!(in_words(&json!({"operation": "LATER"})), "LATER");
        let relocation = json!({"operation": "AWAIT_RELOCATION"});
        let text = "correlation keys move to the partitions that are to have them";
        assert_eq!(in_words(&relocation), text);
        let moves = json!([
            {"fromPartitionId": 1, "toPartitionId": 3, "slots": 512, "estimatedRows": 70},
            {"fromPartitionId": 2, "toPartitionId": 3, "slots": 513, "estimatedRows": null},
        ]);
        let planned = json!({"operation": "AWAIT_RELOCATION", "moves": moves});
        let moved = "512 slots from partition 1 to 3 with about 70 messages and subscriptions, 513 slots from partition 2 to 3";
        assert_eq!(in_words(&planned), format!("{text}: {moved}"));
    }
}
