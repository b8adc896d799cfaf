//! Node numbers that are leased from a bucket.

use serde_json::Value;

/// A line for each number: who has it until when, and when the lease was last renewed. Empty if no number is leased.
pub fn lines(leases: &Value) -> String {
    let leases = || leases.as_object().into_iter().flatten();
    let is_leased = |(_, lease): (&String, &Value)| lease["nodeId"].is_u64();
    if !leases().any(is_leased) {
        return String::new();
    }
    let lines = leases().map(|(node, lease)| {
        let text = |name: &str| lease[name].as_str();
        let (Some(task), Some(until)) = (text("task"), text("expiresAt")) else {
            let why = match lease {
                Value::Null => "its node does not answer",
                _ => "it is not leased",
            };
            return format!("  node {node}: {why}\n");
        };
        let age = lease["ageSeconds"].as_u64().unwrap_or_default();
        let until = if lease["isExpired"] == true {
            format!("expired at {until}")
        } else {
            format!("until {until}")
        };
        let trouble =
            text("message").map(|reason| format!("; the bucket cannot be used: {reason}"));
        format!(
            "  node {node}: '{task}' has version {}, {until}, renewed {age} s ago{}\n",
            lease["version"],
            trouble.unwrap_or_default()
        )
    });
    format!("\nLeased numbers:\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_leased_number_is_shown_with_its_owner_and_its_end() {
        let lease = |expired: bool, message: Value| {
            json!({
                "nodeId": 0, "task": "a", "version": 3, "expiresAt": "2026-11-29T10:00:15Z", "ageSeconds": 4, "isExpired": expired,
                "message": message,
            })
        };
        let leases = json!({ "0": lease(false, Value::Null), "1": lease(true, json!("no answer")), "2": null, "3": {} });
        let shown = lines(&leases);
        let shown: Vec<&str> = shown.lines().skip(1).collect();
        let expected = [
            "Leased numbers:",
            "  node 0: 'a' has version 3, until 2026-11-29T10:00:15Z, renewed 4 s ago",
            "  node 1: 'a' has version 3, expired at 2026-11-29T10:00:15Z, renewed 4 s ago; the bucket cannot be used: no answer",
            "  node 2: its node does not answer",
            "  node 3: it is not leased",
        ];
        assert_eq!(shown, expected);
        assert_eq!(lines(&json!({ "0": {}, "1": null })), "");
        assert_eq!(lines(&Value::Null), "");
    }
}
