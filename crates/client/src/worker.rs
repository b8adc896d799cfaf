//! A job worker: takes jobs as they are pushed or polled, runs a handler, reports the outcome.

mod builder;
mod feed;
mod finish;
mod run;

pub use builder::{Delivery, WorkerBuilder};
pub use finish::{Finished, Outcome, OutcomeKind};
pub use run::{Worker, WorkerSummary};

use crate::{Error, Job};

/// Observes the events of a worker; all methods are called from the worker's task and must not
/// block.
pub trait WorkerObserver: Send + Sync {
    /// A job arrived and its handler is about to run.
    fn received(&self, _job: &Job) {}

    /// The outcome of a job was acknowledged or given up.
    fn finished(&self, _finished: &Finished<'_>) {}

    /// The stream or a poll failed; the worker pauses and tries again.
    fn interrupted(&self, _error: &Error) {}
}

/// An observer that ignores everything.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl WorkerObserver for Unobserved {}
