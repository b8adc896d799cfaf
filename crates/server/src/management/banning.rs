//! `/actuator/banning`: banned instances, which are no longer processed. Banning is an operator's last resort; the list of banned instances
//! with reasons is an addition of Skep.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use skep_broker::Broker;
use skep_protocol::command::{Command, Request};
use skep_protocol::{Failure, Key, RejectionType};
use skep_service::Broker as _;

use super::reply::{Handled, allow, bad_request, message, no_content, ok};

pub async fn handle(broker: &Broker, method: &Method, key: Option<&str>) -> Handled {
    match key {
        None => {
            allow(method, &[Method::GET, Method::HEAD])?;
            Ok(ok(&list(broker)))
        }
        Some(key) => {
            allow(method, &[Method::POST])?;
            ban(broker, key).await
        }
    }
}

/// Up to a thousand per partition.
fn list(broker: &Broker) -> Value {
    let mut items = Vec::new();
    for handle in broker.partitions() {
        let partition = handle.status.partition;
        for (key, reason) in handle.status.banned().iter() {
            items.push(json!({
                "processInstanceKey": key.to_string(),
                "partitionId": partition,
                "reason": &**reason,
            }));
        }
    }
    json!({ "items": items })
}

async fn ban(broker: &Broker, key: &str) -> Handled {
    let Ok(key) = key.parse() else {
        return Err(bad_request(format!(
            "'{key}' is not the key of a process instance: keys are numbers"
        )));
    };
    let command = Command::BanInstance {
        process_instance_key: Key(key),
    };
    match broker.execute(Request::internal(command)).await.result {
        Ok(_) => Ok(no_content()),
        Err(Failure::Rejected(rejection)) if rejection.kind == RejectionType::NotFound => {
            Err(message(StatusCode::NOT_FOUND, rejection.reason))
        }
        Err(failure) => Err(message(
            StatusCode::INTERNAL_SERVER_ERROR,
            failure.to_string(),
        )),
    }
}
