//! `/actuator/exporters` and `/actuator/exporting`: which exporters there are, and whether they may work. What is changed is state
//! of the partitions: it survives restarts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::partition::PartitionHandle;
use skep_export::SECONDARY_STORAGE;
use skep_protocol::command::{Command, ExportingChange};
use skep_protocol::value::{ExporterPosition, ExportingPhase};
use skep_protocol::{Failure, RejectionType};
use skep_service::Broker as _;

use super::reply::{self, Answer, Handled, allow, bad_request, message, ok};

/// How long a pause waits until nothing is on its way any more.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// `GET /actuator/exporters`.
pub fn list(broker: &Broker) -> Answer {
    let exporters = ids(broker).into_iter().map(|id| {
        let status = status(broker, &id);
        json!({ "exporterId": id, "status": status })
    });
    ok(&exporters.collect())
}

/// What can be done with one exporter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Enable,
    Disable,
    Delete,
}

/// `POST /actuator/exporters/{id}/enable` and `…/disable`, `DELETE /actuator/exporters/{id}`.
pub async fn change(
    broker: &Broker,
    method: &Method,
    (id, operation): (&str, Option<&str>),
    query: Option<&str>,
    body: Incoming,
) -> Handled {
    let operation = match operation {
        None => {
            allow(method, &[Method::DELETE])?;
            Operation::Delete
        }
        Some("enable") => Operation::Enable,
        Some("disable") => Operation::Disable,
        Some(other) => {
            return Err(message(
                StatusCode::NOT_FOUND,
                format!("'{other}' cannot be done with an exporter; there are enable and disable"),
            ));
        }
    };
    if operation != Operation::Delete {
        allow(method, &[Method::POST])?;
    }
    let body = reply::body(body).await?;
    let initialize_from = match body.get("initializeFrom") {
        None | Some(Value::Null) => None,
        Some(Value::String(other)) => Some(other.as_str()),
        Some(other) => {
            return Err(bad_request(format!(
                "initializeFrom is the name of an exporter, but here it is {other}"
            )));
        }
    };
    check(broker, operation, id, initialize_from)?;
    let before = topology(broker, None);
    let after = topology(broker, Some((id, operation)));
    if reply::query(query, "dryRun") != Some("true") {
        let id: Arc<str> = id.into();
        let change = match operation {
            Operation::Enable => ExportingChange::Enable {
                id,
                initialize_from: initialize_from.map(Arc::from),
                end: ExporterPosition::default(),
            },
            Operation::Disable => ExportingChange::Disable { id },
            Operation::Delete => ExportingChange::Delete { id },
        };
        tracing::info!(?change, "operator action on all partitions");
        let sent = send(broker, &change).await;
        sent.map_err(|(status, reason)| message(status, reason))?;
    }
    let answer = json!({
        "changeId": 0,
        "currentTopology": before,
        "plannedChanges": planned(broker, operation, id),
        "expectedTopology": after,
    });
    Ok(reply::json(StatusCode::ACCEPTED, &answer))
}

/// What is done on each partition.
fn planned(broker: &Broker, operation: Operation, id: &str) -> Vec<Value> {
    broker
        .partitions()
        .iter()
        .map(|handle| {
            json!({
                "operation": match operation {
                    Operation::Enable => "PARTITION_ENABLE_EXPORTER",
                    Operation::Disable => "PARTITION_DISABLE_EXPORTER",
                    Operation::Delete => "PARTITION_DELETE_EXPORTER",
                },
                "brokerId": broker.config().node_id,
                "partitionId": handle.status.partition,
                "exporterId": id,
            })
        })
        .collect()
}

