//! The slots of correlation keys that a planned change moves, and about how many rows go along.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use skep_broker::Broker;
use skep_protocol::Routing;

use crate::management::nodes;

/// Messages, subscriptions and instances started by messages, by partition.
pub type Rows = BTreeMap<u32, u64>;

/// The rows of all partitions whose leaders answer.
pub async fn rows(broker: &Broker) -> Rows {
    let answers = broker.ask_nodes(nodes::PARTITIONS).await.into_values();
    let answers = answers.flatten();
    let nodes = answers.filter_map(|text| serde_json::from_str(&text).ok());
    nodes.flat_map(|node| led(&node)).collect()
}

fn led(node: &Value) -> Vec<(u32, u64)> {
    let partitions = node.as_object().into_iter().flatten();
    let led = partitions.filter(|(_, it)| it.get("role").is_some_and(|role| role == "LEADER"));
    led.filter_map(|(id, it)| Some((id.parse().ok()?, it.get("correlationRows")?.as_u64()?)))
        .collect()
}

/// The moves by which slots get spread over this many partitions.
pub fn of(routing: &Routing, partitions: u32, rows: &Rows) -> Value {
    let moves = routing.moves(partitions).into_iter();
    let shown = moves.map(|((from, to), slots)| {
        let all = u64::from(routing.slots_of(from)).max(1);
        // As if each slot had as many.
        let rows = rows.get(&from);
        let rows = rows.map(|rows| rows.saturating_mul(u64::from(slots)) / all);
        json!({
            "fromPartitionId": from,
            "toPartitionId": to,
            "slots": slots,
            "estimatedRows": rows,
        })
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skep_protocol::Routing;

    use super::{led, of};

    #[test]
    fn a_move_takes_its_share_of_the_rows_of_its_partition() {
        let routing = Routing::new(2);
        let rows = [(1, 3_000)].into();
        let shown = of(&routing, 4, &rows);
        let moved = |from: u32, to: u32, rows: Option<u64>| {
            json!({
                "fromPartitionId": from,
                "toPartitionId": to,
                "slots": 512,
                "estimatedRows": rows,
            })
        };
        let (some, none) = (Some(750), None);
        assert_eq!(
            shown,
            json!([
                moved(1, 3, some),
                moved(1, 4, some),
                moved(2, 3, none),
                moved(2, 4, none)
            ])
        );
        assert_eq!(of(&routing, 2, &rows), json!([]));
    }

    #[test]
    fn leaders_know_the_rows_of_their_partitions() {
        let node = json!({
            "1": {"role": "LEADER", "correlationRows": 7},
            "2": {"role": "FOLLOWER", "correlationRows": 9},
            "3": {"role": "LEADER"},
        });
        assert_eq!(led(&node), [(1, 7)]);
        assert_eq!(led(&json!(null)), []);
    }
}
