//! What partitions measure, under the names of metrics.md.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use skep_protocol::service::Timings;
use skep_storage::log::AppendTimes;

/// Default buckets in seconds (metrics.md), with finer ones below: a commit here takes fractions of a millisecond.
pub const SECONDS: [f64; 19] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75,
    1.0, 2.5, 5.0, 7.5, 10.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct PartitionLabel {
    pub partition: u32,
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// Handles of one partition's metrics: observing is an atomic add.
#[derive(Debug)]
pub struct PartitionMetrics {
    pub append: Histogram,
    pub flush: Histogram,
    pub commit: Histogram,
    pub evaluation: Histogram,
    pub batch_commands: Histogram,
    pub capture: Histogram,
    pub checkpoint: Histogram,
    pub checkpoints: Counter,
    pub appended_bytes: Counter,
    pub pushed: Counter,
    pub push_failed: Counter,
    pub received: Counter<u64, AtomicU64>,
    pub dropped: Counter<u64, AtomicU64>,
}

impl PartitionMetrics {
    pub fn evaluated(&self, time: Duration) {
        self.evaluation.observe(time.as_secs_f64());
    }

    pub fn released(&self, timings: &Timings, commands: usize) {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        self.append.observe(seconds(timings.append));
        self.commit
            .observe(seconds(timings.append + timings.fsync + timings.commit));
        self.batch_commands.observe(commands as f64);
    }

    pub fn appended(&self, times: &AppendTimes) {
        self.flush.observe(times.sync.as_secs_f64());
        self.appended_bytes.inc_by(times.bytes as u64);
    }

    pub fn pushed(&self) {
        self.pushed.inc();
    }

    pub fn push_failed(&self) {
        self.push_failed.inc();
    }
}

/// The families of all partitions of a node.
#[derive(Clone, Debug)]
pub struct BrokerMetrics {
    append: Family<PartitionLabel, Histogram>,
    flush: Family<PartitionLabel, Histogram>,
    commit: Family<PartitionLabel, Histogram>,
    evaluation: Family<PartitionLabel, Histogram>,
    batch_commands: Family<PartitionLabel, Histogram>,
    capture: Family<PartitionLabel, Histogram>,
    checkpoint: Family<PartitionLabel, Histogram>,
    checkpoints: Family<PartitionLabel, Counter>,
    appended_bytes: Family<PartitionLabel, Counter>,
    pushed: Counter,
    push_failed: Counter,
    received: Family<PartitionLabel, Counter<u64, AtomicU64>>,
    dropped: Family<PartitionLabel, Counter<u64, AtomicU64>>,
    /// Gauges that are set when metrics are scraped.
    pub inflight: Family<PartitionLabel, Gauge>,
    pub limit: Family<PartitionLabel, Gauge>,
    pub role: Family<PartitionLabel, Gauge>,
    pub health: Family<PartitionLabel, Gauge>,
    pub processed_position: Family<PartitionLabel, Gauge>,
    pub committed_position: Family<PartitionLabel, Gauge>,
    pub appended_position: Family<PartitionLabel, Gauge>,
    pub pending_incidents: Family<PartitionLabel, Gauge>,
    pub buffered_messages: Family<PartitionLabel, Gauge>,
    pub element_instances: Family<PartitionLabel, Gauge>,
    pub waiting_jobs: Family<PartitionLabel, Gauge>,
    pub activated_jobs: Family<PartitionLabel, Gauge>,
    pub state_bytes: Family<PartitionLabel, Gauge>,
    pub open_streams: Gauge,
}

impl Default for BrokerMetrics {
    fn default() -> Self {
        BrokerMetrics {
            append: Family::new_with_constructor(seconds),
            flush: Family::new_with_constructor(seconds),
            commit: Family::new_with_constructor(seconds),
            evaluation: Family::new_with_constructor(|| {
                Histogram::new([
                    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 1e-2, 0.1, 1.0,
                ])
            }),
            batch_commands: Family::new_with_constructor(|| {
                Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
            }),
            capture: Family::new_with_constructor(seconds),
            checkpoint: Family::new_with_constructor(seconds),
            checkpoints: Family::default(),
            appended_bytes: Family::default(),
            pushed: Counter::default(),
            push_failed: Counter::default(),
            received: Family::default(),
            dropped: Family::default(),
            inflight: Family::default(),
            limit: Family::default(),
            role: Family::default(),
            health: Family::default(),
            processed_position: Family::default(),
            committed_position: Family::default(),
            appended_position: Family::default(),
            pending_incidents: Family::default(),
            buffered_messages: Family::default(),
            element_instances: Family::default(),
            waiting_jobs: Family::default(),
            activated_jobs: Family::default(),
            state_bytes: Family::default(),
            open_streams: Gauge::default(),
        }
    }
}

impl BrokerMetrics {
    pub fn partition(&self, partition: u32) -> PartitionMetrics {
        let label = PartitionLabel { partition };
        PartitionMetrics {
            append: self.append.get_or_create(&label).clone(),
            flush: self.flush.get_or_create(&label).clone(),
            commit: self.commit.get_or_create(&label).clone(),
            evaluation: self.evaluation.get_or_create(&label).clone(),
            batch_commands: self.batch_commands.get_or_create(&label).clone(),
            capture: self.capture.get_or_create(&label).clone(),
            checkpoint: self.checkpoint.get_or_create(&label).clone(),
            checkpoints: self.checkpoints.get_or_create(&label).clone(),
            appended_bytes: self.appended_bytes.get_or_create(&label).clone(),
            pushed: self.pushed.clone(),
            push_failed: self.push_failed.clone(),
            received: self.received.get_or_create(&label).clone(),
            dropped: self.dropped.get_or_create(&label).clone(),
        }
    }

    /// Enters all families under their public names. Counters get `_total` from the text format.
    pub fn register(&self, registry: &mut Registry) {
        macro_rules! family {
            ($name:literal, $help:literal, $field:expr) => {
                registry.register($name, $help, $field.clone())
            };
        }
        family!(
            "zeebe_log_appender_append_latency_seconds",
            "batch evaluated until written to the log",
            self.append
        );
        family!(
            "zeebe_log_appender_commit_latency_seconds",
            "batch evaluated until committed",
            self.commit
        );
        family!(
            "atomix_journal_flush_time_seconds",
            "flush of the log to the disk",
            self.flush
        );
        family!(
            "skep_stream_processor_evaluation_seconds",
            "evaluation of one command",
            self.evaluation
        );
        family!(
            "zeebe_stream_processor_batch_processing_commands",
            "commands per batch",
            self.batch_commands
        );
        family!(
            "zeebe_snapshot_duration_seconds",
            "taking a checkpoint out of the state",
            self.capture
        );
        family!(
            "zeebe_snapshot_persist_duration_seconds",
            "taking and storing a checkpoint",
            self.checkpoint
        );
        family!(
            "zeebe_snapshot_count",
            "checkpoints stored",
            self.checkpoints
        );
        family!(
            "skep_log_appended_bytes",
            "bytes written to the log",
            self.appended_bytes
        );
        family!(
            "zeebe_broker_jobs_pushed_count",
            "jobs pushed into streams",
            self.pushed
        );
        family!(
            "zeebe_broker_jobs_push_fail_count",
            "jobs whose stream was gone",
            self.push_failed
        );
        family!(
            "zeebe_received_request_count",
            "client commands that reached the partition",
            self.received
        );
        family!(
            "zeebe_dropped_request_count",
            "client commands refused by back-pressure",
            self.dropped
        );
        family!(
            "zeebe_backpressure_inflight_requests_count",
            "accepted commands not yet answered",
            self.inflight
        );
        family!(
            "zeebe_backpressure_requests_limit",
            "how many may be in flight now",
            self.limit
        );
        family!(
            "atomix_role",
            "0 inactive, 1 follower, 2 candidate, 3 leader",
            self.role
        );
        family!(
            "zeebe_health",
            "1 healthy, 0 unhealthy, -1 dead",
            self.health
        );
        family!(
            "zeebe_stream_processor_last_processed_position",
            "newest processed position",
            self.processed_position
        );
        family!(
            "zeebe_log_appender_last_committed_position",
            "newest position committed",
            self.committed_position
        );
        family!(
            "zeebe_log_appender_last_appended_position",
            "newest position written",
            self.appended_position
        );
        family!(
            "zeebe_pending_incidents",
            "open incidents",
            self.pending_incidents
        );
        family!(
            "zeebe_buffered_messages_count",
            "messages buffered",
            self.buffered_messages
        );
        family!(
            "skep_element_instances",
            "live element instances",
            self.element_instances
        );
        family!(
            "skep_jobs_activatable",
            "jobs that wait for a worker",
            self.waiting_jobs
        );
        family!(
            "skep_jobs_activated",
            "jobs with workers",
            self.activated_jobs
        );
        family!(
            "skep_state_resident_bytes",
            "estimated bytes of state in memory",
            self.state_bytes
        );
        family!(
            "zeebe_broker_open_job_stream_count",
            "open job streams",
            self.open_streams
        );
    }
}
