//! Requests to the broker: `zeebe_gateway_request_latency_seconds`, `zeebe_gateway_total_requests_total`,
//! `zeebe_gateway_failed_requests_total`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use skep_protocol::command::{At, RecordName};
use skep_protocol::intent::JobBatchIntent;
use skep_protocol::{Command, Failure, Key, Response, ValueType};

use skep_metrics::{Counter, Family, Histogram};

use super::families::{FailureLabels, GatewayFamilies, RequestLabels};

/// Partitions whose handles are kept; row 0 is for requests whose partition is unknown (refused before routing).
const KEPT_PARTITIONS: usize = 17;

/// Intents of one value type whose handles are kept: all that commands have.
const KEPT_INTENTS: usize = 32;

/// A command's type and the partition that its key names; taken before the command is handed over.
///
/// The partition is only a label: the broker's routing determines where the command goes. A number that no partition has counts for partition 0.
#[derive(Clone, Copy, Debug)]
pub struct RequestKind {
    name: RecordName,
    partition: u32,
}

impl RequestKind {
    pub const ACTIVATE_JOBS: RequestKind = RequestKind {
        name: RecordName(ValueType::JobBatch, JobBatchIntent::Activate as u8),
        partition: 0,
    };

    pub fn of(command: &Command) -> RequestKind {
        let partition = match command.at() {
            At::Key(key) => key.partition(),
            At::Given(partition) => Some(partition),
            At::Correlation(_) | At::Turn | At::First | At::Home => None,
        };
        RequestKind {
            name: command.record().name(),
            partition: partition.unwrap_or(0),
        }
    }

    /// For instance `JOB#COMPLETE`.
    pub fn name(self) -> RecordName {
        self.name
    }

    fn partition(self, result: &Result<Response, Failure>) -> u32 {
        let key = match result {
            Ok(Response::Deployed(d)) => d.deployment_key,
            Ok(Response::ProcessInstanceCreated(c)) => c.process_instance_key,
            Ok(Response::ProcessInstanceResult { created, .. }) => created.process_instance_key,
            Ok(Response::MessagePublished { message_key }) => *message_key,
            Ok(Response::MessageCorrelated { message_key, .. }) => *message_key,
            Ok(Response::SignalBroadcast { signal_key }) => *signal_key,
            Ok(Response::BatchOperationCreated { key, .. }) => *key,
            Ok(Response::ConditionalsEvaluated(evaluated)) => evaluated.key,
            _ => Key::NONE,
        };
        match self.partition {
            0 => key.partition().unwrap_or(0),
            known => known,
        }
    }
}

/// Requests to the broker by partition and type.
#[derive(Debug)]
pub struct BrokerRequests {
    latency: Family<RequestLabels, Histogram>,
    total: Family<RequestLabels, Counter>,
    failed: Family<FailureLabels, Counter>,
    /// By value type; of each by intent and partition.
    handles: Box<[OnceLock<OfValueType>]>,
    /// Number of existing partitions: the partition in a key is chosen by its sender.
    partitions: AtomicU32,
}

type OfValueType = Box<[OnceLock<Handles>]>;

#[derive(Clone, Debug)]
struct Handles {
    latency: Histogram,
    total: Counter,
}

impl BrokerRequests {
    pub(super) fn new(families: &GatewayFamilies) -> BrokerRequests {
        BrokerRequests {
            latency: families.latency.clone(),
            total: families.requests.clone(),
            failed: families.failed.clone(),
            handles: (0..=u8::MAX).map(|_| OnceLock::new()).collect(),
            partitions: AtomicU32::new(0),
        }
    }

    /// Sets the number of partitions; a request to any other one counts for partition 0, "unknown".
    pub fn partitions_are(&self, count: u32) {
        self.partitions.store(count, Ordering::Relaxed);
    }

    fn kept(&self, name: RecordName, partition: u32) -> Option<&OnceLock<Handles>> {
        let RecordName(value_type, intent) = name;
        let (intent, partition) = (usize::from(intent), partition as usize);
        if intent >= KEPT_INTENTS || partition >= KEPT_PARTITIONS {
            return None;
        }
        let rows = self.handles.get(usize::from(value_type as u8))?;
        let rows = rows.get_or_init(|| {
            let all = 0..KEPT_INTENTS * KEPT_PARTITIONS;
            all.map(|_| OnceLock::new()).collect()
        });
        rows.get(intent * KEPT_PARTITIONS + partition)
    }

