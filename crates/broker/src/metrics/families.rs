//! The metrics that every partition has, one line each.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use skep_metrics::{Bounds, Counter, FINE_BOUNDS, Gauge, Histogram, Measure, Named, RealGauge};

use super::work::WorkMetrics;
use super::{OfGroup, OfPartition, OfSnapshot};

/// Milliseconds; those of the reference.
const INSTANCE_TIME: Bounds = Bounds::milliseconds(&[
    50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 10_000, 15_000, 30_000, 45_000, 60_000,
]);
const JOB_LIFE: Bounds = Bounds::milliseconds(&[
    50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 10_000, 15_000, 30_000, 45_000,
]);
const JOB_ACTIVATION: Bounds = Bounds::milliseconds(&[
    50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 10_000, 15_000, 30_000,
]);
const COMMANDS: Bounds = Bounds::amounts(&[1, 2, 4, 8, 16, 32, 64, 128]);
const RECORDS: Bounds = Bounds::amounts(&[1, 2, 3, 5, 10, 25, 50, 100, 500, 1000]);
/// In thousandths of a KiB.
const KIB: Bounds = Bounds::scaled(
    &[
        256, 512, 1000, 4000, 8000, 32_000, 128_000, 512_000, 1_024_000, 4_096_000,
    ],
    1000.0,
);
/// What is no histogram has none.
const NONE: Bounds = Bounds::amounts(&[]);

macro_rules! families {
    ($($field:ident: $kind:ident<$label:ty> $bounds:ident $name:literal $help:literal;)+) => {
        /// The metrics of all partitions of a node.
        #[derive(Clone, Debug)]
        pub struct BrokerMetrics {
            $($field: <$kind as Measure<$label>>::Family,)+
            pub work: WorkMetrics,
            /// Open job streams of the node.
            pub open_streams: Gauge,
            pub health_nodes: Family<HealthNode, Gauge>,
        }

        /// Handles of one partition's metrics.
        #[derive(Debug)]
        pub struct PartitionMetrics {
            $(#[doc = $help] pub $field: $kind,)+
        }

        impl Default for BrokerMetrics {
            fn default() -> Self {
                BrokerMetrics {
                    $($field: <$kind as Measure<$label>>::family(Named {
                        name: $name,
                        help: $help,
                        bounds: $bounds,
                    }),)+
                    work: WorkMetrics::default(),
                    open_streams: Gauge::default(),
                    health_nodes: Family::default(),
                }
            }
        }

        impl BrokerMetrics {
            pub fn partition(&self, partition: u32) -> PartitionMetrics {
                PartitionMetrics {
                    $($field: <$kind as Measure<$label>>::of(&self.$field, partition.into()),)+
                }
            }

            /// Enters everything under its public name. Counters get `_total` from the text format.
            pub fn register(&self, registry: &mut Registry) {
                $(<$kind as Measure<$label>>::register(
                    &self.$field,
                    Named { name: $name, help: $help, bounds: $bounds },
                    registry,
                );)+
                self.work.register(registry);
                registry.register(
                    "zeebe_broker_open_job_stream_count",
                    "open job streams",
                    self.open_streams.clone(),
                );
                registry.register(
                    "zeebe_broker_health_nodes",
                    "1 healthy, 0 unknown, -1 unhealthy, -2 dead",
                    self.health_nodes.clone(),
                );
            }
        }
    };
}

/// A component in the tree of health.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct HealthNode {
    pub partition: u32,
    pub id: String,
    pub path: String,
}

