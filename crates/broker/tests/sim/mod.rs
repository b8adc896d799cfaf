//! A deterministic simulation of a cluster with one partition: the real engine, replica and log, and the real member of the
//! metadata group; network, clock, disks, crashes, clients and operators come from one seed.

pub mod changes;
pub mod clients;
pub mod faults;
pub mod host;
pub mod jobs;
pub mod lost;
pub mod metadata;
pub mod node;
pub mod old_plans;
pub mod operators;
pub mod paused;
pub mod several;
pub mod store;
pub mod tally;
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
    /// Let a deposed leader keep what it has proposed.
    StepDownWithoutUndo,
    /// Rebuild a deposed leader's state without replaying the log behind the checkpoint.
    RebuildWithoutLog,
    /// Store a checkpoint of speculative state before it is committed.
    SpeculativeCheckpoint,
    /// Install a snapshot in the store and go on with an empty state.
    SnapshotWithoutState,
    /// A member that was removed still counts: its removal is noted before it is one.
    RemovedStillCounts,
    /// A replica is removed from its disk when it is to leave, not when it has left.
    GivesUpEarly,
    /// A node goes by a change that it hears of, before that is agreed on.
    ChangesEarly,
    /// A leader that knows an old state of the cluster carries out what that says.
    OldPlans,
}
