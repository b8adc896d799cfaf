//! SCALE: partitions that are added to a cluster.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScaleValue {
    /// The wanted number of partitions.
    pub desired_partition_count: u32,
    /// The partitions over which correlation keys are spread.
    pub message_correlation_partitions: u32,
    /// The partitions that have received the data that every partition has.
    pub redistributed_partitions: Vec<u32>,
}
