//! A deterministic simulation of several partitions on three machines: the real engines, replicas and logs, with the commands that
//! partitions send each other routed as a node routes them.
//!
//! The other simulation asks whether replicas of one partition agree. This one asks what becomes of work that is spread over
//! partitions: messages, signals, deployments, cluster variables.

mod chronicle;
mod clients;
mod ending;
mod faults;
mod heartbeats;
mod models;
mod routes;
mod tally;
#[cfg(test)]
mod tests;
mod world;

use std::cell::Cell;

/// Ways to drive the partitions of a cluster wrongly. Each must be caught by the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    None,
    /// A command that is repeated looks new, so that its receiver carries it out again.
    RepeatsLookNew,
    /// Send a command to another partition when the batch that leads to it is handed to the disk.
    SendsBeforeCommit,
    /// Look for unanswered commands when the wall clock says so.
    RetryByWallClock,
    /// What was sent to another partition is not sent again.
    NeverRepeated,
    /// A node acknowledges a distributed command on its arrival, before the partition has stored it.
    AcknowledgedOnArrival,
    /// A node goes by what its own replica knows of the leader after that replica has died.
    LeaderOfLocalHandle,
    /// A node whose replica dies does not say so, and goes on giving signs of life.
    ReplicaDiesNodeLives,
    /// A flush that hangs counts as done.
    HangCountsAsFlushed,
}

thread_local! {
    /// Microseconds since the world of this thread began.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The clock by which engines repeat commands: it neither jumps nor goes back. In nanoseconds.
fn monotonic() -> u64 {
    NOW.get() * 1000
}