    pub fn observe(&self, kind: RequestKind, result: &Result<Response, Failure>, ns: u64) {
        let exists = |partition: &u32| *partition <= self.partitions.load(Ordering::Relaxed);
        let partition = Some(kind.partition(result)).filter(exists).unwrap_or(0);
        let labels = || RequestLabels {
            partition,
            requestType: kind.name.to_string(),
        };
        let make = || Handles {
            latency: self.latency.of(labels()),
            total: self.total.of(labels()),
        };
        let observe = |handles: &Handles| {
            handles.latency.observe(ns);
            handles.total.inc();
        };
        match self.kept(kind.name, partition) {
            Some(handle) => observe(handle.get_or_init(make)),
            None => observe(&make()),
        }
        let Some(error) = result.as_ref().err().and_then(error_label) else {
            return;
        };
        let RequestLabels {
            partition,
            requestType,
        } = labels();
        let labels = FailureLabels {
            partition,
            requestType,
            error,
        };
        self.failed.of(labels).inc();
    }
}

/// Name of the error of a failed request, for spans; rejections count as errors.
pub(crate) fn error_name(failure: &Failure) -> &'static str {
    error_label(failure).unwrap_or("REJECTED")
}

/// A rejection is an answer and no failure.
fn error_label(failure: &Failure) -> Option<&'static str> {
    Some(match failure {
        Failure::Rejected(_) => return None,
        Failure::InvalidArgument(_) => "MALFORMED_REQUEST",
        Failure::NotFound(_) => "PARTITION_NOT_FOUND",
        Failure::ResourceExhausted(_) => "RESOURCE_EXHAUSTED",
        Failure::Unavailable(_) => "PARTITION_UNAVAILABLE",
        Failure::DeadlineExceeded(_) => "TIMEOUT",
        Failure::Aborted(_) => "UNKNOWN",
        Failure::Internal(_) => "INTERNAL_ERROR",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_protocol::command::{AssignUserTask, PublishMessage};

    #[test]
    fn a_request_counts_for_the_partition_of_its_key_or_of_its_answer() {
        let families = GatewayFamilies::default();
        let requests = BrokerRequests::new(&families);
        requests.partitions_are(99);
        let complete = Command::CompleteJob {
            job_key: Key::new(3, 1),
            variables: Default::default(),
            result: None,
        };
        let busy = Err(Failure::ResourceExhausted("busy".into()));
        requests.observe(RequestKind::of(&complete), &Ok(Response::Empty), 5);
        requests.observe(RequestKind::of(&complete), &busy, 5);
        let pinned = Command::ResetClock;
        requests.observe(RequestKind::of(&pinned), &Ok(Response::Empty), 5);
        let published = Response::MessagePublished {
            message_key: Key::new(99, 1),
        };
        let publish = Command::PublishMessage(PublishMessage {
            name: "paid".into(),
            correlation_key: "1".into(),
            time_to_live: 0,
            message_id: "".into(),
            variables: Default::default(),
        });
        requests.observe(RequestKind::of(&publish), &Ok(published), 5);
        let claim = Command::AssignUserTask(AssignUserTask {
            user_task_key: Key::new(2, 1),
            assignee: "demo".into(),
            action: "".into(),
            claim: true,
        });
        requests.observe(RequestKind::of(&claim), &Ok(Response::Empty), 5);

        let mut registry = skep_metrics::Registry::default();
        families.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "zeebe_gateway_total_requests_total{partition=\"3\",requestType=\"JOB#COMPLETE\"} 2",
            "zeebe_gateway_total_requests_total{partition=\"0\",requestType=\"CLOCK#RESET\"} 1",
            "zeebe_gateway_total_requests_total{partition=\"99\",requestType=\"MESSAGE#PUBLISH\"} 1",
            "zeebe_gateway_total_requests_total{partition=\"2\",requestType=\"USER_TASK#CLAIM\"} 1",
            "zeebe_gateway_failed_requests_total{partition=\"3\",requestType=\"JOB#COMPLETE\",error=\"RESOURCE_EXHAUSTED\"} 1",
            "zeebe_gateway_request_latency_seconds_count{partition=\"3\",requestType=\"JOB#COMPLETE\"} 2",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
    }
}
