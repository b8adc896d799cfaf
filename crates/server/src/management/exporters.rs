//! `/actuator/exporters` and `/actuator/exporting`: lists, switches and pauses exporters. Changes are part of the partitions' state and
//! survive restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::partition::PartitionHandle;
use skep_protocol::command::{Command, ExportingChange, Request};
use skep_protocol::value::{ExporterPosition, ExportingPhase};
use skep_protocol::{Failure, RejectionType};
use skep_secondary::SECONDARY_STORAGE;
use skep_service::{Broker as _, PartitionRole};

use super::nodes::EXPORTERS;
use super::reply::{self, Answer, Handled, Incoming, allow, bad_request, message, ok};

/// Maximum time that a pause waits for records in flight.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// `GET /actuator/exporters`.
pub async fn list(broker: &Broker) -> Answer {
    let nodes = Nodes::look(broker).await;
    let exporters = nodes.ids().into_iter().map(|id| {
        let status = nodes.status(&id);
        json!({ "exporterId": id, "status": status })
    });
    ok(&exporters.collect())
}

/// A node's report on its exporters.
#[derive(Default, Serialize, Deserialize)]
struct Seen {
    /// Exporters that run according to the node's configuration.
    configured: BTreeSet<String>,
    partitions: Vec<SeenPartition>,
}

#[derive(Serialize, Deserialize)]
struct SeenPartition {
    id: u32,
    leads: bool,
    /// The partition's state of each exporter: whether it is enabled.
    enabled: BTreeMap<String, bool>,
    /// An exporter that has not noticed a pause yet, or still waits for its target.
    busy: Option<String>,
}

/// The report that this node gives to other nodes.
pub fn of_node(broker: &Broker) -> String {
    let config = broker.config();
    let records = config.exporters.iter().map(|exporter| exporter.id.clone());
    let secondary = config.secondary_storage.as_ref();
    let secondary = secondary.map(|_| SECONDARY_STORAGE.to_string());
    let partition = |handle: &Arc<PartitionHandle>| {
        let value = handle.exporters.value();
        let known = value.exporters.iter();
        let busy = handle.exporters.exporters().into_iter();
        SeenPartition {
            id: handle.status.partition,
            leads: handle.status.role() == PartitionRole::Leader,
            enabled: known
                .map(|one| (one.id.to_string(), one.is_enabled))
                .collect(),
            busy: busy
                .filter(|status| !status.is_resting())
                .map(|status| status.id.clone())
                .next(),
        }
    };
    let seen = Seen {
        configured: records.chain(secondary).collect(),
        partitions: broker.partitions().iter().map(partition).collect(),
    };
    serde_json::to_string(&seen).unwrap_or_default()
}

/// All nodes; those that do not answer are `None`.
struct Nodes(BTreeMap<u32, Option<Seen>>);

impl Nodes {
    async fn look(broker: &Broker) -> Nodes {
        let answers = broker.ask_nodes(EXPORTERS).await.into_iter();
        let seen = |answer: Option<String>| serde_json::from_str(&answer?).ok();
        Nodes(answers.map(|(node, answer)| (node, seen(answer))).collect())
    }

    fn seen(&self) -> impl Iterator<Item = (u32, &Seen)> {
        let nodes = self.0.iter();
        nodes.filter_map(|(node, seen)| Some((*node, seen.as_ref()?)))
    }

    fn is_configured(&self, id: &str) -> bool {
        self.seen().any(|(_, seen)| seen.configured.contains(id))
    }

    /// All exporters that are configured, or known to a partition's state.
    fn ids(&self) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for (_, seen) in self.seen() {
            ids.extend(seen.configured.iter().cloned());
            let known = seen.partitions.iter().flat_map(|one| one.enabled.keys());
            ids.extend(known.cloned());
        }
        ids
    }

    /// A busy exporter of these partitions, its partition and its node.
    fn busy(&self, partitions: &BTreeSet<u32>) -> Option<(String, u32, u32)> {
        for (node, seen) in self.seen() {
            let wanted = |one: &&SeenPartition| partitions.contains(&one.id);
            for one in seen.partitions.iter().filter(wanted) {
                if let Some(exporter) = &one.busy {
                    return Some((exporter.clone(), one.id, node));
                }
            }
        }
        None
    }

    /// Whether each partition has the exporter enabled: according to its leader, or else to any replica.
    fn enabled(&self, id: &str) -> Vec<bool> {
        let mut by_partition: BTreeMap<u32, (bool, bool)> = BTreeMap::new();
        let partitions = self.seen().flat_map(|(_, seen)| &seen.partitions);
        for one in partitions {
            let enabled = one.enabled.get(id).copied().unwrap_or(true);
            let known = by_partition.entry(one.id).or_insert((one.leads, enabled));
            if one.leads && !known.0 {
                *known = (true, enabled);
            }
        }
        by_partition
            .into_values()
            .map(|(_, enabled)| enabled)
            .collect()
    }

    fn status(&self, id: &str) -> &'static str {
        if !self.is_configured(id) {
            return "CONFIG_NOT_FOUND";
        }
        let enabled = self.enabled(id);
        match enabled.iter().filter(|enabled| **enabled).count() {
            0 if !enabled.is_empty() => "DISABLED",
            all if all == enabled.len() => "ENABLED",
            // A change did not reach all partitions.
            _ => "UNKNOWN",
        }
    }
}

