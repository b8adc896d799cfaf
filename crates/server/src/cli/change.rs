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
        "AWAIT_RELOCATION" => {
            "correlation keys move to the partitions that are to have them".to_string()
        }
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
    }
}
