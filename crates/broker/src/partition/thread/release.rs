//! What leaves a partition once its entry is committed: answers, pushed jobs, commands to other partitions.

use rustc_hash::FxHashSet;

use super::super::core::Released;


impl Partition {
    pub(super) fn release(&mut self, released: Released) {
        let Released {
            index,
            bytes,
            effects,
        } = released;
        let now = Instant::now();
        let batch = self.inflight.pop_front_if(|batch| batch.index <= index);
        let mut timings = Timings::default();
        if let Some(batch) = &batch {
            if let Some((written, times)) = batch.written {
                timings.fsync = nanos(times.sync);
                let append = written
                    .saturating_duration_since(batch.proposed)
                    .saturating_sub(times.sync);
                timings.append = nanos(append);
                timings.commit = nanos(now.saturating_duration_since(written));
            }
            self.metrics.released(&timings, batch.commands);
        }
        // Who has an answer may look at once.
        let position = self.core.committed_position();
        self.status
            .committed_position
            .store(position, Ordering::Relaxed);
        for (id, result) in effects.responses {
            self.respond(id, result.map_err(Failure::from), timings);
        }
        for (stream, job) in effects.pushes {
            self.push(stream, job);
        }
        for (partition, command) in effects.sends {
            if partition == self.status.partition {
                self.own_inbox.send(Work::Remote {
                    command,
                    prepared: None,
                });
            } else {
                self.work.sent(partition, &command.command);
                self.effect_sink.send_remote(partition, command);
            }
        }
        self.choose_items(effects.to_choose);
        for job_type in &effects.jobs_available {
            self.effect_sink.jobs_available(job_type);
            self.work.workers_notified(job_type);
        }
        self.metrics.post_commit.observe(nanos(now.elapsed()));
        self.uncounted
            .extend(bytes.map(|bytes| (effects.noted, bytes)));
    }

    /// Counts what was released. Answers and jobs go first: counting is nobody's wait.
    pub(super) fn count(&mut self) {
        let state = &self.core.engine().state;
        for (noted, bytes) in self.uncounted.drain(..) {
            self.work.committed(&noted, bytes, state, &self.metrics);
        }
    }

    pub(super) fn respond(
        &mut self,
        id: RequestId,
        result: Result<Response, Failure>,
        mut timings: Timings,
    ) {
        let Some(waiting) = self.requests.remove(id) else {
            return;
        };
        timings.route = nanos(waiting.route);
        timings.inbox_wait = nanos(waiting.inbox_wait);
        timings.evaluation = nanos(waiting.evaluation);
        if waiting.counted {
            self.status.limit.answered(waiting.received.elapsed());
        }
        let answer = Answer { result, timings };
        if let Err(answer) = waiting.responder.send_quietly(answer, &mut self.wakes) {
            self.give_back(*answer);
        }
    }

    /// An answer that nobody waits for any more: jobs in it go back.
    pub(super) fn give_back(&self, answer: Answer) {
        if let Ok(Response::JobsActivated { jobs, .. }) = answer.result {
            for job in jobs {
                self.own_inbox.send(Work::Yield {
                    key: job.key,
                    deadline: job.deadline,
                });
            }
        }
    }

    pub(super) fn push(&mut self, stream: StreamId, job: skep_protocol::ActivatedJob) {
        let (key, deadline, job_type) = (job.key, job.deadline, job.job_type.clone());
        if self.streams.deliver(stream, job, &mut self.wakes) {
            self.work.pushed(&job_type);
        } else {
            self.work.push_failed();
            self.own_inbox.send(Work::Yield { key, deadline });
        }
    }

    pub(super) fn abort_all(&mut self, why: &str) {
        self.abort_except(&FxHashSet::default(), why);
    }

    /// Tells all clients but those of these requests that they get no answer.
    pub(super) fn abort_except(&mut self, keep: &FxHashSet<RequestId>, why: &str) {
        let partition = self.status.partition;
        let text = format!(
            "Partition {partition} did not answer: {why}. The command may or may not have been carried out."
        );
        for waiting in self.requests.drain_except(keep) {
            self.fail_request(waiting, Failure::Aborted(text.clone()));
        }
    }

    pub(super) fn fail_request(&self, waiting: Waiting, failure: Failure) {
        if waiting.counted {
            self.status.limit.release();
        }
        let answer = Answer {
            result: Err(failure),
            timings: Timings::default(),
        };
        let _ = waiting.responder.send(answer);
    }
}
