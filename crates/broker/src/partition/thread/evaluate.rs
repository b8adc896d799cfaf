//! Evaluates work: commands of clients and of other partitions, returned jobs, streams with credit.

use std::time::{Duration, Instant};

use skep_engine::{Evaluation, Place, RequestId};
use skep_protocol::command::{Command, Request};
use skep_protocol::{Failure, Key, ValueType};
use skep_query::Answer;
use skep_service::Timings;

use super::Partition;
use crate::flow_control::InboxPermit;
use crate::metrics::{Context, nanos};
use crate::partition::QueryResult;
use crate::partition::core::CoreError;
use crate::partition::message::{ClientRequest, LongEvaluation, Work};
use crate::partition::parts::effect_sink::Effect;
use crate::partition::requests::Waiting;

/// Maximum number of jobs pushed in one go when a stream has room again.
const PUSH_BURST: usize = 64;
/// The answer to a client whose request partitions have sent on to each other, as they were recovered from earlier copies.
const NOBODY_HAS_IT: &str = "no partition knows that it has the correlation key, as a recovery from an earlier copy has lost that. Nothing was \
                             done; send the request again when no change of the cluster is under way.";

impl Partition {
    pub(super) fn evaluate(&mut self, work: Work) -> Result<(), CoreError> {
        self.evaluate_work(work)?;
        let directory = &self.core.engine().state.identity.directory;
        for job_type in self.delivery.types_to_offer(directory) {
            self.intake.waits(Work::StreamHasRoom(job_type));
        }
        Ok(())
    }

    fn evaluate_work(&mut self, work: Work) -> Result<(), CoreError> {
        let now = self.env.clock.now();
        match work {
            Work::Request(request) => return self.evaluate_request(now, request),
            Work::Remote { command, prepared } => {
                self.delivery.work.accepted(Context::InterPartition);
                self.guarded(None, |core, streams| {
                    core.engine_mut().prepare(prepared.map(|it| *it));
                    core.process_remote(now, &command, streams);
                })?;
            }
            Work::Yield { key, deadline } => {
                self.delivery.work.accepted(Context::Internal);
                self.log.gives_back(key, deadline);
                self.guarded(None, |core, streams| {
                    core.yield_job(now, key, deadline, streams);
                })?;
            }
            Work::StreamHasRoom(job_type) => {
                let pushed = self.guarded(None, |core, streams| {
                    core.push_waiting_jobs(now, &job_type, PUSH_BURST, streams)
                })?;
                if pushed.is_some_and(|pushed| pushed.more) {
                    self.intake.waits(Work::StreamHasRoom(job_type));
                }
            }
            Work::Chosen { key, after, answer } => self.chosen(key, after, answer)?,
        }
        self.log.evaluated();
        Ok(())
    }

    /// Requests that have waited for a correlation key to move are carried out, or sent on, once it has.
    pub(super) fn thaw(&mut self) -> Result<(), CoreError> {
        let Some(first) = self.intake.frozen() else {
            return Ok(());
        };
        let engine = self.core.engine_mut();
        if engine.place_of(&first.request) != Place::Waits {
            for request in self.intake.take_frozen() {
                self.evaluate(Work::Request(request))?;
            }
        }
        Ok(())
    }

    /// Gives the request back if it can be carried out here and now.
    fn where_it_belongs(&mut self, mut request: ClientRequest) -> Option<ClientRequest> {
        match self.core.engine_mut().place_of(&request.request) {
            Place::Here => return Some(request),
            Place::Waits => self.intake.freeze(request),
            Place::At(partition) => {
                request.request.hops = request.request.hops.saturating_add(1);
                self.env.effect_sink.send(Effect::SendOn {
                    partition,
                    request: Box::new(request.request),
                    responder: request.responder,
                });
            }
            Place::Lost => {
                // Its client may be gone.
                drop(request.responder.send(skep_service::Answer {
                    result: Err(Failure::Aborted(NOBODY_HAS_IT.to_string())),
                    timings: Timings::default(),
                }));
            }
        }
        None
    }

