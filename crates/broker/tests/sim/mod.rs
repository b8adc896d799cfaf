//! A deterministic simulation of a partition on three nodes: the real engine, replica and log; network, clock, disks,
//! crashes and clients come from one seed.

pub mod clients;
pub mod jobs;
pub mod node;
pub mod store;
pub mod world;

pub use skep_sim::{Random, agenda, hash, network, oracle};

/// Ways to drive a partition wrongly. Each must be caught by the checks, or the checks are worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Say that an append is durable when it is only handed to the disk.
    PersistedBeforeFlush,
    /// Release effects when a batch is proposed instead of when it is committed.
    EffectBeforeCommit,
    /// Rebuild a deposed leader's state without replaying the log behind the checkpoint.
    RebuildWithoutLog,
    /// Store a checkpoint of speculative state before it is committed.
    SpeculativeCheckpoint,
    /// Install a snapshot in the store and go on with an empty state.
    SnapshotWithoutState,
}
