//! The steps of a change.

use serde::{Deserialize, Serialize};

/// One step. Steps are carried out one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "operation",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub enum Operation {
    /// The node becomes one of the cluster, without partitions.
    BrokerAdd { broker_id: u32 },
    /// The node leaves the cluster. It has no partitions any more.
    BrokerRemove { broker_id: u32 },
    /// The same for a node that is lost.
    BrokerForceRemove { broker_id: u32 },
    /// The node gets a copy of the partition.
    PartitionJoin {
        broker_id: u32,
        partition_id: u32,
        priority: u32,
    },
    /// The node gives its copy of the partition up.
    PartitionLeave { broker_id: u32, partition_id: u32 },
    PartitionReconfigurePriority {
        broker_id: u32,
        partition_id: u32,
        priority: u32,
    },
    /// Only these nodes have copies of the partition from now on; the others are lost.
    PartitionForceReconfigure {
        partition_id: u32,
        brokers: Vec<u32>,
    },
}

impl Operation {
    /// As operators read it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::BrokerAdd { .. } => "BROKER_ADD",
            Operation::BrokerRemove { .. } => "BROKER_REMOVE",
            Operation::BrokerForceRemove { .. } => "BROKER_FORCE_REMOVE",
            Operation::PartitionJoin { .. } => "PARTITION_JOIN",
            Operation::PartitionLeave { .. } => "PARTITION_LEAVE",
            Operation::PartitionReconfigurePriority { .. } => "PARTITION_RECONFIGURE_PRIORITY",
            Operation::PartitionForceReconfigure { .. } => "PARTITION_FORCE_RECONFIGURE",
        }
    }

    /// The partition whose leader carries it out; `None`: the leader of the cluster's own group does.
    pub fn partition(&self) -> Option<u32> {
        match self {
            Operation::PartitionJoin { partition_id, .. }
            | Operation::PartitionLeave { partition_id, .. }
            | Operation::PartitionForceReconfigure { partition_id, .. } => Some(*partition_id),
            _ => None,
        }
    }

    /// Nothing has to be done but to note it.
    pub(crate) fn is_done_at_once(&self) -> bool {
        matches!(self, Operation::PartitionReconfigurePriority { .. })
    }
}
