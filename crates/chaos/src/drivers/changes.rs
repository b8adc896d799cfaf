//! Changes of a cluster over its management port.

use std::io;

use serde_json::{Value, json};

use super::PATIENCE;
use crate::http::{self, Rest};

const CLUSTER: &str = "/actuator/cluster";

/// Requests this number of partitions, and of nodes if given.
pub fn scale(
    management_addresses: &[String],
    partitions: u32,
    nodes: Option<u32>,
) -> io::Result<()> {
    let body = wish(partitions, nodes).to_string();
    request(management_addresses, ("PATCH", CLUSTER), &body).map(|_| ())
}

fn wish(partitions: u32, nodes: Option<u32>) -> Value {
    let partitions = json!({ "count": partitions });
    match nodes {
        None => json!({ "partitions": partitions }),
        Some(nodes) => json!({ "brokers": { "count": nodes }, "partitions": partitions }),
    }
}

/// Cancels the pending change, and returns its number.
pub fn cancel(management_addresses: &[String]) -> io::Result<String> {
    let cluster = request(management_addresses, ("GET", CLUSTER), "")?;
    let cluster: Value = serde_json::from_str(&cluster)?;
    let id = cluster.pointer("/pendingChange/id");
    let id = id.ok_or_else(|| io::Error::other("there is no pending change"))?;
    let change = format!("{CLUSTER}/changes/{id}");
    request(management_addresses, ("DELETE", &change), "")?;
    Ok(format!("change {id}"))
}

/// The answer of the first node that answers.
fn request(
    management_addresses: &[String],
    (method, path): (&str, &str),
    body: &str,
) -> io::Result<String> {
    let mut error = io::Error::other("no node is up");
    for address in management_addresses {
        match http::ask(address, method, path, body, PATIENCE) {
            Ok((200..=299, answer)) => return Ok(answer),
            Ok((status, answer)) => {
                return Err(io::Error::other(format!("{address}: {status} {answer}")));
            }
            Err(why) => error = why,
        }
    }
    Err(error)
}

/// Whether each of these nodes knows that this many partitions take part, and knows of no pending change. Blocks.
pub fn have_partitions(management: &[Rest], count: u32) -> bool {
    management.iter().all(|port| {
        let cluster = port.json("GET", CLUSTER, "", PATIENCE);
        cluster.is_ok_and(|cluster| has_partitions(&cluster, count))
    })
}

fn has_partitions(cluster: &Value, count: u32) -> bool {
    let Some(handling) = cluster.pointer("/routing/requestHandling") else {
        return false;
    };
    // After a cancelled change there are partitions that take no part.
    let base = handling
        .get("partitionCount")
        .or_else(|| handling.get("basePartitionCount"));
    let additional = handling
        .get("additionalActivePartitions")
        .and_then(Value::as_array);
    let additional = additional.map_or(0, Vec::len) as u64;
    let all = base.and_then(Value::as_u64).map(|base| base + additional);
    all == Some(count.into()) && cluster.get("pendingChange").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_asked_for_only_if_they_change() {
        assert_eq!(wish(6, None), json!({ "partitions": { "count": 6 } }));
        let both = json!({ "brokers": { "count": 5 }, "partitions": { "count": 6 } });
        assert_eq!(wish(6, Some(5)), both);
    }

    #[test]
    fn partitions_count_once_all_take_part_and_no_change_is_running() {
        let cluster = |handling: Value| json!({ "routing": { "requestHandling": handling } });
        let all = cluster(json!({ "strategy": "AllPartitions", "partitionCount": 6 }));
        assert!(has_partitions(&all, 6) && !has_partitions(&all, 3));
        let half = cluster(json!({ "strategy": "ActivePartitions", "basePartitionCount": 3 }));
        assert!(has_partitions(&half, 3) && !has_partitions(&half, 6));
        let more = cluster(json!({
            "strategy": "ActivePartitions", "basePartitionCount": 3, "additionalActivePartitions": [5],
        }));
        assert!(has_partitions(&more, 4) && !has_partitions(&more, 3));
        let mut moving = all;
        moving["pendingChange"] = json!({ "id": 1 });
        assert!(!has_partitions(&moving, 6));
    }
}
