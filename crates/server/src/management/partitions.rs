//! `/actuator/partitions`: the state of each partition, and pausing, resuming, snapshots.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use http::StatusCode;
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::partition::busiest::Busy;
use skep_broker::partition::{PartitionHandle, PartitionStatus, Report};
use skep_protocol::value::ExportingPhase;
use skep_service::{PartitionHealth, PartitionRole};

use super::exporters::set_phase_of_partitions as set_phase;
use super::health::{health, role};
use super::reply::{Answer, Handled, message, ok};

/// Maximum time that a request waits for the snapshots of all partitions; they continue by themselves.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(60);

pub fn all(broker: &Broker) -> Answer {
    ok(&of_node(broker))
}

/// The partitions of this node.
pub fn of_node(broker: &Broker) -> Value {
    let partitions: Map<String, Value> = broker
        .partitions()
        .iter()
        .map(|handle| {
            let id = handle.status.partition.to_string();
            (id, one(broker, handle))
        })
        .collect();
    Value::Object(partitions)
}

fn one(broker: &Broker, handle: &PartitionHandle) -> Value {
    let status = &*handle.status;
    let exporters = handle.exporters.working().into_iter();
    let enabled = exporters.filter(|exporter| exporter.is_enabled());
    let exported = enabled.map(|exporter| exporter.exported_position()).min();
    let leader = status.role() == PartitionRole::Leader;
    let index = status.checkpoint_index.load(Ordering::Relaxed);
    let in_snapshot = status.checkpoint_position.load(Ordering::Relaxed);
    let term = status.checkpoint_term.load(Ordering::Relaxed);
    let node = broker.config().node_id;
    let routing = broker.routing();
    let is_being_added = status.partition > routing.count();
    let processed = status.processed_position.load(Ordering::Relaxed);
    json!({
        "role": role(status.role()),
        "committedPosition": status.committed(),
        "processedPosition": leader.then_some(processed),
        "appliedIndex": status.applied.load(Ordering::Relaxed),
        "freeDiskBytes": broker.disk().free.load(Ordering::Relaxed),
        "secondaryStorageBytes": handle.stored_bytes(),
        "diskLow": broker.disk().low.load(Ordering::Relaxed) || status.stalled.load(Ordering::Relaxed),
        "snapshotId": (index > 0).then(|| format!("{index}-{term}-{in_snapshot}-0-{node}")),
        "processedPositionInSnapshot": (index > 0).then_some(in_snapshot),
        "streamProcessorPhase": phase(status),
        "exporterPhase": handle.exporters.phase().name(),
        "exportedPosition": exported.map_or(json!(-1), |position| json!(position)),
        "exporters": super::exporters::of_partition(broker, handle),
        "busiestInstances": busiest(status),
        "isBeingAdded": is_being_added,
        "isDraining": !is_being_added && status.partition > routing.accepting(),
        "liveElementInstances": status.live_element_instances.load(Ordering::Relaxed),
        "waitingJobs": status.jobs.waiting.load(Ordering::Relaxed),
        "correlationRows": status.scaling.correlation_rows.load(Ordering::Relaxed),
        "bannedInstances": status.banned_instances.load(Ordering::Relaxed),
        "clock": clock(broker, status),
        "health": tree(status),
    })
}

/// Process instances that wrote many of the latest records, busiest first.
fn busiest(status: &PartitionStatus) -> Value {
    let busiest = status.busiest();
    let one = |busy: &Busy| {
        json!({
            "processInstanceKey": busy.process_instance_key.to_string(),
            "recordsPerSecond": busy.records_per_second,
            "elementInstances": busy.element_instances,
        })
    };
    busiest.iter().map(one).collect()
}

fn phase(status: &PartitionStatus) -> &'static str {
    if !status.works() {
        "FAILED"
    } else if status.processing_paused.load(Ordering::Relaxed) {
        "PAUSED"
    } else {
        match status.role() {
            PartitionRole::Leader => "PROCESSING",
            PartitionRole::Follower => "REPLAY",
            PartitionRole::Inactive => "INITIAL",
        }
    }
}

/// The partition's clock: the one pinned by a command (`PUT /v2/clock`), else the node's.
fn clock(broker: &Broker, status: &PartitionStatus) -> Value {
    let pinned = status.pinned_clock.load(Ordering::Relaxed);
    if pinned != i64::MIN {
        let instant = super::clock::instant(pinned);
        return json!({
            "instant": instant,
            "modificationType": "Pin",
            "modification": { "at": instant },
        });
    }
    let (kind, value) = broker.clock().modification();
    let modification = match kind {
        "Pin" => json!({ "at": super::clock::instant(value) }),
        "Offset" => json!({ "by": super::clock::duration(value) }),
        _ => json!({}),
    };
    json!({
        "instant": super::clock::instant(broker.clock().now()),
        "modificationType": kind,
        "modification": modification,
    })
}

