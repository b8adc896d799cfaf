//! Partition-wide and cluster-wide state: exporting, distributions, batch operations, identity and similar.

pub mod batch_operation;
pub mod clock;
pub mod cluster_variable;
pub mod command_distribution;
pub mod exporting;
pub mod identity;
pub mod kept;
pub mod routing;
pub mod scale;
pub mod session;
