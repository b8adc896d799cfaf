//! Jobs that are too large for a message to a client.
//!
//! The engine raises an incident for a job that is too large (`MESSAGE_SIZE_EXCEEDED`). This is the last guard, in case a
//! gateway is configured for smaller messages than its broker: a message above the limit would break the client's stream with
//! all jobs on it, again and again.

use std::fmt;

use skep_protocol::command::{Command, FailJob, Request};
use skep_protocol::{Document, Key};

use crate::call::FrontEnd;

/// A job that was taken from the broker and cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooLarge {
    pub key: Key,
    /// Bytes of the job's message.
    pub size: usize,
    /// Bytes that a message may have.
    pub limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "The job {} has {} bytes with the variables that the worker fetches, but a message holds at most {}. It has an \
             incident now. Fetch fewer variables or make them smaller, give the job retries, and resolve the incident; or \
             raise camunda.api.grpc.max-message-size.",
            self.key, self.size, self.limit
        )
    }
}

impl FrontEnd {
    /// Fails the job without retries, so that its incident is noticed, and the job is not offered again and again.
    pub fn refuse(&self, job: &TooLarge) {
        tracing::warn!(code = "JOB_TOO_LARGE", job = %job.key, size = job.size, limit = job.limit, "a job is too large to be sent");
        let fail = FailJob {
            job_key: job.key,
            retries: 0,
            retry_back_off: 0,
            error_message: job.to_string(),
            variables: Document::default(),
        };
        // Nobody needs its answer, but a command without a waiting caller is not carried out. If it does not reach the
        // broker, the job times out and is offered again.
        let reply = self
            .broker
            .execute(Request::internal(Command::FailJob(fail)));
        tokio::spawn(tokio::time::timeout(self.config.request_timeout, reply));
    }
}
