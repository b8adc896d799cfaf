//! Requests to the broker: `zeebe_gateway_request_latency_seconds`, `zeebe_gateway_total_requests_total`,
//! `zeebe_gateway_failed_requests_total`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use skep_protocol::command::BatchCommand;
use skep_protocol::{Command, Failure, Key, Response};

use skep_metrics::{Counter, Family, Histogram};

use super::families::{FailureLabels, GatewayFamilies, RequestLabels};

/// Partitions whose handles are kept; row 0 is for requests whose partition nobody knows (refused before routing).
const KEPT_PARTITIONS: usize = 17;

/// A command's type and the partition that its key names; taken before the command is handed over.
#[derive(Clone, Copy, Debug)]
pub struct RequestKind {
    kind: usize,
    partition: u32,
}

const KINDS: [&str; 38] = [
    "DEPLOYMENT#CREATE",
    "RESOURCE_DELETION#DELETE",
    "PROCESS_INSTANCE_CREATION#CREATE",
    "PROCESS_INSTANCE#CANCEL",
    "JOB_BATCH#ACTIVATE",
    "JOB#COMPLETE",
    "JOB#FAIL",
    "JOB#THROW_ERROR",
    "JOB#UPDATE",
    "MESSAGE#PUBLISH",
    "MESSAGE_CORRELATION#CORRELATE",
    "INCIDENT#RESOLVE",
    "VARIABLE_DOCUMENT#UPDATE",
    "CLOCK#PIN",
    "CLOCK#RESET",
    "EXPRESSION#EVALUATE",
    "DECISION_EVALUATION#EVALUATE",
    "USER_TASK#ASSIGN",
    "USER_TASK#CLAIM",
    "USER_TASK#UPDATE",
    "USER_TASK#COMPLETE",
    "GLOBAL_LISTENER#CREATE",
    "GLOBAL_LISTENER#UPDATE",
    "GLOBAL_LISTENER#DELETE",
    "AD_HOC_SUB_PROCESS_INSTRUCTION#ACTIVATE",
    "SIGNAL#BROADCAST",
    "PROCESS_INSTANCE_MODIFICATION#MODIFY",
    "CONDITIONAL_EVALUATION#EVALUATE",
    "CLUSTER_VARIABLE#CREATE",
    "CLUSTER_VARIABLE#UPDATE",
    "CLUSTER_VARIABLE#DELETE",
    "BATCH_OPERATION_CREATION#CREATE",
    "BATCH_OPERATION_LIFECYCLE_MANAGEMENT#CANCEL",
    "BATCH_OPERATION_LIFECYCLE_MANAGEMENT#SUSPEND",
    "BATCH_OPERATION_LIFECYCLE_MANAGEMENT#RESUME",
    "HISTORY_DELETION#DELETE",
    "PROCESS_INSTANCE_MIGRATION#MIGRATE",
    "UNKNOWN",
];

const UNKNOWN: usize = KINDS.len() - 1;

impl RequestKind {
    pub const ACTIVATE_JOBS: RequestKind = RequestKind {
        kind: 4,
        partition: 0,
    };

