//! The metrics of a broker, one line each.

use std::sync::Arc;

use skep_exporting::ExportMetrics;
use skep_metrics::{Bounds, Counter, Family, Gauge, Histogram, RealCounter, RealGauge, Registry};
use skep_metrics::{Declared, labels, metrics};

use super::backups::BackupFamilies;
use super::batch_operations::BatchFamilies;
use super::changes::ChangeFamilies;
use super::nodes::{GROUP, MessagingFamilies, ReplicationFamilies, TRANSFER_TIME};
use super::work::WorkMetrics;

/// Bounds in milliseconds, those of the reference.
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
/// Bounds in thousandths of a KiB.
const KIB: Bounds = Bounds::scaled(
    &[
        256, 512, 1000, 4000, 8000, 32_000, 128_000, 512_000, 1_024_000, 4_096_000,
    ],
    1000.0,
);
const VARIABLE_SIZE: Bounds = Bounds::amounts(&[
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 2_097_152,
]);

labels! {
    pub struct OfPartition { pub partition: u32 }
    pub struct OfGroup { partition: u32, partitionGroupName: &'static str }
    pub struct OfSnapshot { partition: u32, bootstrap: bool }
    /// A component in the health tree.
    pub struct HealthNode { pub partition: u32, pub id: String, pub path: String }

    pub(super) struct RecordLabels { pub(super) partition: u32, pub(super) recordType: &'static str, pub(super) valueType: &'static str, pub(super) intent: &'static str }
    pub(super) struct CommandLabels { pub(super) partition: u32, pub(super) valueType: &'static str, pub(super) intent: &'static str }
    pub(super) struct ElementLabels { pub(super) partition: u32, pub(super) action: &'static str, pub(super) r#type: &'static str, pub(super) eventType: &'static str }
    pub(super) struct InstanceLabels { pub(super) partition: u32, pub(super) action: &'static str, pub(super) r#type: &'static str, pub(super) organizationId: &'static str }
    pub(super) struct JobLabels { pub(super) partition: u32, pub(super) action: &'static str, pub(super) r#type: Arc<str>, pub(super) job_kind: &'static str }
    pub(super) struct ActionLabels { pub(super) partition: u32, pub(super) action: &'static str }
    pub(super) struct DecisionLabels { pub(super) partition: u32, pub(super) action: &'static str, pub(super) organizationId: &'static str }
    pub(super) struct CreationLabels { pub(super) partition: u32, pub(super) creation_mode: &'static str }
    pub(super) struct FlowLabels { pub(super) partition: u32, pub(super) context: &'static str, pub(super) outcome: &'static str }
    pub(super) struct CacheLabels { pub(super) partition: u32, pub(super) r#type: &'static str, pub(super) exporterId: &'static str }
    pub(super) struct VariableLabels { pub(super) bpmnProcessId: Arc<str> }
    pub(super) struct TargetLabels { pub(super) targetPartition: u32 }
    pub(super) struct CodeLabels { pub(super) code: &'static str }
}

impl From<u32> for OfPartition {
    fn from(partition: u32) -> Self {
        OfPartition { partition }
    }
}

impl From<u32> for OfGroup {
    fn from(partition: u32) -> Self {
        OfGroup {
            partition,
            partitionGroupName: GROUP,
        }
    }
}

impl From<u32> for OfSnapshot {
    fn from(partition: u32) -> Self {
        OfSnapshot {
            partition,
            bootstrap: false,
        }
    }
}

metrics! {
    /// Metrics that exist once per partition.
    pub struct PartitionFamilies,
    /// One partition's metrics.
    handles PartitionMetrics of u32 {
        received: Family<OfPartition, Counter> = "zeebe_received_request_count", "client commands that reached the partition";
        dropped: Family<OfPartition, Counter> = "zeebe_dropped_request_count", "client commands rejected by back-pressure";
        abandoned: Family<OfPartition, Counter> = "skep_abandoned_requests", "client commands not executed because the client disconnected while they were queued";
        inflight: Family<OfPartition, Gauge> = "zeebe_backpressure_inflight_requests_count", "accepted commands not yet answered";
        limit: Family<OfPartition, Gauge> = "zeebe_backpressure_requests_limit", "current limit of commands in flight";
        inflight_appends: Family<OfPartition, Gauge> = "zeebe_backpressure_inflight_append_count", "batches proposed but not committed";
        append_limit: Family<OfPartition, Gauge> = "zeebe_backpressure_append_limit", "limit of batches proposed but not committed";
        deferred: Family<OfPartition, Counter> = "zeebe_deferred_append_count", "batches that the log did not accept immediately";
        proposed: Family<OfPartition, Counter> = "zeebe_try_to_append", "batches offered to the log";

        partition_load: Family<OfPartition, RealGauge> = "zeebe_flow_control_partition_load", "records written per second, as a share of the limit";
        write_limit: Family<OfPartition, Gauge> = "zeebe_flow_control_write_rate_limit", "current limit of records written per second; -1 without a limit";
        write_maximum: Family<OfPartition, Gauge> = "zeebe_flow_control_write_rate_maximum", "configured limit of records written per second; -1 without one";
        exporting_rate: Family<OfPartition, Gauge> = "zeebe_flow_control_exporting_rate", "records per second that the slowest exporter processes";
        exporter_state: Family<OfPartition, Gauge> = "zeebe_exporter_state", "0 exporting, 1 paused, 2 soft paused, 3 closed";

        append: Family<OfPartition, Histogram> = "zeebe_log_appender_append_latency_seconds", "time from the evaluation of a batch until it is written to the log";
        commit: Family<OfPartition, Histogram> = "zeebe_log_appender_commit_latency_seconds", "time from the evaluation of a batch until it is committed";
        appended_position: Family<OfPartition, Gauge> = "zeebe_log_appender_last_appended_position", "last position written";
        committed_position: Family<OfPartition, Gauge> = "zeebe_log_appender_last_committed_position", "last position committed";
        batch_records: Family<OfPartition, Histogram> = "zeebe_sequencer_batch_size", "records per committed batch", RECORDS;
        batch_kib: Family<OfPartition, Histogram> = "zeebe_sequencer_batch_length_bytes", "size of committed batches in KiB", KIB;
        inbox_wait: Family<OfPartition, Histogram> = "zeebe_stream_processor_latency_seconds", "time from accepting a command until its evaluation starts";
        batch_time: Family<OfPartition, Histogram> = "zeebe_stream_processor_batch_processing_duration_seconds", "time from the first command of a batch until the batch is proposed";
        batch_commands: Family<OfPartition, Histogram> = "zeebe_stream_processor_batch_processing_commands", "commands per batch", COMMANDS;
        post_commit: Family<OfPartition, Histogram> = "zeebe_stream_processor_batch_processing_post_commit_tasks_seconds", "time to send what a committed batch triggers outside the partition";
        processed_position: Family<OfPartition, Gauge> = "zeebe_stream_processor_last_processed_position", "last position evaluated";
        processor_state: Family<OfPartition, Gauge> = "zeebe_stream_processor_state", "1 active, 0 paused";
        recovery: Family<OfPartition, RealGauge> = "zeebe_stream_processor_startup_recovery_time_seconds", "time from the start until the partition is leader and fully recovered";
        replayed: Family<OfPartition, Counter> = "zeebe_replay_events", "records applied without being evaluated on this node";

        pending_incidents: Family<OfPartition, Gauge> = "zeebe_pending_incidents", "open incidents";
        banned_instances: Family<OfPartition, Gauge> = "zeebe_banned_instances", "banned process instances";
        buffered_messages: Family<OfPartition, Gauge> = "zeebe_buffered_messages_count", "buffered messages";
        instance_time: Family<OfPartition, Histogram> = "zeebe_process_instance_execution_time_seconds", "time from start to end of a process instance", INSTANCE_TIME;
        job_life: Family<OfPartition, Histogram> = "zeebe_job_life_time_seconds", "time from creation to end of a job", JOB_LIFE;
        job_activation: Family<OfPartition, Histogram> = "zeebe_job_activation_time_seconds", "time from creation to activation of a job", JOB_ACTIVATION;
        element_instances: Family<OfPartition, Gauge> = "skep_element_instances", "live element instances";
        waiting_jobs: Family<OfPartition, Gauge> = "skep_jobs_activatable", "jobs waiting for a worker";
        activated_jobs: Family<OfPartition, Gauge> = "skep_jobs_activated", "jobs held by workers";
        stored_bytes: Family<OfPartition, Gauge> = "skep_secondary_storage_bytes", "size of the embedded store's files in bytes";
        cpu: Family<OfPartition, RealCounter> = "skep_partition_cpu_seconds", "CPU time taken by the partition's thread";
        slots_to_move: Family<OfPartition, Gauge> = "skep_slots_to_move", "slots of correlation keys that are to move to another partition";
        state_bytes: Family<OfPartition, Gauge> = "skep_state_resident_bytes", "estimated size of the state in memory in bytes";

        role: Family<OfGroup, Gauge> = "atomix_role", "0 inactive, 1 follower, 2 candidate, 3 leader";
        committed_entries: Family<OfGroup, Counter> = "atomix_commit_entries_rate", "entries committed";
        uncommitted_entries: Family<OfGroup, Gauge> = "atomix_non_committed_entries", "entries appended but not committed";
        append_index: Family<OfGroup, Gauge> = "atomix_partition_raft_append_index", "last index appended";
        commit_index: Family<OfGroup, Gauge> = "atomix_partition_raft_commit_index", "last index committed";
        bootstrap: Family<OfGroup, Gauge> = "atomix_partition_server_bootstrap_time", "time to start the partition, in milliseconds";
        heartbeat_time: Family<OfGroup, Histogram> = "atomix_heartbeat_time_in_s_seconds", "time between two messages from the leader";
        heartbeat_misses: Family<OfGroup, Counter> = "atomix_heartbeat_miss_count", "intervals without a message from the leader";
        election: Family<OfGroup, Gauge> = "atomix_election_latency_in_ms", "duration of the last election that this node won, in milliseconds";
        incoming_snapshots: Family<OfGroup, Gauge> = "atomix_snapshot_replication_count", "snapshots being received from other nodes";
        snapshot_time: Family<OfGroup, Gauge> = "atomix_snapshot_replication_duration_milliseconds", "duration of the last snapshot transfer, in milliseconds";
        transition: Family<OfPartition, RealGauge> = "zeebe_leader_transition_latency_seconds", "time from winning the election until ready to serve";
        snapshot_transfer: Family<OfSnapshot, Histogram> = "zeebe_snapshot_transfer_duration_seconds", "time to receive a snapshot from another node, from its first part to its last", TRANSFER_TIME;
        compaction: Family<OfGroup, Histogram> = "atomix_compaction_time_ms_seconds", "time from the request to compact the log until it is done";

        health: Family<OfPartition, Gauge> = "zeebe_health", "1 healthy, 0 unhealthy, -1 dead";

        checkpoints: Family<OfSnapshot, Counter> = "zeebe_snapshot_count", "checkpoints stored";
        capture: Family<OfSnapshot, Histogram> = "zeebe_snapshot_duration_seconds", "time to capture a checkpoint of the state";
        checkpoint: Family<OfSnapshot, Histogram> = "zeebe_snapshot_persist_duration_seconds", "time to capture and store a checkpoint";

        journal_append: Family<OfPartition, Histogram> = "atomix_journal_append_latency_seconds", "time to write entries to the log, without the flush";
        journal_open: Family<OfPartition, Gauge> = "atomix_journal_open_time", "time to open the log, in milliseconds";
        flush: Family<OfPartition, Histogram> = "atomix_journal_flush_time_seconds", "time to flush the log to disk";
        appended_entries: Family<OfPartition, Counter> = "atomix_journal_append_rate", "entries appended";
        appended_kib: Family<OfPartition, Counter> = "atomix_journal_append_data_rate", "KiB appended";
        appended_bytes: Family<OfPartition, Counter> = "skep_log_appended_bytes", "bytes written to the log";
    }
}

metrics! {
    /// Metrics with more labels than the partition, or none.
    pub struct WorkFamilies {
        pub(super) flow: Family<FlowLabels, Counter> = "zeebe_flow_control", "requests offered to flow control, by context and outcome";
        pub(super) appended: Family<RecordLabels, Counter> = "zeebe_log_appender_record_appended", "records written and committed";
        pub(super) processing: Family<CommandLabels, Histogram> = "zeebe_stream_processor_processing_duration_seconds", "time to evaluate one command";
        pub(super) records: Family<ActionLabels, Counter> = "zeebe_stream_processor_records", "records of the partition, by action";
        pub(super) creations: Family<CreationLabels, Counter> = "zeebe_process_instance_creations", "root instances created by command";
        pub(super) instances: Family<InstanceLabels, Counter> = "zeebe_executed_instances", "root instances by life-cycle event";
        pub(super) elements: Family<ElementLabels, Counter> = "zeebe_element_instance_events", "element instances by life-cycle event";
        pub(super) jobs: Family<JobLabels, Counter> = "zeebe_job_events", "jobs by event";
        pub(super) incidents: Family<ActionLabels, Counter> = "zeebe_incident_events", "incidents by event";
        pub(super) decisions: Family<DecisionLabels, Counter> = "zeebe_evaluated_dmn_elements", "evaluated decisions";
        pub(super) cached: Family<CacheLabels, Gauge> = "zeebe_execution_latency_current_cached_instances", "start times cached to measure durations";
        pub(super) variable_size: Family<VariableLabels, Histogram> = "zeebe_variable_created_size", "size of created variables in bytes", VARIABLE_SIZE;
        pub(super) push_tries: Family<CodeLabels, Counter> = "zeebe_broker_jobs_fail_try_count", "failed attempts to push a job";
        pub(super) pushed: Counter = "zeebe_broker_jobs_pushed_count", "jobs pushed to streams";
        pub(super) push_failed: Counter = "zeebe_broker_jobs_push_fail_count", "jobs that were not pushed because the stream was gone";
        pub(super) distributions: Counter = "zeebe_command_distributions", "commands distributed to other partitions";
        pub(super) acknowledged: Family<TargetLabels, Counter> = "zeebe_command_distributions_acknowledged_received", "acknowledgements received";
        pub(super) acknowledged_sent: Family<TargetLabels, Counter> = "zeebe_command_distributions_acknowledged_sent", "acknowledgements sent";
        pub(super) distributions_pending: Family<TargetLabels, Gauge> = "zeebe_command_distributions_pending", "distributed commands not yet acknowledged";
        pub(super) distributions_inflight: Family<TargetLabels, Gauge> = "zeebe_command_distributions_inflight", "distributed commands sent but not yet acknowledged";
        pub(super) distribution_retries: Family<TargetLabels, Counter> = "zeebe_command_distributions_inflight_retries", "distributed commands sent again";
        pub(super) distributions_active: Gauge = "zeebe_command_distributions_active", "distributions not yet finished";
    }
}

metrics! {
    /// Metrics of the node.
    pub struct NodeMetrics {
        pub open_streams: Gauge = "zeebe_broker_open_job_stream_count", "open job streams";
        pub health_nodes: Family<HealthNode, Gauge> = "zeebe_broker_health_nodes", "1 healthy, 0 unknown, -1 unhealthy, -2 dead";
    }
}

/// The metrics of all partitions of a node.
#[derive(Clone, Debug, Default)]
pub struct BrokerMetrics {
    partitions: PartitionFamilies,
    pub work: WorkMetrics,
    pub node: NodeMetrics,
    pub exporting: ExportMetrics,
    pub replication: ReplicationFamilies,
    pub messaging: MessagingFamilies,
    pub backups: BackupFamilies,
    pub changes: ChangeFamilies,
}

impl BrokerMetrics {
    /// All declared metrics.
    pub fn declared() -> impl Iterator<Item = &'static Declared> {
        let partitions = PartitionFamilies::DECLARED.iter();
        partitions
            .chain(WorkFamilies::DECLARED)
            .chain(NodeMetrics::DECLARED)
            .chain(BatchFamilies::DECLARED)
            .chain(ExportMetrics::declared())
            .chain(ReplicationFamilies::DECLARED)
            .chain(MessagingFamilies::DECLARED)
            .chain(BackupFamilies::DECLARED)
            .chain(ChangeFamilies::DECLARED)
    }

    pub fn partition(&self, partition: u32) -> PartitionMetrics {
        self.partitions.of(partition)
    }

    /// Registers all metrics under their public names.
    pub fn register(&self, registry: &mut Registry) {
        self.partitions.register(registry);
        self.work.register(registry);
        self.node.register(registry);
        self.exporting.register(registry);
        self.replication.register(registry);
        self.messaging.register(registry);
        self.backups.register(registry);
        self.changes.register(registry);
    }
}