fn check(
    broker: &Broker,
    operation: Operation,
    id: &str,
    initialize_from: Option<&str>,
) -> Result<(), Answer> {
    let known = ids(broker);
    if !known.contains(id) {
        let known: Vec<_> = known.into_iter().collect();
        return Err(bad_request(format!(
            "there is no exporter '{id}'; there are {}",
            known.join(", ")
        )));
    }
    let configured = configured(broker);
    match operation {
        Operation::Enable if !configured.contains(id) => Err(bad_request(format!(
            "exporter '{id}' is not configured: add camunda.data.exporters.{id} and restart, or delete it"
        ))),
        Operation::Delete if configured.contains(id) => Err(bad_request(format!(
            "exporter '{id}' is configured and would be there again after a restart: remove camunda.data.exporters.{id} first, or \
             disable it"
        ))),
        Operation::Enable if initialize_from == Some(id) => Err(bad_request(format!(
            "exporter '{id}' cannot begin where it is itself: name another one in initializeFrom"
        ))),
        Operation::Enable if id == SECONDARY_STORAGE && initialize_from.is_some() => {
            Err(bad_request(
                "secondary storage knows itself where it goes on: leave initializeFrom out",
            ))
        }
        _ => Ok(()),
    }
}

/// What `pause` and `resume` lead to.
pub fn phase(operation: &str, soft: bool) -> ExportingPhase {
    match (operation, soft) {
        ("resume", _) => ExportingPhase::Exporting,
        (_, true) => ExportingPhase::SoftPaused,
        (_, false) => ExportingPhase::Paused,
    }
}

/// `POST /actuator/exporting/pause` and `…/resume`: the status is within the answer.
pub async fn set_phase(broker: &Broker, phase: ExportingPhase) -> Answer {
    let done = match send(broker, &ExportingChange::Phase(phase)).await {
        Ok(()) if phase == ExportingPhase::Paused => rests(broker).await,
        other => other,
    };
    match done {
        Ok(()) => ok(&json!({ "body": null, "status": 204, "contentType": null })),
        Err((_, reason)) => {
            ok(&json!({ "body": { "message": reason }, "status": 500, "contentType": null }))
        }
    }
}

/// The same, as an operation on partitions.
pub async fn set_phase_of_partitions(broker: &Broker, phase: ExportingPhase) -> Result<(), Answer> {
    let done = match send(broker, &ExportingChange::Phase(phase)).await {
        Ok(()) if phase == ExportingPhase::Paused => rests(broker).await,
        other => other,
    };
    done.map_err(|(status, reason)| message(status, reason))
}

