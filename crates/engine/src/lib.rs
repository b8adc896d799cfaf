//! The deterministic state machine: commands in, events and effects out.
//!
//! The leader calls [`Engine::process`]: a processor checks a command against the state and emits events; each event is
//! written to the batch and applied to the state by the same applier that followers and recovery use ([`Engine::apply`]).
//! So state after replay equals state after processing, by construction and by test.
//!
//! There is no IO, no clock, no thread and no randomness here: time comes with each call, rows that are not in memory are
//! read through [`state::RowStore`], and everything that must leave the node is returned as [`Effects`] for the broker to
//! release once the batch is committed.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod appliers;
mod dispatch;
mod due;
mod effects;
mod engine;
mod evaluation;
mod headers;
mod noted;
mod oldest_node;
mod prepared;
mod processing;
mod record_names;
pub mod remote;

pub use appliers::state;

pub use effects::{
    Effects, JobStreams, JobsAvailable, NoStreams, Pushed, RequestId, Reservation, StreamId,
};
pub use engine::{Due, Engine, EngineConfig, IdentityConfig, TurnTime};
pub use evaluation::Evaluation;
pub use noted::{Note, Noted, NotedBatch, NotedElement};
pub use oldest_node::OldestNode;
pub use prepared::Prepared;
pub use processing::banning::Ban;
pub use processing::batch_operation;
pub use processing::not_found::key_not_found;
pub use processing::slots::Place;
pub use record_names::RecordNames;
pub use remote::{RemoteCommand, RoutingCommand, ScalingCommand, Sent};
