//! The cluster's own state: its nodes, the owners of partitions, and the change in progress.
//!
//! A Raft group with a voter on each node holds the [`State`]. Its entries are [`Entry`]s; nodes that apply the same entries have the same
//! state. This crate decides and remembers, but carries out nothing: nodes read [`State::next_operation`], do the operations that concern
//! them, and report with [`Entry::Done`]. So a change continues after a restart of any node, and can be given up at any time.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod apply;
mod layout;
mod leaders;
pub mod lease;
mod operation;
mod plan;
mod purge;
mod relief;
mod restored;
mod state;
#[cfg(test)]
mod testing;
mod unsafe_recovery;

pub use apply::Entry;
pub use layout::{Layout, generation, member, node_of};
pub use operation::Operation;
pub use plan::{Planned, Refusal, Request};
pub use purge::{KeptExporting, Left, Purge};
pub use relief::{CopyLoad, Move, Relief, View};
pub use restored::{EPOCHS_OF_A_RESTORE, next_restore, restore_of};
pub use state::{
    Finished, Node, NodeState, Outcome, Replica, ReplicaState, Running, Scaled, State,
};
pub use unsafe_recovery::{GoesOn, SurvivingCopy, Survivor, UnsafeRecovery, plan_unsafe_recovery};

/// Maximum number of nodes in a cluster: each has a vote in the group that holds its state.
pub const MAX_NODES: usize = 7;
/// Maximum number of partitions in a cluster.
pub const MAX_PARTITIONS: u32 = 1024;
/// The greatest possible node number.
pub const MAX_NODE_ID: u32 = 31;
/// Gateways have numbers above those of nodes that can have partitions.
pub const FIRST_GATEWAY: u32 = MAX_NODE_ID + 1;
/// Maximum number of gateways in a cluster.
pub const MAX_GATEWAYS: u32 = 32;

/// Whether this is the number of a gateway: a node that never has a partition, and takes no part in the cluster's decisions.
pub fn is_gateway(node: u32) -> bool {
    node >= FIRST_GATEWAY
}
