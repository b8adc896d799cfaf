//! A deterministic simulation of several partitions on three machines: the real engines, replicas and logs, with the commands that
//! partitions send each other routed as a node routes them.
//!
//! The other simulation checks that replicas of one partition agree. This one checks work that is spread over partitions: messages,
//! signals, deployments, cluster variables. Meanwhile clients search
//! at all machines, and operators add partitions, purge everything, and recover all or some partitions from the copies of one machine.

mod chronicle;
mod clients;
mod ending;
mod faults;
mod hanging;
mod heartbeats;
mod lost_directory;
mod models;
mod operators;
mod purging;
mod reads;
mod recovering;
mod returned;
mod rights;
mod routes;
mod scaling;
mod streams;
mod tally;
#[cfg(test)]
mod tests;
mod world;

use std::cell::Cell;

/// Deliberate mistakes in driving the partitions of a cluster. The checks must catch each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    None,
    /// Make a repeated command look new, so that its receiver carries it out again.
    RepeatsLookNew,
    /// Send a command to another partition when its batch is handed to the disk.
    SendsBeforeCommit,
    /// Schedule the repetition of unanswered commands by the wall clock.
    RetryByWallClock,
    /// Never repeat commands to other partitions.
    NeverRepeated,
    /// Acknowledge a distributed command on its arrival at the node, before the partition has stored it.
    AcknowledgedOnArrival,
    /// The same for changes of users, roles and permissions alone.
    RightsAcknowledgedOnArrival,
    /// Let the last partition permit everything.
    OnePartitionChecksNothing,
    /// Use a local replica's knowledge of the leader after that replica has died.
    LeaderOfLocalHandle,
    /// Let a node whose replica died keep sending heartbeats without reporting it.
    ReplicaDiesNodeLives,
    /// Let a node report a replica whose thread hangs as one that leads.
    HungReplicaLooksAlive,
    /// Take a replica for the leader, without asking, while heartbeats of a majority arrive.
    ReadsBelowWhatWasRead,
    /// Announce a stream when the own connection to a machine is made, and not when that machine's connection is.
    StreamsToldOnce,
    /// Treat a hanging flush as done.
    HangCountsAsFlushed,
    /// Let a leader lead on while its flush hangs.
    FlushHangs,
    /// Start a copy whose directory was lost as the member that it was, with nothing.
    LostPartitionDirectory,
    /// Give new partitions work before they have what every partition has.
    WorkBeforeState,
    /// Report that a slot was taken when its last rows arrive at the node, before the partition has stored them.
    TakenOnArrival,
    /// Never report the end of an instance to the partition that has its correlation key.
    EndsUnheard,
    /// Take a returned job away from whoever has it now.
    AnyReturnCounts,
    /// Carry out commands from before a purge.
    OldCommandsCount,
    /// After a recovery from one copy, assign keys that the lost copies have assigned.
    KeysGivenAgain,
    /// Take the copies of machines that have not reported theirs for lost.
    UnheardCountsAsLost,
}

thread_local! {
    /// Microseconds since the world of this thread began.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The monotonic clock by which engines repeat commands, in nanoseconds.
fn monotonic() -> u64 {
    NOW.get() * 1000
}
