//! How a worker is set up.

use std::{sync::Arc, time::Duration};

use super::{Outcome, Unobserved, Worker, WorkerObserver};
use crate::{Client, Job, RetryPolicy};

/// How jobs come to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// The server pushes them on a stream. Over REST only Skep has streams; with other servers
    /// choose [`Poll`](Self::Poll) there.
    #[default]
    Push,
    /// The worker asks for them (long polling).
    Poll,
    /// A stream, and a poll now and then for jobs that were there before the stream.
    PushAndPoll,
}

/// Sets up a [`Worker`].
#[derive(Clone)]
pub struct WorkerBuilder {
    pub(super) client: Client,
    pub(super) job_type: String,
    pub(super) name: String,
    pub(super) max_jobs: usize,
    pub(super) timeout: Duration,
    pub(super) fetch_variables: Vec<String>,
    pub(super) tenant_ids: Vec<String>,
    pub(super) delivery: Delivery,
    pub(super) long_poll: Duration,
    pub(super) poll_pause: Duration,
    pub(super) retry: RetryPolicy,
    pub(super) grace: Duration,
    pub(super) observer: Arc<dyn WorkerObserver>,
}

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("job_type", &self.job_type)
            .field("name", &self.name)
            .field("max_jobs", &self.max_jobs)
            .field("delivery", &self.delivery)
            .finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    pub(super) fn new(client: Client, job_type: String) -> Self {
        Self {
            client,
            job_type,
            name: "skep-client".into(),
            max_jobs: 32,
            timeout: Duration::from_secs(300),
            fetch_variables: Vec::new(),
            tenant_ids: Vec::new(),
            delivery: Delivery::default(),
            long_poll: Duration::from_secs(10),
            poll_pause: Duration::from_secs(1),
            retry: RetryPolicy::default(),
            grace: Duration::from_secs(30),
            observer: Arc::new(Unobserved),
        }
    }

    /// The name under which jobs are assigned (`skep-client`).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Jobs held at once (32): running handlers and unacknowledged outcomes together, at least 1.
    /// This bounds the worker's memory, whatever the server pushes.
    pub fn max_jobs(mut self, max_jobs: usize) -> Self {
        self.max_jobs = max_jobs.max(1);
        self
    }

    /// For how long a job is assigned (5 minutes). Outcomes are not reported after that.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The variables to fetch; none named means all.
    pub fn fetch_variables<I: IntoIterator<Item: Into<String>>>(mut self, names: I) -> Self {
        self.fetch_variables = names.into_iter().map(Into::into).collect();
        self
    }

    /// Whose jobs; none named means the default tenant.
    pub fn tenant_ids<I: IntoIterator<Item: Into<String>>>(mut self, ids: I) -> Self {
        self.tenant_ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// How jobs come (push).
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// How long the server holds a poll that finds nothing (10 s).
    pub fn long_poll(mut self, long_poll: Duration) -> Self {
        self.long_poll = long_poll;
        self
    }

    /// With [`Delivery::PushAndPoll`], the pause after a poll that found nothing (1 s, doubled up to a minute).
    pub fn poll_pause(mut self, pause: Duration) -> Self {
        self.poll_pause = pause;
        self
    }

    /// Pauses after refusals and broken streams; attempts bound the reporting of one outcome.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// How long a stopping worker waits for its running handlers (30 s).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the observer, which is notified of the worker's events.
    pub fn observer(mut self, observer: Arc<dyn WorkerObserver>) -> Self {
        self.observer = observer;
        self
    }

    /// The worker. Handlers run concurrently in the task that runs the worker: a handler that
    /// computes for long should `tokio::spawn` its work and await it.
    pub fn build<H>(self, handler: H) -> Worker<H>
    where
        H: AsyncFn(Job) -> Outcome,
    {
        Worker {
            settings: self,
            handler,
        }
    }
}
