//! Metrics between nodes: of replicas, and of requests that another node carries out.

use skep_metrics::{Bounds, Counter, Family, Gauge, Histogram, Unlabelled, labels, metrics};

/// Bounds in thousandths of a KiB.
const KIB: Bounds = Bounds::scaled(
    &[
        10, 100, 250, 1000, 10_000, 100_000, 500_000, 1_000_000, 2_000_000, 4_000_000,
    ],
    1000.0,
);
const TRANSFER: Bounds = Bounds::milliseconds(&[50, 250, 500, 1000, 5000, 15_000, 1_800_000]);
const PAUSE: Bounds = Bounds::milliseconds(&[
    100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, 20_000, 30_000, 60_000,
]);

/// The reference's name for the group of all partitions.
pub const GROUP: &str = "raft-partition";

labels! {
    pub struct OfFollower { pub partition: u32, pub follower: String, pub partitionGroupName: &'static str }
    pub struct OfSent { pub partition: u32, pub to: String, pub r#type: &'static str, pub partitionGroupName: &'static str }
    pub struct OfReceived { pub partition: u32, pub r#type: &'static str, pub partitionGroupName: &'static str }
    pub struct OfTopic { pub topic: String }
    pub struct OfAddress { pub address: String, pub topic: String }
    pub struct OfRequest { pub r#type: &'static str, pub address: String, pub topic: String }
    pub struct OfAnswer { pub address: String, pub topic: String, pub outcome: &'static str }
}

metrics! {
    /// Metrics between the replicas of a partition.
    pub struct ReplicationFamilies {
        pub append_latency: Family<OfFollower, Histogram> = "atomix_append_entries_latency_seconds", "time from sending entries until the follower has them on disk";
        pub appended: Family<OfFollower, Counter> = "atomix_append_entries_rate", "entries sent to a follower";
        pub appended_kib: Family<OfFollower, Counter> = "atomix_append_entries_data_rate", "KiB sent to a follower";
        pub lacking: Family<OfFollower, Gauge> = "atomix_non_replicated_entries", "entries that a follower does not have yet";
        pub sent: Family<OfSent, Counter> = "atomix_raft_messages_send", "requests sent to other replicas";
        pub received: Family<OfReceived, Counter> = "atomix_raft_messages_received", "requests received from other replicas";
        pub paused: Gauge = "zeebe_cluster_rebalance_partition_paused", "partitions that accept no new work because their leader is about to move to another node";
        pub pause: Family<Unlabelled, Histogram> = "zeebe_cluster_rebalance_partition_pause_duration_seconds", "time a partition accepted no new work because of a change of its leader", PAUSE;
    }
}

metrics! {
    /// Metrics of requests that other nodes carry out.
    pub struct MessagingFamilies {
        pub latency: Family<OfTopic, Histogram> = "zeebe_messaging_request_response_latency_seconds", "time from a request to another node until its response";
        pub size: Family<OfAddress, Histogram> = "zeebe_messaging_request_size_kb", "size of requests in KiB", KIB;
        pub requests: Family<OfRequest, Counter> = "zeebe_messaging_request_count", "requests to other nodes";
        pub responses: Family<OfAnswer, Counter> = "zeebe_messaging_response_count", "responses of other nodes";
        pub inflight: Family<OfAddress, Gauge> = "zeebe_messaging_inflight_requests", "requests to other nodes without a response yet";
    }
}

/// Bounds of the transfer of a snapshot.
pub const TRANSFER_TIME: Bounds = TRANSFER;

impl OfFollower {
    pub fn new(partition: u32, node: u64) -> OfFollower {
        OfFollower {
            partition,
            follower: node.to_string(),
            partitionGroupName: GROUP,
        }
    }
}

impl OfSent {
    pub fn new(partition: u32, node: u64, r#type: &'static str) -> OfSent {
        OfSent {
            partition,
            to: node.to_string(),
            r#type,
            partitionGroupName: GROUP,
        }
    }
}
