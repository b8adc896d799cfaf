//! Leased node numbers: which process has which number, decided over objects with conditional writes.
//!
//! A bucket has an object for each number, with a [`Record`]. A [`Claimant`] is one process: it takes a number, renews its lease and gives
//! it back. It does no IO: [`Claimant::next`] says what to do, and [`Claimant::answered`] takes the outcome.
//!
//! The bucket hands out numbers but does not fence: a lease that was not renewed is no proof that its process has died, and nobody loses
//! its number because the bucket is unreachable. What keeps two processes from acting as one node is the data: it is in one directory,
//! named by the record, and a process acts only while it holds the lock of that directory. A number whose data is elsewhere is not taken,
//! or, where the operator allows it, only by a process that can just be added to the cluster, as a new member.

mod claimant;
mod record;
#[cfg(test)]
mod simulation;

pub use claimant::{Answer, Claimant, Do, Ended, Free, Now, Own, Terms};
pub use record::{Record, Tag, UnreadableRecord};
