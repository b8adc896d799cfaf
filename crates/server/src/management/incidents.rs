//! `/actuator/incidents`: open incidents. An addition of Skep: without a search API, this is where the key of an incident is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use skep_broker::Broker;
use skep_protocol::command::{Command, MAX_LISTED_INCIDENTS, Request};
use skep_protocol::response::OpenIncident;
use skep_protocol::{Key, Response, Routing};
use skep_query::entities::PROCESS_DEFINITION;
use skep_query::{
    Answer, Condition, Consistency, Op, Query, Row, Search, Storage as _, Value as Column,
};
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
    let (mut found, mut more) = (Vec::new(), false);
    for partition in routing.partitions() {
        if partition < first || more {
            continue;
        }
        let left = limit - found.len() as u32;
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
                let incidents = incidents.into_iter().take(left as usize);
                found.extend(incidents.map(|incident| (partition, incident)));
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
    let definition = |open: &OpenIncident| open.incident.process_definition_key;
    let definitions = found.iter().map(|(_, open)| definition(open)).collect();
    let tenants = tenants(broker, definitions).await;
    let items = found.iter().map(|(partition, open)| {
        let tenant = tenants.get(&definition(open));
        one(*partition, open, tenant.map(|tenant| &**tenant))
    });
    let items: Vec<Value> = items.collect();
    Ok(ok(&json!({ "items": items, "hasMore": more })))
}

/// The tenants of process definitions, as far as secondary storage has them: the answers of the engine do not contain them.
async fn tenants(broker: &Broker, definitions: BTreeSet<Key>) -> BTreeMap<Key, Arc<str>> {
    if definitions.is_empty() || broker.is_off() {
        return BTreeMap::new();
    }
    let limit = u32::try_from(definitions.len()).unwrap_or(u32::MAX);
    let keys = definitions.iter().map(|key| Column::Int(key.0));
    let filter = vec![Condition::Field {
        field: const { PROCESS_DEFINITION.column("processDefinitionKey") },
        op: Op::In(keys.collect()),
    }];
    let query = Query::Search(Search::all(&PROCESS_DEFINITION, filter, limit));
    let found = match broker.query(query, Consistency::Eventual).await {
        Ok((Answer::Page(found), _)) => found.rows,
        // The rest of the list is good without it.
        Ok(_) | Err(_) => Vec::new(),
    };
    let tenant = |row: &Row| {
        let key = row.get(const { PROCESS_DEFINITION.column("processDefinitionKey") })?;
        let tenant = row.get(const { PROCESS_DEFINITION.column("tenantId") })?;
        Some((Key(key.as_int()?), tenant.as_text()?.into()))
    };
    found.iter().filter_map(tenant).collect()
}

/// An incident with the names and types of the REST API.
fn one(partition: u32, open: &OpenIncident, tenant: Option<&str>) -> Value {
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
        "tenantId": tenant,
    })
}
