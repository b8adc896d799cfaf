//! A deterministic simulation of a group of three: network, clocks, disks and crashes come from one seed.

pub mod machine;
pub mod network;
pub mod node;
pub mod oracle;
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
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |value: u64| {
        sum = (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        sum ^= sum >> 29;
    };
    for part in parts {
        mix(*part);
    }
    for byte in bytes {
        mix(u64::from(*byte));
    }
    sum
}

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
}
