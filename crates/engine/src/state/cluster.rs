//! Partition-wide and cluster-wide state: exporting, distributions, batch operations, identity and similar.

pub mod batch_operations;
pub mod cluster_variables;
pub mod distributions;
pub mod exporting;
pub mod identity;
pub mod kept;
pub mod scaling;
pub mod sessions;
pub mod slots;
