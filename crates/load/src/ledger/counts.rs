//! Event counts.

use serde::Serialize;

/// Counts of events; the failures count in the measured time only.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counts {
    /// Instances whose creation was acknowledged.
    pub started: u64,
    /// Instances that completed.
    pub completed: u64,
    /// Creations refused for back-pressure.
    pub start_rejections: u64,
    /// Creations that timed out, at the client or at the server.
    pub start_timeouts: u64,
    /// Creations that failed otherwise.
    pub start_failures: u64,
    /// Jobs received.
    pub jobs_received: u64,
    /// Job completions acknowledged.
    pub jobs_completed: u64,
    /// Jobs received more than once.
    pub duplicates: u64,
    /// Completions that were sent again, for back-pressure or lost answers.
    pub completion_retries: u64,
    /// Completions given up for time-outs or back-pressure.
    pub completion_timeouts: u64,
    /// Completions answered with NOT_FOUND: the job timed out or was cancelled meanwhile.
    pub jobs_gone: u64,
    /// Completions that failed otherwise.
    pub completion_failures: u64,
    /// Times that a job stream or a poll broke.
    pub interruptions: u64,
    /// Instances that took longer than the instance time-out.
    pub lost: u64,
    /// Jobs of instances that this run did not start.
    pub foreign_jobs: u64,
    /// Starts that were due but never sent, because the run ended first. They count in the
    /// latencies with the time they had waited.
    pub unsent: u64,
    /// Instances searched for and not found within their time limit.
    pub not_found: u64,
    /// Searches for instances that failed.
    pub search_failures: u64,
    /// Instances not tracked, for lack of room.
    pub untracked: u64,
}