    pub fn of(command: &Command) -> RequestKind {
        let (kind, key) = match command {
            Command::Deploy(_) => (0, None),
            Command::DeleteResource { resource_key, .. } => (1, Some(resource_key)),
            Command::CreateProcessInstance(_) => (2, None),
            Command::CancelProcessInstance {
                process_instance_key,
            } => (3, Some(process_instance_key)),
            Command::ActivateJobs(_) => (4, None),
            Command::CompleteJob { job_key, .. } => (5, Some(job_key)),
            Command::FailJob(c) => (6, Some(&c.job_key)),
            Command::ThrowError(c) => (7, Some(&c.job_key)),
            Command::UpdateJob { job_key, .. } => (8, Some(job_key)),
            Command::PublishMessage(_) => (9, None),
            Command::CorrelateMessage(_) => (10, None),
            Command::ResolveIncident { incident_key } => (11, Some(incident_key)),
            Command::SetVariables {
                element_instance_key,
                ..
            } => (12, Some(element_instance_key)),
            Command::ActivateAdHoc(c) => (24, Some(&c.ad_hoc_sub_process_instance_key)),
            Command::PinClock { .. } => (13, None),
            Command::ResetClock => (14, None),
            Command::EvaluateExpression { .. } => (15, None),
            Command::EvaluateDecision(_) => (16, None),
            Command::AssignUserTask(c) => (if c.claim { 18 } else { 17 }, Some(&c.user_task_key)),
            Command::UpdateUserTask(c) => (19, Some(&c.user_task_key)),
            Command::CompleteUserTask(c) => (20, Some(&c.user_task_key)),
            Command::CreateGlobalListener(_) => (21, None),
            Command::UpdateGlobalListener(_) => (22, None),
            Command::DeleteGlobalListener { .. } => (23, None),
            Command::BroadcastSignal(_) => (25, None),
            Command::EvaluateConditionals(_) => (27, None),
            Command::CreateClusterVariable(_) => (28, None),
            Command::UpdateClusterVariable(_) => (29, None),
            Command::DeleteClusterVariable { .. } => (30, None),
            Command::ModifyProcessInstance(c) => (26, Some(&c.process_instance_key)),
            Command::MigrateProcessInstance(c) => (36, Some(&c.process_instance_key)),
            Command::Batch(c) => return RequestKind::of_batch(c),
            // Asked by the management port, which is no gateway.
            Command::ListIncidents { .. }
            | Command::BanInstance { .. }
            | Command::ChangeExporting { .. } => (UNKNOWN, None),
        };
        RequestKind {
            kind,
            partition: key.and_then(|k| k.partition()).unwrap_or(0),
        }
    }

    fn of_batch(command: &BatchCommand) -> RequestKind {
        let kind = match command {
            BatchCommand::Create(_) => 31,
            BatchCommand::Cancel { .. } => 32,
            BatchCommand::Suspend { .. } => 33,
            BatchCommand::Resume { .. } => 34,
            BatchCommand::DeleteHistory(_) => 35,
            // Of the partition itself.
            BatchCommand::Add(_) | BatchCommand::Fail { .. } => UNKNOWN,
        };
        RequestKind {
            kind,
            partition: command.key().partition().unwrap_or(0),
        }
    }

    /// For instance `JOB#COMPLETE`.
    pub fn name(self) -> &'static str {
        KINDS.get(self.kind).copied().unwrap_or("UNKNOWN")
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
    handles: Box<[OnceLock<Handles>]>,
    /// Partitions that exist: the partition of a key is what its sender made of it.
    partitions: AtomicU32,
}

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
            handles: (0..KINDS.len() * KEPT_PARTITIONS)
                .map(|_| OnceLock::new())
                .collect(),
            partitions: AtomicU32::new(0),
        }
    }

    /// So many partitions exist; a request to any other one counts for partition 0, "nobody knows".
    pub fn partitions_are(&self, count: u32) {
        self.partitions.store(count, Ordering::Relaxed);
    }

    pub fn observe(&self, kind: RequestKind, result: &Result<Response, Failure>, ns: u64) {
        let exists = |partition: &u32| *partition <= self.partitions.load(Ordering::Relaxed);
        let partition = Some(kind.partition(result)).filter(exists).unwrap_or(0);
        let row = partition as usize;
        let kept = (row < KEPT_PARTITIONS).then(|| kind.kind * KEPT_PARTITIONS + row);
        let labels = || RequestLabels {
            partition,
            requestType: kind.name(),
        };
        let make = || Handles {
            latency: self.latency.of(labels()),
            total: self.total.of(labels()),
        };
        let observe = |handles: &Handles| {
            handles.latency.observe(ns);
            handles.total.inc();
        };
        match kept.and_then(|i| self.handles.get(i)) {
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

/// What a request failed with, for spans: rejections count.
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
        let publish = RequestKind {
            kind: 9,
            partition: 0,
        };
        requests.observe(publish, &Ok(published), 5);

        let mut registry = skep_metrics::Registry::default();
        families.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "zeebe_gateway_total_requests_total{partition=\"3\",requestType=\"JOB#COMPLETE\"} 2",
            "zeebe_gateway_total_requests_total{partition=\"0\",requestType=\"CLOCK#RESET\"} 1",
            "zeebe_gateway_total_requests_total{partition=\"99\",requestType=\"MESSAGE#PUBLISH\"} 1",
            "zeebe_gateway_failed_requests_total{partition=\"3\",requestType=\"JOB#COMPLETE\",error=\"RESOURCE_EXHAUSTED\"} 1",
            "zeebe_gateway_request_latency_seconds_count{partition=\"3\",requestType=\"JOB#COMPLETE\"} 2",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
    }
}
