//! What belongs to the partition as a whole, or to all partitions.

pub mod batch_operations;
pub mod cluster_variables;
pub mod distributions;
pub mod exporting;
pub mod identity;
pub mod scaling;
pub mod sessions;
