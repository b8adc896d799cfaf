//! The hook for spans: told of each command that the broker answered. Nothing is done without a listener.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use crate::metrics::{Protocol, STAGES};

/// A command and where its time went.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpan {
    pub protocol: Protocol,
    /// For instance `JOB#COMPLETE`.
    pub request_type: &'static str,
    /// When its head was read.
    pub started: Instant,
    pub duration: Duration,
    /// Nanoseconds by the stages of [`STAGES`]; writing the answer is not part of it.
    pub stages: [u64; STAGES.len()],
    /// What it was refused or failed with.
    pub failure: Option<&'static str>,
}

/// Takes spans. Called on the threads of the gateways: it must not block.
pub trait SpanListener: Debug + Send + Sync {
    fn answered(&self, span: &RequestSpan);
}
