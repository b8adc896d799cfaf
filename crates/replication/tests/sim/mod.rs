//! A deterministic simulation of a group of three: network, clocks, disks and crashes come from one seed.

pub mod hibernation;
pub mod machine;
pub mod node;
pub mod world;

pub use skep_random::Random;
pub use skep_sim::{agenda, hash, network, oracle};

/// Deliberate mistakes in building a node. The checks must catch each of them, otherwise they are worthless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Report an append as durable when it is only handed to the disk.
    PersistedBeforeFlush,
    /// Answer clients when a proposal is made instead of when it is committed.
    EffectBeforeCommit,
    /// Keep the speculative state after losing leadership.
    KeepSpeculation,
    /// Forget term and vote in a restart.
    ForgetVote,
    /// Ignore entries that replace earlier ones on disk.
    IgnoreReplacement,
    /// Write a checkpoint of speculative state before it is committed.
    SpeculativeCheckpoint,
    /// Hibernate without watching the nodes of the others.
    WatchNobody,
    /// Let a member whose disk is lost return as the same member.
    LostDiskComesBack,
    /// Let a joining member consider itself a voter from the beginning.
    VotesEarly,
}