/// An operation on one exporter.
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
                format!("'{other}' is not an operation on an exporter; use enable or disable"),
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
                "initializeFrom must be the name of an exporter, but is {other}"
            )));
        }
    };
    let nodes = Nodes::look(broker).await;
    check(&nodes, operation, id, initialize_from)?;
    let before = topology(&nodes, None);
    let after = topology(&nodes, Some((id, operation)));
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
        let sent = send(broker, &all(broker), &change).await;
        sent.map_err(|(status, reason)| message(status, reason))?;
    }
    let answer = json!({
        "changeId": 0,
        "currentTopology": before,
        "plannedChanges": planned(&nodes, operation, id),
        "expectedTopology": after,
    });
    Ok(reply::json(StatusCode::ACCEPTED, &answer))
}

/// The planned operations on each replica of each partition.
fn planned(nodes: &Nodes, operation: Operation, id: &str) -> Vec<Value> {
    let operation = match operation {
        Operation::Enable => "PARTITION_ENABLE_EXPORTER",
        Operation::Disable => "PARTITION_DISABLE_EXPORTER",
        Operation::Delete => "PARTITION_DELETE_EXPORTER",
    };
    let of_node = |(node, seen): (u32, &Seen)| -> Vec<Value> {
        let partitions = seen.partitions.iter();
        let one = |one: &SeenPartition| {
            json!({
                "operation": operation,
                "brokerId": node,
                "partitionId": one.id,
                "exporterId": id,
            })
        };
        partitions.map(one).collect()
    };
    nodes.seen().flat_map(of_node).collect()
}

fn check(
    nodes: &Nodes,
    operation: Operation,
    id: &str,
    initialize_from: Option<&str>,
) -> Result<(), Answer> {
    let known = nodes.ids();
    if !known.contains(id) {
        let known: Vec<_> = known.into_iter().collect();
        return Err(bad_request(format!(
            "there is no exporter '{id}'; there are {}",
            known.join(", ")
        )));
    }
    let configured = nodes.is_configured(id);
    match operation {
        Operation::Enable if !configured => Err(bad_request(format!(
            "exporter '{id}' is not configured: add camunda.data.exporters.{id} and restart, or delete it"
        ))),
        Operation::Delete if configured => Err(bad_request(format!(
            "exporter '{id}' is configured and would be there again after a restart: remove camunda.data.exporters.{id} first, or \
             disable it"
        ))),
        Operation::Enable if initialize_from == Some(id) => Err(bad_request(format!(
            "exporter '{id}' cannot begin at its own position: name another exporter in initializeFrom"
        ))),
        Operation::Enable if id == SECONDARY_STORAGE && initialize_from.is_some() => Err(
            bad_request("secondary storage keeps its own position: leave initializeFrom out"),
        ),
        _ => Ok(()),
    }
}

/// The phase that `pause` or `resume` leads to.
pub fn phase(operation: &str, soft: bool) -> ExportingPhase {
    match (operation, soft) {
        ("resume", _) => ExportingPhase::Exporting,
        (_, true) => ExportingPhase::SoftPaused,
        (_, false) => ExportingPhase::Paused,
    }
}

/// `POST /actuator/exporting/pause` and `…/resume`: the answer's body contains the status.
pub async fn set_phase(broker: &Broker, phase: ExportingPhase) -> Answer {
    match change_phase(broker, &all(broker), phase).await {
        Ok(()) => ok(&json!({ "body": null, "status": 204, "contentType": null })),
        Err((_, reason)) => {
            ok(&json!({ "body": { "message": reason }, "status": 500, "contentType": null }))
        }
    }
}

/// The same for all partitions of the cluster, with failures as other requests have them.
pub async fn set_phase_of_all(broker: &Broker, phase: ExportingPhase) -> Result<(), Answer> {
    let done = change_phase(broker, &all(broker), phase).await;
    done.map_err(|(status, reason)| message(status, reason))
}

/// The same for the partitions with a copy on this node.
pub async fn set_phase_of_partitions(broker: &Broker, phase: ExportingPhase) -> Result<(), Answer> {
    let done = change_phase(broker, &here(broker), phase).await;
    done.map_err(|(status, reason)| message(status, reason))
}

/// All partitions of the cluster: this node may have copies of some, or of none.
fn all(broker: &Broker) -> BTreeSet<u32> {
    (1..=broker.cluster_state().partitions).collect()
}

