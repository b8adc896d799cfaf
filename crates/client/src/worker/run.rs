//! The worker's loop.

use std::{future::Future, pin::pin, time::Instant};

use futures_util::{StreamExt as _, stream::FuturesUnordered};

use super::{
    Outcome,
    builder::{Delivery, WorkerBuilder},
    feed::{Poll, Push},
    finish::{Ticket, report},
};
use crate::{Client, Job};

/// A job worker for one job type; made by [`Worker::builder`].
#[derive(Debug)]
pub struct Worker<H> {
    pub(super) settings: WorkerBuilder,
    pub(super) handler: H,
}

/// Totals of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerSummary {
    /// Jobs received.
    pub received: u64,
    /// Outcomes acknowledged (or left unreported as the handler wanted).
    pub acknowledged: u64,
    /// Outcomes that could not be reported.
    pub unreported: u64,
    /// Handlers cut off when the grace period of a stopping worker ended.
    pub abandoned: u64,
    /// The most jobs held at once.
    pub most_held: usize,
}

impl Worker<()> {
    /// A worker for jobs of `job_type`.
    pub fn builder(client: Client, job_type: impl Into<String>) -> WorkerBuilder {
        WorkerBuilder::new(client, job_type.into())
    }
}

impl<H: AsyncFn(Job) -> Outcome> Worker<H> {
    /// Works until the future is dropped.
    pub async fn run(self) -> WorkerSummary {
        self.run_until(std::future::pending()).await
    }

    /// Works until `stop` resolves; then takes no more jobs and finishes those it has, for at
    /// most the grace period.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> WorkerSummary {
        let Self { settings, handler } = &self;
        let mut stop = pin!(stop);
        let mut push = (settings.delivery != Delivery::Poll).then(|| Push::new(settings));
        let mut poll = (settings.delivery != Delivery::Push).then(|| Poll::new(settings));
        let mut held = FuturesUnordered::new();
        let mut summary = WorkerSummary::default();
        loop {
            let reserved = poll.as_ref().map_or(0, Poll::reserved);
            let free = settings.max_jobs.saturating_sub(held.len() + reserved);
            let want = wanted(settings, free);
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(acknowledged) = held.next(), if !held.is_empty() => {
                    count(&mut summary, acknowledged);
                }
                // not reading while there is no room is what holds the server back
                job = next_pushed(&mut push, settings), if free > 0 && push.is_some() => {
                    summary.received += 1;
                    held.push(work(settings, handler, job));
                }
                jobs = next_polled(&mut poll, want, settings), if poll.is_some() => {
                    for job in jobs {
                        summary.received += 1;
                        held.push(work(settings, handler, job));
                    }
                }
            }
            summary.most_held = summary.most_held.max(held.len());
        }
        // closing the stream tells the server to give undelivered jobs to others
        drop((push, poll));
        let drain = async {
            while let Some(acknowledged) = held.next().await {
                count(&mut summary, acknowledged);
            }
        };
        if tokio::time::timeout(settings.grace, drain).await.is_err() {
            summary.abandoned = u64::try_from(held.len()).unwrap_or(u64::MAX);
        }
        summary
    }
}

/// How many jobs a new poll may ask for.
fn wanted(settings: &WorkerBuilder, free: usize) -> usize {
    let threshold = match settings.delivery {
        // fewer, larger polls: ask when a third of the room is free
        Delivery::Poll => settings.max_jobs.div_ceil(3),
        // leave most of the room to the stream
        Delivery::PushAndPoll => settings.max_jobs.div_ceil(2),
        Delivery::Push => return 0,
    };
    match settings.delivery {
        _ if free < threshold => 0,
        Delivery::PushAndPoll => free.div_ceil(2),
        _ => free,
    }
}

fn count(summary: &mut WorkerSummary, acknowledged: bool) {
    if acknowledged {
        summary.acknowledged += 1;
    } else {
        summary.unreported += 1;
    }
}

async fn next_pushed(push: &mut Option<Push>, settings: &WorkerBuilder) -> Job {
    match push {
        Some(push) => push.next(settings).await,
        None => std::future::pending().await,
    }
}

async fn next_polled(poll: &mut Option<Poll>, want: usize, settings: &WorkerBuilder) -> Vec<Job> {
    match poll {
        Some(poll) => poll.next(want, settings).await,
        None => std::future::pending().await,
    }
}

/// Runs the handler and reports; true when the outcome was acknowledged.
async fn work<H: AsyncFn(Job) -> Outcome>(settings: &WorkerBuilder, handler: &H, job: Job) -> bool {
    let ticket = Ticket {
        key: job.key,
        process_instance_key: job.process_instance_key,
        retries: job.retries,
        received: Instant::now(),
    };
    settings.observer.received(&job);
    let outcome = handler(job).await;
    report(settings, &ticket, outcome).await.is_ok()
}
