//! `/actuator/incidents`: open incidents. An addition of Skep: without a search API, this is where the key of an incident is found.

use http::StatusCode;
use serde_json::{Value, json};
use skep_broker::Broker;
use skep_protocol::command::{Command, MAX_LISTED_INCIDENTS, Request};
use skep_protocol::response::OpenIncident;
use skep_protocol::{Key, Response, Routing};
use skep_service::Broker as _;

use super::reply::{Handled, bad_request, message, ok, query};

const DEFAULT_LIMIT: u32 = 100;

/// `?limit=100&after=KEY`: open incidents by partition and key, so that the last key is where the next page begins.
pub async fn list(broker: &Broker, parameters: Option<&str>) -> Handled {
    let limit = match query(parameters, "limit").map(str::parse) {
        None => DEFAULT_LIMIT,
        Some(Ok(limit @ 1..=MAX_LISTED_INCIDENTS)) => limit,
        Some(_) => {
            let text = format!("limit must be a number from 1 to {MAX_LISTED_INCIDENTS}");
            return Err(bad_request(text));
        }
    };
    let after = match query(parameters, "after").map(str::parse) {
        None => Key::NONE,
        Some(Ok(key)) => Key(key),
        Some(Err(_)) => return Err(bad_request("after must be the key of an incident")),
    };
    let routing = broker.routing();
    let first = routing.home(after).unwrap_or(Routing::FIRST);
    let (mut items, mut more) = (Vec::new(), false);
    for partition in routing.partitions() {
        if partition < first || more {
            continue;
        }
        let left = limit - items.len() as u32;
        let command = Command::ListIncidents {
            partition,
            after: if partition == first { after } else { Key::NONE },
            // With no room left, only check whether there are more.
            limit: left.max(1),
        };
        match broker.execute(Request::internal(command)).await.result {
            Ok(Response::IncidentsListed {
                incidents,
                more: some,
            }) => {
                more = some || left == 0 && !incidents.is_empty();
                let incidents = incidents.iter().take(left as usize);
                items.extend(incidents.map(|incident| one(partition, incident)));
            }
            Ok(_) => {}
            Err(failure) => {
                return Err(message(
                    StatusCode::SERVICE_UNAVAILABLE,
                    failure.to_string(),
                ));
            }
        }
    }
    Ok(ok(&json!({ "items": items, "hasMore": more })))
}

/// An incident with the names and types of the REST API.
fn one(partition: u32, open: &OpenIncident) -> Value {
    let key = |key: Key| key.some().map(|key| key.to_string());
    let incident = &open.incident;
    json!({
        "incidentKey": key(open.key),
        "partitionId": partition,
        "errorType": incident.error_type,
        "errorMessage": &*incident.error_message,
        "processDefinitionId": &*open.bpmn_process_id,
        "processDefinitionKey": key(incident.process_definition_key),
        "processDefinitionVersion": open.process_definition_version,
        "processInstanceKey": key(incident.process_instance_key),
        "rootProcessInstanceKey": key(incident.root_process_instance_key),
        "elementId": &*open.element_id,
        "elementInstanceKey": key(incident.element_instance_key),
        "jobKey": key(incident.job_key),
        "tenantId": "<default>",
    })
}
