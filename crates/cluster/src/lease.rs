//! Numbers of nodes by lease: which process has which number, decided over objects with conditional writes.
//!
//! A bucket has an object for each number, with a [`Record`]. A [`Claimant`] is one process: it takes a number, renews its lease and gives it
//! back. It does no IO: [`Claimant::next`] says what to do, and [`Claimant::answered`] hears what came of it.
//!
//! The bucket hands out numbers and does not fence: a lease that was not renewed proves no death, and nobody loses its number because the
//! bucket is away. What keeps two processes from acting as one node is the data: it is in one directory, which its record names, and a process
//! acts only while it holds the lock of that directory. A number whose data is elsewhere is not taken, or, where the operator allows it, by a
//! process that can only be added to the cluster, as a new member.

mod claimant;
mod record;
#[cfg(test)]
mod simulation;

pub use claimant::{Answer, Claimant, Do, Ended, Free, Now, Own, Terms};
pub use record::{Record, Tag, UnreadableRecord};
