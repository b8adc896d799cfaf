//! Shared parts of random tests: randomness from a seed, and the choice of seeds. Also of simulations of several nodes (feature
//! `cluster`): an unreliable network, and an oracle that checks invariants. And of benchmarks (feature `one-task`). Only tests
//! and examples depend on this crate.

pub mod agenda;
#[cfg(feature = "cluster")]
pub mod network;
#[cfg(feature = "one-task")]
pub mod one_task;
#[cfg(feature = "cluster")]
pub mod oracle;
mod seeds;

pub use seeds::{chosen, each, fresh, number, search};

/// The only source of randomness. The same seed gives the same run.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// A random number less than `bound`.
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
