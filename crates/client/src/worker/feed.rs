//! Where a worker's jobs come from. Everything here can be dropped and resumed at any await.

use std::{future::Future, pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep};

use super::builder::{Delivery, WorkerBuilder};
use crate::{ActivateJobs, Backoff, Error, Job, JobStream, StreamJobs};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A job stream that is opened again whenever it ends.
pub(super) struct Push {
    request: StreamJobs,
    state: PushState,
    backoff: Backoff,
}

enum PushState {
    Closed,
    Opening(Boxed<Result<JobStream, Error>>),
    Open(JobStream),
    Pausing(Pin<Box<Sleep>>),
}

impl Push {
    pub(super) fn new(settings: &WorkerBuilder) -> Self {
        Self {
            request: StreamJobs {
                job_type: settings.job_type.clone(),
                worker: settings.name.clone(),
                timeout: settings.timeout,
                fetch_variables: settings.fetch_variables.clone(),
                tenant_ids: settings.tenant_ids.clone(),
            },
            state: PushState::Closed,
            backoff: Backoff::new(settings.retry.clone()),
        }
    }

    /// The next pushed job, opening the stream as often as needed.
    pub(super) async fn next(&mut self, settings: &WorkerBuilder) -> Job {
        loop {
            let ended = match &mut self.state {
                PushState::Closed => {
                    let (client, request) = (settings.client.clone(), self.request.clone());
                    self.state =
                        PushState::Opening(Box::pin(
                            async move { client.stream_jobs(&request).await },
                        ));
                    continue;
                }
                PushState::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.state = PushState::Open(stream);
                        continue;
                    }
                    Err(error) => error,
                },
                PushState::Open(stream) => match stream.next().await {
                    Ok(Some(job)) => {
                        self.backoff.reset();
                        return job;
                    }
                    Ok(None) => Error::broken("the server closed the job stream"),
                    Err(error) => error,
                },
                PushState::Pausing(sleep) => {
                    sleep.await;
                    self.state = PushState::Closed;
                    continue;
                }
            };
            settings.observer.interrupted(&ended);
            let pause = tokio::time::sleep(self.backoff.next_pause());
            self.state = PushState::Pausing(Box::pin(pause));
        }
    }
}

/// Repeated polls.
pub(super) struct Poll {
    request: ActivateJobs,
    state: PollState,
    backoff: Backoff,
    /// Pause after an empty answer, for polls beside a stream.
    idle_pause: Duration,
}

enum PollState {
    Ready,
    Asking {
        asked: usize,
        since: Instant,
        call: Boxed<Result<Vec<Job>, Error>>,
    },
    Pausing(Pin<Box<Sleep>>),
}

/// Empty answers faster than this are not long polls, and are spaced out.
const AT_ONCE: Duration = Duration::from_millis(50);
const LONGEST_IDLE_PAUSE: Duration = Duration::from_secs(60);

impl Poll {
    pub(super) fn new(settings: &WorkerBuilder) -> Self {
        let long_poll = settings.delivery == Delivery::Poll;
        Self {
            request: ActivateJobs {
                job_type: settings.job_type.clone(),
                worker: settings.name.clone(),
                timeout: settings.timeout,
                max_jobs: 0,
                fetch_variables: settings.fetch_variables.clone(),
                // beside a stream a waiting poll would only take room from it
                long_poll: long_poll.then_some(settings.long_poll),
                tenant_ids: settings.tenant_ids.clone(),
            },
            state: PollState::Ready,
            backoff: Backoff::new(settings.retry.clone()),
            idle_pause: settings.poll_pause,
        }
    }

    /// Room that is promised to the running poll.
    pub(super) fn reserved(&self) -> usize {
        match &self.state {
            PollState::Asking { asked, .. } => *asked,
            _ => 0,
        }
    }

    /// The jobs of the next poll that brings any. `want` is the number that a new poll may ask for;
    /// if zero, only a poll already running is continued.
    pub(super) async fn next(&mut self, want: usize, settings: &WorkerBuilder) -> Vec<Job> {
        loop {
            match &mut self.state {
                PollState::Ready if want == 0 => return std::future::pending().await,
                PollState::Ready => {
                    self.request.max_jobs = i32::try_from(want).unwrap_or(i32::MAX);
                    let (client, request) = (settings.client.clone(), self.request.clone());
                    self.state = PollState::Asking {
                        asked: want,
                        since: Instant::now(),
                        call: Box::pin(async move { client.activate_jobs(&request).await }),
                    };
                }
                PollState::Asking { asked, since, call } => {
                    let (asked, since, answer) = (*asked, *since, call.await);
                    let empty_at_once = since.elapsed() < AT_ONCE;
                    match answer {
                        Ok(mut jobs) if !jobs.is_empty() => {
                            // a server that sends more than asked does not break the bound
                            jobs.truncate(asked);
                            self.backoff.reset();
                            self.idle_pause = settings.poll_pause;
                            self.state = PollState::Ready;
                            return jobs;
                        }
                        Ok(_) if settings.delivery == Delivery::PushAndPoll => {
                            self.pause(self.idle_pause);
                            self.idle_pause = (self.idle_pause * 2).min(LONGEST_IDLE_PAUSE);
                        }
                        Ok(_) if empty_at_once => {
                            let pause = self.backoff.next_pause();
                            self.pause(pause);
                        }
                        Ok(_) => self.state = PollState::Ready,
                        Err(error) => {
                            settings.observer.interrupted(&error);
                            let pause = self.backoff.next_pause();
                            self.pause(pause);
                        }
                    }
                }
                PollState::Pausing(sleep) => {
                    sleep.await;
                    self.state = PollState::Ready;
                }
            }
        }
    }

    fn pause(&mut self, pause: Duration) {
        self.state = PollState::Pausing(Box::pin(tokio::time::sleep(pause)));
    }
}
