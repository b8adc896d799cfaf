//! A deterministic simulation of a cluster with one partition: the real engine, replica and log, and the real member of the
//! metadata group; network, clock, disks, crashes, clients and operators come from one seed.

pub mod changes;
pub mod clients;
pub mod directories;
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

pub use skep_random::Random;
pub use skep_sim::{agenda, hash, network, oracle};

/// Deliberate mistakes in driving a partition. The checks must catch each of them, otherwise they are worthless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Report an append as durable when it is only handed to the disk.
    PersistedBeforeFlush,
    /// Release effects when a batch is proposed instead of when it is committed.
    EffectBeforeCommit,
    /// Let a deposed leader keep its proposals.
    StepDownWithoutUndo,
    /// Rebuild a deposed leader's state without replaying the log behind the checkpoint.
    RebuildWithoutLog,
    /// Store a checkpoint of speculative state before it is committed.
    SpeculativeCheckpoint,
    /// Install a snapshot in the store, but continue with an empty state.
    SnapshotWithoutState,
    /// Publish the directory of a leader's state, although changes in it are not committed.
    PublishesProposals,
    /// Compare versions of directories although the state was replaced in between.
    VersionsAcrossStates,
    /// Count a removed member: its removal is recorded before it takes effect.
    RemovedStillCounts,
    /// Remove a replica from its disk when it is to leave, not when it has left.
    GivesUpEarly,
    /// Act on a change before it is agreed on.
    ChangesEarly,
    /// Let a leader with an outdated state of the cluster carry out that state.
    OldPlans,
}