fn here(broker: &Broker) -> BTreeSet<u32> {
    let copies = broker.partitions();
    copies.iter().map(|copy| copy.status.partition).collect()
}

async fn change_phase(
    broker: &Broker,
    partitions: &BTreeSet<u32>,
    phase: ExportingPhase,
) -> Result<(), (StatusCode, String)> {
    send(broker, partitions, &ExportingChange::Phase(phase)).await?;
    if phase == ExportingPhase::Paused {
        rests(broker, partitions).await?;
    }
    Ok(())
}

/// Waits until no records of these partitions are in flight.
async fn rests(broker: &Broker, partitions: &BTreeSet<u32>) -> Result<(), (StatusCode, String)> {
    let deadline = tokio::time::Instant::now() + PAUSE_TIMEOUT;
    loop {
        let nodes = Nodes::look(broker).await;
        let Some((exporter, partition, node)) = nodes.busy(partitions) else {
            let away = nodes.0.iter().find(|(_, seen)| seen.is_none());
            return match away {
                None => Ok(()),
                Some((node, _)) => Err((
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!(
                        "node {node} does not answer; its exporters pause when it learns of this"
                    ),
                )),
            };
        };
        if tokio::time::Instant::now() >= deadline {
            return Err((
                StatusCode::INTERNAL_SERVER_ERROR,
                format!(
                    "exporter '{exporter}' of partition {partition} on node {node} still waits for its target; it pauses when that \
                     has answered"
                ),
            ));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Sends a change to these partitions. Each has its own leader and may fail on its own.
async fn send(
    broker: &Broker,
    partitions: &BTreeSet<u32>,
    change: &ExportingChange,
) -> Result<(), (StatusCode, String)> {
    for partition in partitions.iter().copied() {
        let command = Command::ChangeExporting {
            partition,
            change: change.clone(),
        };
        let failure = match broker.execute(Request::internal(command)).await.result {
            Ok(_) => continue,
            Err(failure) => failure,
        };
        let (status, reason) = match failure {
            // The partition has deleted the exporter already.
            Failure::Rejected(rejection) if rejection.kind == RejectionType::NotFound => continue,
            Failure::Rejected(rejection) => (StatusCode::BAD_REQUEST, rejection.reason.to_string()),
            failure => (StatusCode::INTERNAL_SERVER_ERROR, failure.to_string()),
        };
        return Err((status, format!("partition {partition}: {reason}")));
    }
    Ok(())
}

/// The brokers with the exporters of their partitions, before or after a change.
fn topology(nodes: &Nodes, change: Option<(&str, Operation)>) -> Value {
    let ids = nodes.ids();
    let partition = |one: &SeenPartition| {
        let known = ids.iter();
        let exporters: Vec<Value> = known
            .filter(|id| change != Some((id.as_str(), Operation::Delete)))
            .map(|id| {
                let changed = change.filter(|(changed, _)| changed == id);
                let enabled = match changed {
                    Some((_, operation)) => operation == Operation::Enable,
                    None => one.enabled.get(id).copied().unwrap_or(true),
                };
                let state = match (nodes.is_configured(id), enabled) {
                    (false, _) => "CONFIG_NOT_FOUND",
                    (_, true) => "ENABLED",
                    (_, false) => "DISABLED",
                };
                json!({ "id": id, "state": state })
            })
            .collect();
        json!({
            "id": one.id,
            "state": "ACTIVE",
            "priority": 1,
            "config": { "exporting": { "exporters": exporters } },
        })
    };
    let broker = |(node, seen): (u32, &Seen)| {
        let partitions: Vec<Value> = seen.partitions.iter().map(partition).collect();
        json!({ "id": node, "state": "ACTIVE", "version": 1, "partitions": partitions })
    };
    nodes.seen().map(broker).collect()
}

/// The exporters of a partition with their progress, for people.
pub fn of_partition(broker: &Broker, handle: &PartitionHandle) -> Value {
    let committed = handle.status.committed();
    let of = |status: Arc<skep_exporting::Status>| {
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
    let mut all: Map<_, _> = handle.exporters.working().into_iter().map(of).collect();
    // A disabled record exporter does not run; the leader reports its position in the state.
    if handle.status.role() == PartitionRole::Leader {
        let known = handle.exporters.value();
        for config in &broker.config().exporters {
            let exporter = known.exporter(&config.id).filter(|it| !it.is_enabled);
            let Some(exporter) = exporter.filter(|_| !all.contains_key(&config.id)) else {
                continue;
            };
            let exported = exporter.position.record;
            let shown = json!({
                "state": "DISABLED",
                "exportedPosition": exported,
                "acknowledgedPosition": exported,
            });
            all.insert(config.id.clone(), shown);
        }
    }
    Value::Object(all)
}

/// Exporters with problems: the engine works without them, but the log is kept until they have exported it.
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
