//! `/actuator/clock`: the node's clock, which tests may move.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use skep_broker::Broker;

use super::reply::{self, Answer, Handled, Incoming, allow, bad_request, message, ok};

pub async fn handle(
    broker: &Broker,
    controlled: bool,
    method: &Method,
    operation: Option<&str>,
    body: Incoming,
) -> Handled {
    match operation {
        None => allow(method, &[Method::GET, Method::DELETE])?,
        Some(_) => allow(method, &[Method::POST])?,
    }
    if *method == Method::GET {
        return Ok(now(broker));
    }
    if !controlled {
        return Err(message(
            StatusCode::FORBIDDEN,
            "the clock is not controllable; start the server with camunda.system.clock-controlled=true",
        ));
    }
    match operation {
        None => broker.clock().reset(),
        Some("pin") => {
            let body = reply::body(body).await?;
            broker.clock().pin(number(&body, "epochMilli")?);
        }
        Some("add") => {
            let body = reply::body(body).await?;
            broker.clock().add(number(&body, "offsetMilli")?);
        }
        Some(other) => {
            return Err(bad_request(format!(
                "'{other}' is not an operation on the clock; use pin or add"
            )));
        }
    }
    super::wake(broker);
    tracing::warn!(now = broker.clock().now(), "the clock was moved");
    Ok(now(broker))
}

/// The latest time accepted: the end of the year 9999.
const MAX_MILLIS: i64 = 253_402_300_799_999;

fn number(body: &Map<String, Value>, field: &str) -> Result<i64, Answer> {
    let number = body
        .get(field)
        .and_then(|value| value.as_i64().or_else(|| value.as_str()?.parse().ok()))
        .filter(|millis| millis.abs() <= MAX_MILLIS);
    number.ok_or_else(|| {
        bad_request(format!(
            "the body must have the field {field} with a number of milliseconds up to {MAX_MILLIS}"
        ))
    })
}

fn now(broker: &Broker) -> Answer {
    let now = broker.clock().now();
    ok(&json!({ "epochMilli": now, "instant": instant(now) }))
}

/// ISO 8601 in UTC.
pub fn instant(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis)
        .map(|time| time.to_string())
        .unwrap_or_default()
}

/// ISO 8601.
pub fn duration(millis: i64) -> String {
    jiff::SignedDuration::from_millis(millis).to_string()
}
