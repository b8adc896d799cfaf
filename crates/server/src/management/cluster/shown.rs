//! The cluster's state as operators read it.

use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_cluster::{Finished, Operation, Replica, Running, State};
use skep_secondary::SECONDARY_STORAGE;

fn date(millis: i64) -> Value {
    jiff::Timestamp::from_millisecond(millis).map_or(Value::Null, |time| json!(time.to_string()))
}

/// The answer of `GET /actuator/cluster`.
pub fn topology(broker: &Broker, state: &State) -> Value {
    let mut shown = Map::new();
    shown.insert("version".into(), json!(state.version));
    shown.insert("clusterId".into(), json!(state.cluster_id));
    shown.insert("brokers".into(), brokers(broker, state));
    if let Some(last) = state.last_change() {
        shown.insert("lastChange".into(), Value::Object(head(last)));
    }
    if let Some(running) = &state.running {
        let mut pending = Map::new();
        pending.insert("internalVersion".into(), json!(state.revision));
        pending.extend(under_way(running));
        shown.insert("pendingChange".into(), Value::Object(pending));
    }
    shown.insert("routing".into(), routing(state));
    Value::Object(shown)
}

/// The partitions that get new instances, and those over which correlation keys are spread. All others are new, or drained.
fn routing(state: &State) -> Value {
    let (accepting, all) = (state.accepting_partitions(), state.partitions);
    let others: Vec<u32> = (accepting + 1..=all).collect();
    let requests = if others.is_empty() {
        json!({ "strategy": "AllPartitions", "partitionCount": all })
    } else {
        json!({
            "strategy": "ActivePartitions",
            "basePartitionCount": accepting,
            "additionalActivePartitions": [],
            "inactivePartitions": others,
        })
    };
    let correlation = state.routing();
    let correlation = if correlation.is_by_remainder() {
        json!({ "strategy": "HashMod", "partitionCount": correlation.initial() })
    } else {
        json!({ "strategy": "Slots", "partitionCount": correlation.spread() })
    };
    json!({
        "version": state.routing_version,
        "requestHandling": requests,
        "messageCorrelation": correlation,
    })
}

/// The brokers with their partitions and the exporters of these.
pub fn brokers(broker: &Broker, state: &State) -> Value {
    let partition = |(id, replica): (&u32, &Replica)| {
        json!({
            "id": id,
            "state": replica.state,
            "priority": replica.priority,
            "config": { "exporting": { "exporters": exporters_of(broker, *id) } },
        })
    };
    let brokers = state.nodes.iter().map(|(id, node)| {
        let partitions: Vec<Value> = node.partitions.iter().map(partition).collect();
        json!({
            "id": id,
            "state": node.state,
            "version": node.version,
            "lastUpdatedAt": date(node.updated_at),
            "partitions": partitions,
        })
    });
    brokers.collect()
}

/// Exporters according to the configuration of this node and the partition's state. For a partition that is not here, the configuration.
fn exporters_of(broker: &Broker, partition: u32) -> Value {
    let config = broker.config();
    let configured = config.exporters.iter().map(|it| it.id.clone());
    let secondary = config.secondary_storage.as_ref();
    let secondary = secondary.map(|_| SECONDARY_STORAGE.to_string());
    let partitions = broker.partitions();
    let mut here = partitions.iter();
    let here = here.find(|handle| handle.status.partition == partition);
    let known = here.map(|handle| handle.exporters.value());
    let shown = configured.chain(secondary).map(|id| {
        let exporter = known.as_ref().and_then(|known| known.exporter(&id));
        let enabled = exporter.is_none_or(|exporter| exporter.is_enabled);
        let state = if enabled { "ENABLED" } else { "DISABLED" };
        json!({ "id": id, "state": state })
    });
    shown.collect()
}

/// An operation in the format of the API, which does not name the node that carries it out.
pub fn operation(operation: &Operation) -> Value {
    let mut shown = json!(operation);
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("purge");
        shown.remove("partitionCount");
    }
    shown
}

fn done((operation, at): &(Operation, i64)) -> Value {
    let mut shown = self::operation(operation);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("completedAt".into(), date(*at));
    }
    shown
}

fn under_way(running: &Running) -> Map<String, Value> {
    let mut shown = Map::new();
    let completed: Vec<Value> = running.completed.iter().map(done).collect();
    shown.insert("id".into(), json!(running.id));
    shown.insert("status".into(), json!("IN_PROGRESS"));
    shown.insert("startedAt".into(), date(running.started_at));
    shown.insert("completed".into(), json!(completed));
    let pending: Vec<Value> = running.pending.iter().map(operation).collect();
    shown.insert("pending".into(), json!(pending));
    shown
}

fn head(finished: &Finished) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("id".into(), json!(finished.change.id));
    shown.insert("status".into(), json!(finished.outcome.status()));
    shown.insert("startedAt".into(), date(finished.change.started_at));
    shown.insert("completedAt".into(), date(finished.finished_at));
    shown
}

fn over(finished: &Finished) -> Value {
    let mut shown = under_way(&finished.change);
    shown.extend(head(finished));
    Value::Object(shown)
}

/// All remembered changes, newest first.
pub fn changes(state: &State) -> Value {
    let running = state.running.iter().map(|it| Value::Object(under_way(it)));
    let finished = state.finished.iter().rev().map(over);
    running.chain(finished).collect()
}

/// One of the changes.
pub fn change(state: &State, id: u64) -> Option<Value> {
    let running = state.running.as_ref().filter(|running| running.id == id);
    if let Some(running) = running {
        return Some(Value::Object(under_way(running)));
    }
    let mut finished = state.finished.iter();
    finished.find(|it| it.change.id == id).map(over)
}
