//! A deterministic simulation of a partition on three nodes: the real engine, replica and log; network, clock, disks,
//! crashes and clients come from one seed.

pub mod clients;
#[path = "../../../replication/tests/sim/network.rs"]
pub mod network;
pub mod node;
#[path = "../../../replication/tests/sim/oracle.rs"]
pub mod oracle;
pub mod store;
pub mod world;

/// The one source of chance. The same seed gives the same run.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// A number less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// A mixing hash, the same on every machine.
pub fn hash(parts: &[u64], bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    #[expect(
        deprecated,
        reason = "the one hasher of the library with a fixed algorithm"
    )]
    let mut sum = std::hash::SipHasher::new();
    for part in parts {
        sum.write_u64(*part);
    }
    sum.write(bytes);
    sum.finish()
}

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
