//! Delivers effects once their entry is committed: answers to waiting clients, jobs into streams.

use rustc_hash::FxHashSet;
use skep_engine::state::State;
use skep_engine::{Noted, RequestId, StreamId};
use skep_identity::Directory;
use skep_protocol::{ActivatedJob, Failure, Response};
use skep_service::{Answer, Timings, Wakes};
use std::sync::Arc;
use std::time::Instant;

use super::environment::Environment;
use super::published_directory::PublishedDirectory;
use crate::job_streams::StreamRegistry;
use crate::metrics::{WorkCounter, nanos};
use crate::partition::message::Work;
use crate::partition::requests::{Requests, Waiting};

pub struct Delivery {
    pub streams: StreamRegistry,
    pub requests: Requests,
    /// The tasks to wake after a release.
    wakes: Wakes,
    /// Counts instances and jobs.
    pub work: WorkCounter,
    /// Notes of committed batches that are not counted yet, with the size of each batch.
    uncounted: Vec<(Noted, usize)>,
    /// What gateways of this node know of users and permissions.
    pub directory: PublishedDirectory,
    /// The version of the directory by which waiting jobs were last offered to the streams.
    offered_by: u64,
}

impl Delivery {
    pub fn new(work: WorkCounter) -> Delivery {
        Delivery {
            streams: StreamRegistry::default(),
            requests: Requests::default(),
            wakes: Wakes::default(),
            work,
            uncounted: Vec::new(),
            directory: PublishedDirectory::default(),
            offered_by: 0,
        }
    }

    /// The job types of the open streams, once after each change of users and permissions: a stream may now have jobs that wait.
    pub fn types_to_offer(&mut self, directory: &Directory) -> Vec<Arc<str>> {
        let version = directory.version();
        if std::mem::replace(&mut self.offered_by, version) == version {
            return Vec::new();
        }
        self.streams.job_types()
    }

    /// Answers a request.
    pub fn respond(
        &mut self,
        id: RequestId,
        result: Result<Response, Failure>,
        mut timings: Timings,
        env: &Environment,
        now: Instant,
    ) {
        let Some(waiting) = self.requests.remove(id) else {
            return;
        };
        timings.route = nanos(waiting.route);
        timings.inbox_wait = nanos(waiting.inbox_wait);
        timings.evaluation = nanos(waiting.evaluation);
        if let Some(permit) = waiting.permit {
            permit.answered(now.saturating_duration_since(waiting.received));
        }
        let answer = Answer { result, timings };
        if let Err(answer) = waiting.responder.send_quietly(answer, &mut self.wakes) {
            give_back(*answer, env);
        }
    }

    /// Pushes a job into a stream, or returns it.
    pub fn push(&mut self, stream: StreamId, job: ActivatedJob, env: &Environment) {
        let (key, deadline, job_type) = (job.key, job.deadline, job.job_type.clone());
        if self.streams.deliver(stream, job, &mut self.wakes) {
            self.work.pushed(&job_type);
        } else {
            self.work.push_failed();
            env.inbox.send(Work::Yield { key, deadline });
        }
    }

    /// Wakes all tasks that have something new.
    pub fn wake(&mut self) {
        self.wakes.give();
    }

    /// Counts the notes of a committed batch later: answers and jobs go first, and no client waits for counting.
    pub fn counts_later(&mut self, noted: Noted, bytes: Option<usize>) {
        self.uncounted.extend(bytes.map(|bytes| (noted, bytes)));
    }

    pub fn count(&mut self, state: &State, env: &Environment) {
        for (noted, bytes) in self.uncounted.drain(..) {
            self.work.committed(&noted, bytes, state, &env.metrics);
        }
    }

    /// Tells all clients except those of these requests that they get no answer.
    pub fn abort_except(&mut self, keep: &FxHashSet<RequestId>, why: &str, env: &Environment) {
        let partition = env.partition();
        let text = format!(
            "Partition {partition} did not answer: {why}. The command may or may not have been carried out."
        );
        for waiting in self.requests.drain_except(keep) {
            fail(waiting, Failure::Aborted(text.clone()));
        }
    }

    pub fn abort_all(&mut self, why: &str, env: &Environment) {
        self.abort_except(&FxHashSet::default(), why, env);
    }

    /// Sends this failure to the client of this request, if it waits.
    pub fn fail(&mut self, id: RequestId, failure: Failure) {
        if let Some(waiting) = self.requests.remove(id) {
            fail(waiting, failure);
        }
    }

    /// The client is gone and no longer waits for the answer.
    pub fn forget(&mut self, id: RequestId) {
        let forgotten = self.requests.remove(id);
        debug_assert!(forgotten.is_some(), "a waiting activation has a request");
    }
}

/// An answer whose client is gone: its jobs are returned.
fn give_back(answer: Answer, env: &Environment) {
    if let Ok(Response::JobsActivated { jobs, .. }) = answer.result {
        for job in jobs {
            env.inbox.send(Work::Yield {
                key: job.key,
                deadline: job.deadline,
            });
        }
    }
}

fn fail(waiting: Waiting, failure: Failure) {
    let answer = Answer {
        result: Err(failure),
        timings: Timings::default(),
    };
    let _ = waiting.responder.send(answer);
}