/// Waits until nothing is on its way any more.
async fn rests(broker: &Broker) -> Result<(), (StatusCode, String)> {
    let deadline = tokio::time::Instant::now() + PAUSE_TIMEOUT;
    loop {
        let busy = broker.partitions().iter().find_map(|handle| {
            let all = handle.exporters.exporters();
            let busy = all.into_iter().find(|status| !status.is_resting())?;
            Some((busy, handle.status.partition))
        });
        let Some((status, partition)) = busy else {
            return Ok(());
        };
        if tokio::time::Instant::now() >= deadline {
            return Err((
                StatusCode::INTERNAL_SERVER_ERROR,
                format!(
                    "exporter '{}' of partition {partition} still waits for its target; it pauses when that has answered",
                    status.id
                ),
            ));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Tells all partitions. Each of them has its own leader and may fail for itself.
async fn send(broker: &Broker, change: &ExportingChange) -> Result<(), (StatusCode, String)> {
    for handle in broker.partitions() {
        let partition = handle.status.partition;
        let command = Command::ChangeExporting {
            partition,
            change: change.clone(),
        };
        let failure = match broker.execute(command.into()).await.result {
            Ok(_) => continue,
            Err(failure) => failure,
        };
        let (status, reason) = match failure {
            // Another partition has forgotten it already.
            Failure::Rejected(rejection) if rejection.kind == RejectionType::NotFound => continue,
            Failure::Rejected(rejection) => (StatusCode::BAD_REQUEST, rejection.reason.to_string()),
            failure => (StatusCode::INTERNAL_SERVER_ERROR, failure.to_string()),
        };
        return Err((status, format!("partition {partition}: {reason}")));
    }
    Ok(())
}

/// What runs by the configuration of this node.
fn configured(broker: &Broker) -> BTreeSet<String> {
    let config = broker.config();
    let records = config.exporters.iter().map(|exporter| exporter.id.clone());
    let secondary = config.secondary_storage.as_ref();
    records
        .chain(secondary.map(|_| SECONDARY_STORAGE.to_string()))
        .collect()
}

/// All that are configured, or known to the state of a partition.
fn ids(broker: &Broker) -> BTreeSet<String> {
    let mut ids = configured(broker);
    for handle in broker.partitions() {
        let known = handle.exporters.value().exporters;
        ids.extend(known.into_iter().map(|exporter| exporter.id.to_string()));
    }
    ids
}

fn is_enabled(handle: &PartitionHandle, id: &str) -> bool {
    let value = handle.exporters.value();
    value
        .exporter(id)
        .is_none_or(|exporter| exporter.is_enabled)
}

fn status(broker: &Broker, id: &str) -> &'static str {
    if !configured(broker).contains(id) {
        return "CONFIG_NOT_FOUND";
    }
    let partitions = broker.partitions();
    let enabled = partitions.iter().filter(|p| is_enabled(p, id)).count();
    match enabled {
        0 if !partitions.is_empty() => "DISABLED",
        all if all == partitions.len() => "ENABLED",
        // A change did not reach all of them.
        _ => "UNKNOWN",
    }
}

/// The brokers with the exporters of their partitions, as they are, or as they are to become.
fn topology(broker: &Broker, change: Option<(&str, Operation)>) -> Value {
    let configured = configured(broker);
    let partition = |handle: &Arc<PartitionHandle>| {
        let known = ids(broker).into_iter();
        let exporters: Vec<Value> = known
            .filter(|id| change != Some((id, Operation::Delete)))
            .map(|id| {
                let changed = change.filter(|(changed, _)| *changed == id);
                let enabled = match changed {
                    Some((_, operation)) => operation == Operation::Enable,
                    None => is_enabled(handle, &id),
                };
                let state = match (configured.contains(&id), enabled) {
                    (false, _) => "CONFIG_NOT_FOUND",
                    (_, true) => "ENABLED",
                    (_, false) => "DISABLED",
                };
                json!({ "id": id, "state": state })
            })
            .collect();
        json!({
            "id": handle.status.partition,
            "state": "ACTIVE",
            "priority": 1,
            "config": { "exporting": { "exporters": exporters } },
        })
    };
    let partitions: Vec<Value> = broker.partitions().iter().map(partition).collect();
    json!([{
        "id": broker.config().node_id,
        "state": "ACTIVE",
        "version": 1,
        "partitions": partitions,
    }])
}

/// The exporters of a partition with how far they have got, for people.
pub fn of_partition(handle: &PartitionHandle) -> Value {
    let committed = handle.status.committed();
    let of = |status: Arc<skep_export::Status>| {
        let exported = status.exported_position();
        let fault = status.fault();
        let state = match (&fault, status.is_enabled()) {
            (_, false) => "DISABLED",
            (Some(_), _) => "FAILING",
            (None, _) => status.phase().name(),
        };
        let mut shown = Map::new();
        shown.insert("state".into(), json!(state));
        shown.insert("exportedPosition".into(), json!(exported));
        shown.insert(
            "acknowledgedPosition".into(),
            json!(status.durable().record),
        );
        shown.insert("lag".into(), json!(committed.saturating_sub(exported)));
        if let Some(fault) = fault {
            shown.insert(
                "failingForSeconds".into(),
                json!(fault.since.elapsed().as_secs()),
            );
            shown.insert("message".into(), json!(fault.reason));
        }
        (status.id.clone(), Value::Object(shown))
    };
    let all: Map<_, _> = handle.exporters.working().into_iter().map(of).collect();
    Value::Object(all)
}

/// The exporters of records that something is in the way of: the engine works without them, and the log is kept for them.
pub fn health(broker: &Broker) -> (bool, Value) {
    let mut faults = Map::new();
    for handle in broker.partitions() {
        for status in handle.exporters.working() {
            let fault = status.fault().filter(|_| status.id != SECONDARY_STORAGE);
            if let Some(fault) = fault {
                let place = format!("{} of partition {}", status.id, handle.status.partition);
                faults.insert(place, json!(fault.reason));
            }
        }
    }
    (faults.is_empty(), json!({ "faults": faults }))
}
