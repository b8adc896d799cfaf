//! Shared parts of random tests: the choice of seeds, and of what happens next. Also of simulations of several nodes (feature
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
