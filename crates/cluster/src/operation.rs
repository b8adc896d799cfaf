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
    /// The node joins the cluster, without partitions.
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
    /// The node gives up its copy of the partition.
    PartitionLeave {
        broker_id: u32,
        partition_id: u32,
        /// All copies are removed with their data: the node does so by itself, and no group decides on it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        purge: bool,
    },
    /// The node empties what partitions share besides their copies. No node has a copy at that time.
    DeleteHistory { broker_id: u32 },
    /// Makes sure that nothing created from now on can be mistaken for purged data.
    UpdateIncarnationNumber,
    /// Restarts the partition on this node, with an empty log and state.
    PartitionBootstrap {
        broker_id: u32,
        partition_id: u32,
        priority: u32,
    },
    /// The first partition tells the others that there should be this many partitions. They exist from then on.
    StartPartitionScaleUp { partition_count: u32 },
    /// The new partitions get what every partition has.
    AwaitRedistribution { partition_count: u32 },
    /// Slots of correlation keys move until they are spread over this many partitions.
    AwaitRelocation { partition_count: u32 },
    /// This many partitions get new instances. New ones among them become active; those above are drained.
    UpdateRoutingState { partition_count: u32 },
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
    /// The name shown to operators.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::BrokerAdd { .. } => "BROKER_ADD",
            Operation::BrokerRemove { .. } => "BROKER_REMOVE",
            Operation::BrokerForceRemove { .. } => "BROKER_FORCE_REMOVE",
            Operation::PartitionJoin { .. } => "PARTITION_JOIN",
            Operation::PartitionLeave { .. } => "PARTITION_LEAVE",
            Operation::DeleteHistory { .. } => "DELETE_HISTORY",
            Operation::UpdateIncarnationNumber => "UPDATE_INCARNATION_NUMBER",
            Operation::PartitionBootstrap { .. } => "PARTITION_BOOTSTRAP",
            Operation::StartPartitionScaleUp { .. } => "START_PARTITION_SCALE_UP",
            Operation::AwaitRedistribution { .. } => "AWAIT_REDISTRIBUTION",
            Operation::AwaitRelocation { .. } => "AWAIT_RELOCATION",
            Operation::UpdateRoutingState { .. } => "UPDATE_ROUTING_STATE",
            Operation::PartitionReconfigurePriority { .. } => "PARTITION_RECONFIGURE_PRIORITY",
            Operation::PartitionForceReconfigure { .. } => "PARTITION_FORCE_RECONFIGURE",
        }
    }

    /// The partition whose leader carries it out.
    pub fn partition(&self) -> Option<u32> {
        match self {
            Operation::PartitionJoin { partition_id, .. }
            | Operation::PartitionLeave {
                partition_id,
                purge: false,
                ..
            }
            | Operation::PartitionForceReconfigure { partition_id, .. } => Some(*partition_id),
            _ => None,
        }
    }

    /// The node that carries it out by itself.
    pub fn node(&self) -> Option<u32> {
        match self {
            Operation::PartitionLeave {
                broker_id,
                purge: true,
                ..
            }
            | Operation::DeleteHistory { broker_id }
            | Operation::PartitionBootstrap { broker_id, .. } => Some(*broker_id),
            _ => None,
        }
    }

    /// The desired number of partitions: the first one has to know it.
    pub fn scales_up_to(&self) -> Option<u32> {
        match self {
            Operation::StartPartitionScaleUp { partition_count }
            | Operation::AwaitRedistribution { partition_count } => Some(*partition_count),
            _ => None,
        }
    }

    /// The number of partitions over which slots of correlation keys are being spread. The node that leads the first partition hears from
    /// the others when that is done.
    pub fn relocates_to(&self) -> Option<u32> {
        match self {
            Operation::AwaitRelocation { partition_count } => Some(*partition_count),
            _ => None,
        }
    }

    /// Whether the node that leads the first partition carries it out.
    pub fn is_of_first_partition(&self) -> bool {
        self.scales_up_to().is_some() || self.relocates_to().is_some()
    }

    /// Whether it concerns the members of the metadata group, whose leader carries it out.
    pub fn is_of_members(&self) -> bool {
        matches!(
            self,
            Operation::BrokerAdd { .. }
                | Operation::BrokerRemove { .. }
                | Operation::BrokerForceRemove { .. }
        )
    }

    /// Whether it only needs to be recorded.
    pub(crate) fn is_done_at_once(&self) -> bool {
        matches!(
            self,
            Operation::PartitionReconfigurePriority { .. }
                | Operation::UpdateIncarnationNumber
                | Operation::UpdateRoutingState { .. }
        )
    }
}
