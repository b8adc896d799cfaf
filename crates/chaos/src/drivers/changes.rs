//! Changes of a cluster over its management port.

use std::io;

use serde_json::{Value, json};

use super::PATIENCE;
use crate::http;

const CLUSTER: &str = "/actuator/cluster";

/// Asks the first node that answers for this number of partitions.
pub fn scale(management_addresses: &[String], partitions: u32) -> io::Result<()> {
    let body = json!({ "partitions": { "count": partitions } }).to_string();
    let mut error = io::Error::other("no node is up");
    for address in management_addresses {
        match http::ask(address, "PATCH", CLUSTER, &body, PATIENCE) {
            Ok((202, _)) => return Ok(()),
            Ok((status, answer)) => {
                return Err(io::Error::other(format!("{address}: {status} {answer}")));
            }
            Err(why) => error = why,
        }
    }
    Err(error)
}

/// Whether every node knows that this many partitions take part, and knows of no pending change. Blocks.
pub fn have_partitions(management_addresses: &[String], count: u32) -> bool {
    management_addresses.iter().all(|address| {
        let cluster = http::json(address, "GET", CLUSTER, "", PATIENCE);
        cluster.is_ok_and(|cluster| has_partitions(&cluster, count))
    })
}

fn has_partitions(cluster: &Value, count: u32) -> bool {
    let all = cluster.pointer("/routing/requestHandling/partitionCount");
    all == Some(&json!(count)) && cluster.get("pendingChange").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_count_once_all_take_part_and_no_change_is_running() {
        let cluster = |handling: Value| json!({ "routing": { "requestHandling": handling } });
        let all = cluster(json!({ "strategy": "AllPartitions", "partitionCount": 6 }));
        assert!(has_partitions(&all, 6) && !has_partitions(&all, 3));
        let half = cluster(json!({ "strategy": "ActivePartitions", "basePartitionCount": 3 }));
        assert!(!has_partitions(&half, 6) && !has_partitions(&half, 3));
        let mut moving = all;
        moving["pendingChange"] = json!({ "id": 1 });
        assert!(!has_partitions(&moving, 6));
    }
}
