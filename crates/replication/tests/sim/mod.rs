//! A deterministic simulation of a group of three: network, clocks, disks and crashes come from one seed.

pub mod hibernation;
pub mod machine;
pub mod node;
pub mod world;

pub use skep_sim::{Random, agenda, hash, network, oracle};

/// Ways to build a node wrongly. Each must be caught by the checks, or the checks are worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Say that an append is durable when it is only handed to the disk.
    PersistedBeforeFlush,
    /// Answer clients when a proposal is made instead of when it is committed.
    EffectBeforeCommit,
    /// Keep the speculative state after losing leadership.
    KeepSpeculation,
    /// Forget term and vote in a restart.
    ForgetVote,
    /// The disk ignores entries that replace earlier ones.
    IgnoreReplacement,
    /// Write a checkpoint of speculative state before it is committed.
    SpeculativeCheckpoint,
    /// Rest without a look at the nodes of the others.
    WatchNobody,
    /// A member whose disk is lost comes back as the same member.
    LostDiskComesBack,
    /// A member that joins takes itself for a voter from the beginning.
    VotesEarly,
}