families! {
    received: Counter<OfPartition> NONE "zeebe_received_request_count" "client commands that reached the partition";
    dropped: Counter<OfPartition> NONE "zeebe_dropped_request_count" "client commands refused by back-pressure";
    abandoned: Counter<OfPartition> NONE "skep_abandoned_requests" "client commands not carried out, as their client had gone before their turn came";
    inflight: Gauge<OfPartition> NONE "zeebe_backpressure_inflight_requests_count" "accepted commands not yet answered";
    limit: Gauge<OfPartition> NONE "zeebe_backpressure_requests_limit" "how many may be in flight now";
    inflight_appends: Gauge<OfPartition> NONE "zeebe_backpressure_inflight_append_count" "batches proposed and not committed";
    append_limit: Gauge<OfPartition> NONE "zeebe_backpressure_append_limit" "how many batches may be proposed and not committed";
    deferred: Counter<OfPartition> NONE "zeebe_deferred_append_count" "batches that the log did not take at once";
    proposed: Counter<OfPartition> NONE "zeebe_try_to_append" "batches offered to the log";

    append: Histogram<OfPartition> FINE_BOUNDS "zeebe_log_appender_append_latency_seconds" "batch evaluated until written to the log";
    commit: Histogram<OfPartition> FINE_BOUNDS "zeebe_log_appender_commit_latency_seconds" "batch evaluated until committed";
    appended_position: Gauge<OfPartition> NONE "zeebe_log_appender_last_appended_position" "newest position written";
    committed_position: Gauge<OfPartition> NONE "zeebe_log_appender_last_committed_position" "newest position committed";
    batch_records: Histogram<OfPartition> RECORDS "zeebe_sequencer_batch_size" "records per committed batch";
    batch_kib: Histogram<OfPartition> KIB "zeebe_sequencer_batch_length_bytes" "KiB per committed batch";
    inbox_wait: Histogram<OfPartition> FINE_BOUNDS "zeebe_stream_processor_latency_seconds" "command accepted until its evaluation starts";
    batch_time: Histogram<OfPartition> FINE_BOUNDS "zeebe_stream_processor_batch_processing_duration_seconds" "first command of a batch until the batch is proposed";
    batch_commands: Histogram<OfPartition> COMMANDS "zeebe_stream_processor_batch_processing_commands" "commands per batch";
    post_commit: Histogram<OfPartition> FINE_BOUNDS "zeebe_stream_processor_batch_processing_post_commit_tasks_seconds" "sending what a committed batch causes outside";
    processed_position: Gauge<OfPartition> NONE "zeebe_stream_processor_last_processed_position" "newest evaluated position";
    processor_state: Gauge<OfPartition> NONE "zeebe_stream_processor_state" "1 active, 0 paused";
    recovery: RealGauge<OfPartition> NONE "zeebe_stream_processor_startup_recovery_time_seconds" "start until leader with everything recovered";
    replayed: Counter<OfPartition> NONE "zeebe_replay_events" "records applied and not evaluated here";

    pending_incidents: Gauge<OfPartition> NONE "zeebe_pending_incidents" "open incidents";
    banned_instances: Gauge<OfPartition> NONE "zeebe_banned_instances" "banned process instances";
    buffered_messages: Gauge<OfPartition> NONE "zeebe_buffered_messages_count" "messages buffered";
    instance_time: Histogram<OfPartition> INSTANCE_TIME "zeebe_process_instance_execution_time_seconds" "start to end of a process instance";
    job_life: Histogram<OfPartition> JOB_LIFE "zeebe_job_life_time_seconds" "creation to end of a job";
    job_activation: Histogram<OfPartition> JOB_ACTIVATION "zeebe_job_activation_time_seconds" "creation to activation of a job";
    element_instances: Gauge<OfPartition> NONE "skep_element_instances" "live element instances";
    waiting_jobs: Gauge<OfPartition> NONE "skep_jobs_activatable" "jobs that wait for a worker";
    activated_jobs: Gauge<OfPartition> NONE "skep_jobs_activated" "jobs with workers";
    state_bytes: Gauge<OfPartition> NONE "skep_state_resident_bytes" "estimated bytes of state in memory";

    role: Gauge<OfGroup> NONE "atomix_role" "0 inactive, 1 follower, 2 candidate, 3 leader";
    committed_entries: Counter<OfGroup> NONE "atomix_commit_entries_rate" "entries committed";
    uncommitted_entries: Gauge<OfGroup> NONE "atomix_non_committed_entries" "entries appended and not committed";
    append_index: Gauge<OfGroup> NONE "atomix_partition_raft_append_index" "newest index appended";
    commit_index: Gauge<OfGroup> NONE "atomix_partition_raft_commit_index" "newest index committed";
    bootstrap: Gauge<OfGroup> NONE "atomix_partition_server_bootstrap_time" "start of the partition in milliseconds";
    compaction: Histogram<OfGroup> FINE_BOUNDS "atomix_compaction_time_ms_seconds" "compaction of the log, ordered until done";

    health: Gauge<OfPartition> NONE "zeebe_health" "1 healthy, 0 unhealthy, -1 dead";

    checkpoints: Counter<OfSnapshot> NONE "zeebe_snapshot_count" "checkpoints stored";
    capture: Histogram<OfSnapshot> FINE_BOUNDS "zeebe_snapshot_duration_seconds" "taking a checkpoint out of the state";
    checkpoint: Histogram<OfSnapshot> FINE_BOUNDS "zeebe_snapshot_persist_duration_seconds" "taking and storing a checkpoint";

    journal_append: Histogram<OfPartition> FINE_BOUNDS "atomix_journal_append_latency_seconds" "writing entries to the log without the flush";
    journal_open: Gauge<OfPartition> NONE "atomix_journal_open_time" "opening the log in milliseconds";
    flush: Histogram<OfPartition> FINE_BOUNDS "atomix_journal_flush_time_seconds" "flush of the log to the disk";
    appended_entries: Counter<OfPartition> NONE "atomix_journal_append_rate" "entries appended";
    appended_kib: Counter<OfPartition> NONE "atomix_journal_append_data_rate" "KiB appended";
    appended_bytes: Counter<OfPartition> NONE "skep_log_appended_bytes" "bytes written to the log";
}