fn tree(status: &PartitionStatus) -> Value {
    let name = format!("Partition-{}", status.partition);
    let state = health(status.health());
    let child = |part: &str, healthy: bool| {
        let state = if healthy { "HEALTHY" } else { state };
        json!({
            "id": format!("{part}-{}", status.partition),
            "name": format!("{part}-{}", status.partition),
            "status": state,
            "componentsState": state,
            "children": [],
        })
    };
    let dead = status.health() == PartitionHealth::Dead;
    let tree = json!({
        "id": name,
        "name": name,
        "status": state,
        "componentsState": state,
        "children": [
            child("StreamProcessor", !dead),
            child("Log", !dead && !status.stalled.load(Ordering::Relaxed)),
        ],
    });
    let message = status.trouble().or_else(|| {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is(&status.stalled) {
            Some("the log cannot grow: its disk is full".into())
        } else {
            let behind = "the disk has no space for the leader's snapshot: the replica is behind";
            is(&status.space.no_room).then(|| behind.into())
        }
    });
    match (tree, message) {
        (Value::Object(mut tree), Some(message)) => {
            tree.insert("message".into(), json!(message));
            Value::Object(tree)
        }
        (tree, _) => tree,
    }
}

/// An operation on all partitions of this node.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    PauseProcessing,
    ResumeProcessing,
    TakeSnapshot,
    PrepareUpgrade,
    PauseExporting,
    SoftPauseExporting,
    ResumeExporting,
}

const OPERATIONS: [(&str, Operation); 7] = [
    ("pauseProcessing", Operation::PauseProcessing),
    ("resumeProcessing", Operation::ResumeProcessing),
    ("takeSnapshot", Operation::TakeSnapshot),
    ("prepareUpgrade", Operation::PrepareUpgrade),
    ("pauseExporting", Operation::PauseExporting),
    ("softPauseExporting", Operation::SoftPauseExporting),
    ("resumeExporting", Operation::ResumeExporting),
];

impl Operation {
    pub fn named(name: &str) -> Result<Operation, Answer> {
        let known = OPERATIONS.iter().find(|(known, _)| *known == name);
        known.map(|(_, operation)| *operation).ok_or_else(|| {
            let names = OPERATIONS.map(|(name, _)| name).join(", ");
            message(
                StatusCode::NOT_FOUND,
                format!("'{name}' is not an operation on partitions; there are {names}"),
            )
        })
    }
}

/// Carries out an operation on all partitions of this node.
pub async fn act(broker: &Broker, operation: Operation) -> Handled {
    match operation {
        Operation::PauseProcessing => pause(broker, true),
        Operation::ResumeProcessing => pause(broker, false),
        Operation::TakeSnapshot => snapshot(broker).await?,
        Operation::PrepareUpgrade => {
            set_phase(broker, ExportingPhase::Paused).await?;
            pause(broker, true);
            snapshot(broker).await?;
        }
        Operation::PauseExporting => set_phase(broker, ExportingPhase::Paused).await?,
        Operation::SoftPauseExporting => set_phase(broker, ExportingPhase::SoftPaused).await?,
        Operation::ResumeExporting => set_phase(broker, ExportingPhase::Exporting).await?,
    }
    tracing::info!(?operation, "operator action on all partitions");
    Ok(all(broker))
}

fn pause(broker: &Broker, paused: bool) {
    for partition in broker.partitions() {
        let flag = &partition.status.processing_paused;
        flag.store(paused, Ordering::Relaxed);
        partition.inbox.send(Report::Wake);
    }
}

async fn snapshot(broker: &Broker) -> Result<(), Answer> {
    let mut waiting = Vec::new();
    for partition in broker.partitions() {
        if let Some(reason) = partition.status.failure() {
            let id = partition.status.partition;
            return Err(failed(id, &format!("it has stopped: {reason}")));
        }
        let (done, wait) = crossbeam_channel::bounded(1);
        partition.inbox.send(Report::TakeSnapshot(Some(done)));
        waiting.push((partition.status.partition, wait));
    }
    let end = Instant::now() + SNAPSHOT_TIMEOUT;
    let all_done = tokio::task::spawn_blocking(move || done_by(end, waiting));
    all_done
        .await
        .unwrap_or_else(|error| Err(failed(0, &error.to_string())))
}

/// Waits for all partitions until the same time: callers wait no longer for many than for one.
fn done_by<E: Display>(
    end: Instant,
    waiting: Vec<(u32, Receiver<Result<(), E>>)>,
) -> Result<(), Answer> {
    for (id, wait) in waiting {
        match wait.recv_deadline(end) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Err(failed(id, &reason.to_string())),
            Err(RecvTimeoutError::Timeout) => {
                return Err(failed(id, "it did not finish in time"));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(id, "it ended before it was done"));
            }
        }
    }
    Ok(())
}

fn failed(partition: u32, reason: &str) -> Answer {
    message(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("partition {partition} took no snapshot: {reason}"),
    )
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Sender, bounded};

    use super::*;

    type Stored = Result<(), String>;

    type Waiting = Vec<(u32, Receiver<Stored>)>;

    /// Partitions, and the senders by which they say that they are done.
    fn partitions(count: u32) -> (Vec<Sender<Stored>>, Waiting) {
        let each = (1..=count).map(|id| {
            let (done, wait) = bounded(1);
            (done, (id, wait))
        });
        each.unzip()
    }

    #[test]
    fn many_snapshots_have_no_more_time_than_one() {
        let now = Instant::now();
        let (done, waiting) = partitions(60);
        for sender in &done {
            sender.send(Ok(())).unwrap();
        }
        assert!(done_by(now, waiting).is_ok());
        // The last one is not done when the time of all is over.
        let (done, waiting) = partitions(60);
        for sender in done.iter().take(59) {
            sender.send(Ok(())).unwrap();
        }
        let late = done_by(now, waiting).unwrap_err();
        assert_eq!(late.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