    fn evaluate_request(&mut self, now: i64, request: ClientRequest) -> Result<(), CoreError> {
        let Some(request) = self.where_it_belongs(request) else {
            return Ok(());
        };
        let ClientRequest {
            mut request,
            responder,
            received,
            route,
            inbox_permit,
            permit,
            prepared,
        } = request;
        if responder.is_abandoned() {
            self.abandoned();
            return Ok(());
        }
        self.fill_in(&mut request.command);
        let started = Instant::now();
        self.log.begins(started);
        let id = self.delivery.requests.insert(Waiting {
            responder,
            received,
            route,
            inbox_wait: started.saturating_duration_since(received),
            evaluation: Duration::ZERO,
            permit,
        });
        let processed = self.guarded(Some(id), |core, streams| {
            #[cfg(test)]
            super::panics::tests::may_panic(&request.command);
            core.engine_mut().prepare(prepared.map(|it| *it));
            core.process(now, Some(id), &request, streams);
        })?;
        if processed.is_none() {
            return Ok(());
        }
        if let Some(evaluation) = self.core.engine_mut().take_evaluation() {
            self.evaluate_elsewhere(id, request, inbox_permit, evaluation);
            return Ok(());
        }
        drop(inbox_permit);
        let evaluation = started.elapsed();
        if let Some(waiting) = self.delivery.requests.get_mut(id) {
            waiting.evaluation = evaluation;
        }
        let head = request.command.record();
        let work = &mut self.delivery.work;
        work.accepted(Context::UserCommand);
        work.evaluated(head.value_type, head.intent, evaluation);
        let wait = started.saturating_duration_since(received);
        self.env.metrics.inbox_wait.observe(nanos(wait));
        self.after_command(id, &request.command)?;
        self.log.evaluated();
        Ok(())
    }

    /// Meanwhile it does not hold its place, and its time does not count as a measure of how busy the partition is.
    fn evaluate_elsewhere(
        &mut self,
        id: RequestId,
        request: Request,
        inbox_permit: InboxPermit,
        evaluation: Evaluation,
    ) {
        let waiting = self.delivery.requests.remove(id);
        debug_assert!(waiting.is_some(), "its client waits");
        let Some(waiting) = waiting else {
            return;
        };
        let request = ClientRequest {
            request,
            responder: waiting.responder,
            received: waiting.received,
            route: waiting.route,
            inbox_permit,
            permit: None,
            prepared: None,
        };
        self.env
            .effect_sink
            .send(Effect::Evaluate(Box::new(LongEvaluation {
                evaluation,
                request,
                inbox: self.env.inbox.clone(),
            })));
    }

    fn after_command(&mut self, id: RequestId, command: &Command) -> Result<(), CoreError> {
        // The client may wait for days: it must not hold a place of the limit.
        if command.awaits_end()
            && let Some(waiting) = self.delivery.requests.get_mut(id)
        {
            waiting.permit = None;
        }
        let changed = command.record().value_type;
        // A batch has a single time, and from here on the clock shows another one.
        if changed == ValueType::Clock {
            self.publish_status();
            self.propose()?;
        }
        // The next step of the plan waits for it.
        if changed == ValueType::Scale {
            self.publish_status();
        }
        if changed == ValueType::Exporting {
            self.follow_exporting();
        }
        Ok(())
    }

    /// A client's command is not carried out, because the client was gone before its turn came.
    pub(super) fn abandoned(&self) {
        self.env.metrics.abandoned.inc();
    }

    /// Gives the engine the items found for a batch operation.
    fn chosen(&mut self, key: Key, after: Key, answer: QueryResult) -> Result<(), CoreError> {
        let work = &mut self.delivery.work;
        work.accepted(Context::Internal);
        let done = matches!(&answer, Ok((Answer::Page(_), _)));
        work.batches.queried(key, done);
        let (choosing, mut around) = self.choosing();
        let found = choosing.found((key, after), answer, &mut around);
        let Some(command) = found else {
            return Ok(());
        };
        let request = Request {
            batch_operation_reference: key,
            ..Request::internal(Command::Batch(command))
        };
        let now = self.env.clock.now();
        self.guarded(None, |core, streams| {
            core.process(now, None, &request, streams);
        })?;
        // There may be more items.
        let (choosing, mut around) = self.choosing();
        choosing.ask_for_items(key, &mut around);
        Ok(())
    }
}
