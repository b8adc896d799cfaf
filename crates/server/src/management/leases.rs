//! `GET /actuator/leases`: the leases of node numbers, as their owners know them. The bucket is not asked: it may be away.

use std::time::{Instant, SystemTime};

use serde_json::{Map, Value, json};
use skep_broker::Broker;

use super::nodes::LEASES;
use super::reply::{Answer, ok};
use crate::lease::Standing;

/// What this node answers to other nodes: an empty object if its number is not leased.
pub fn of_node(lease: Option<&Standing>) -> Value {
    lease.map_or_else(
        || json!({}),
        |lease| shown(lease, Instant::now(), SystemTime::now()),
    )
}

fn shown(lease: &Standing, now: Instant, wall: SystemTime) -> Value {
    let age = now.saturating_duration_since(lease.confirmed);
    let renewed = wall.checked_sub(age);
    let expires = renewed.and_then(|renewed| renewed.checked_add(lease.duration));
    json!({
        "nodeId": lease.node,
        "task": lease.task,
        "version": lease.version,
        "renewedAt": renewed.and_then(time),
        "expiresAt": expires.and_then(time),
        "ageSeconds": age.as_secs(),
        "isExpired": age >= lease.duration,
        "message": lease.trouble,
    })
}

/// To the second: the age is given in seconds too.
fn time(time: SystemTime) -> Option<String> {
    let time = jiff::Timestamp::try_from(time).ok()?;
    let time = jiff::Timestamp::from_second(time.as_second()).ok()?;
    Some(time.to_string())
}

/// By number; `null` for a node that does not answer.
pub async fn list(broker: &Broker) -> Answer {
    let answers = broker.ask_nodes(LEASES).await.into_iter();
    let leases = answers.map(|(node, answer)| {
        let lease = answer.and_then(|text| serde_json::from_str(&text).ok());
        (node.to_string(), lease.unwrap_or(Value::Null))
    });
    ok(&Value::Object(leases.collect::<Map<_, _>>()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_lease_is_shown_with_its_owner_and_its_end() {
        let now = Instant::now();
        let wall = UNIX_EPOCH + Duration::from_secs(1_000);
        let mut lease = Standing {
            node: 2,
            version: 7,
            task: "place-1".to_string(),
            confirmed: now,
            duration: Duration::from_secs(15),
            trouble: None,
        };
        let later = |seconds| shown(&lease, now + Duration::from_secs(seconds), wall);
        let young = later(4);
        assert_eq!(
            young,
            json!({
                "nodeId": 2,
                "task": "place-1",
                "version": 7,
                "renewedAt": "1970-01-01T00:16:36Z",
                "expiresAt": "1970-01-01T00:16:51Z",
                "ageSeconds": 4,
                "isExpired": false,
                "message": null,
            })
        );
        assert_eq!(later(15)["isExpired"], true);
        lease.trouble = Some("no answer within 5000 ms".to_string());
        let away = shown(&lease, now, wall);
        assert_eq!(away["message"], "no answer within 5000 ms");
        assert_eq!(of_node(None), json!({}));
    }
}
