//! The engine of one partition.

mod recovery;
mod stepping_down;

use std::sync::Arc;

use skep_protocol::batch::{BatchReader, BatchWriter};
use skep_protocol::command::{At, Request};
use skep_protocol::intent::{ContinuationIntent, Intent, JobIntent};
use skep_protocol::origin::Origin;
use skep_protocol::record::DecodeError;
use skep_protocol::value::ExporterValue;
use skep_protocol::{Key, Routing, TenantId, ValueType};

use crate::appliers;
use crate::dispatch::{carry_out, dispatch, dispatch_remote};
use crate::due;
use crate::effects::{Effects, JobStreams, Pushed, RequestId};
use crate::evaluation::Evaluation;
use crate::headers::header_of_remote;
use crate::oldest_node::OldestNode;
use crate::prepared::Prepared;
use crate::processing::banning::Ban;
use crate::processing::batch_operation::turns::Turns;
use crate::processing::bpmn::{Budget, Steps, queue, step};
use crate::processing::deployment::distribution;
use crate::processing::message::{message_side, process_side};
use crate::processing::slots::{self, Place};
use crate::processing::{
    Context, Outcome, Volatile, banning, batch_operation, conditions, exporting, job, scaling,
};
use crate::remote::{RemoteCommand, Sent};
use crate::state::{State, StoreError};

#[derive(Clone, Debug)]
pub struct EngineConfig {
    pub partition: u32,
    /// The partitions of the cluster, and which partition owns a key.
    pub routing: Arc<Routing>,
    /// Maximum nesting of call activities (`engine.max-process-depth`).
    pub max_process_depth: u32,
    /// Maximum number of element instances of one process instance that have not ended
    /// (`skep.engine.max-element-instances`).
    pub max_element_instances: u32,
    /// Maximum milliseconds for one evaluation of an expression (`camunda.expression.timeout`). It is counted in steps
    /// instead of time, so the limit is the same on every machine.
    pub expression_timeout: u64,
    /// Evaluation steps after which an evaluation for a client is deferred: see [`Engine::take_evaluation`]. `u64::MAX`:
    /// never.
    pub short_evaluation: u64,
    /// Maximum bytes of a message to a client (`api.grpc.max-message-size`). No job may be larger.
    pub max_message_size: usize,
    /// New keys have counters above this one.
    pub least_key: u64,
    /// Milliseconds after which an unanswered command to another partition is sent again.
    pub retry_interval: i64,
    /// Maximum number of timers, timeouts, back-offs and messages handled by one call of [`Engine::run_due`].
    pub max_due: usize,
    /// Maximum number of waiting jobs that a poll or push examines for callers who may not take all of them.
    pub max_looked_at: usize,
    /// Maximum number of life-cycle steps that one command takes before others have their turn.
    pub turn_steps: u32,
    /// Time limit of a turn, regardless of its work.
    pub turn_time: Option<TurnTime>,
    /// Whether callers need permissions, and which identity entities are managed here.
    pub identity: IdentityConfig,
    /// Records that an older node does not know would stop its replicas, so they wait until every node knows them.
    pub oldest_node: OldestNode,
    /// For tests: called when work for an instance begins. It may fail as the engine would.
    pub on_work: Option<fn(&mut State, Key)>,
}

/// Settings under `camunda.security`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentityConfig {
    /// Authenticated callers need authorizations.
    pub authorizations: bool,
    /// Callers see only data of their tenants. If this is off, only the default tenant exists.
    pub tenant_checks: bool,
    /// Users are managed here, not by an identity provider.
    pub manages_users: bool,
    /// Groups are managed here, not by an identity provider.
    pub manages_groups: bool,
}

impl Default for IdentityConfig {
    fn default() -> IdentityConfig {
        IdentityConfig {
            authorizations: false,
            tenant_checks: false,
            manages_users: true,
            manages_groups: true,
        }
    }
}

/// Time limit of a turn, measured by an external clock. Like the other limits of a turn, it decides when work is done,
/// never its result.
#[derive(Clone, Copy, Debug)]
pub struct TurnTime {
    /// No step begins more than this many nanoseconds after its turn began.
    pub most: u64,
    /// Nanoseconds since some point in time. Must be monotonic.
    pub clock: fn() -> u64,
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            partition: 1,
            routing: Arc::new(Routing::new(1)),
            max_process_depth: 1000,
            max_element_instances: 2_000_000,
            expression_timeout: 100,
            short_evaluation: u64::MAX,
            max_message_size: 4 << 20,
            least_key: 0,
            retry_interval: 10_000,
            max_due: 500,
            max_looked_at: 50_000,
            turn_steps: 1_000,
            turn_time: None,
            identity: IdentityConfig::default(),
            oldest_node: OldestNode::default(),
            on_work: None,
        }
    }
}

impl EngineConfig {
    /// Milliseconds since some point in time. Commands between partitions are repeated by this clock, because the wall
    /// clock may be set back or pinned.
    pub(crate) fn passed(&self, now: i64) -> i64 {
        match &self.turn_time {
            Some(time) => i64::try_from((time.clock)() / 1_000_000).unwrap_or(i64::MAX),
            None => now,
        }
    }
}

/// Milliseconds until jobs with a passed deadline are checked again while the partition is under pressure.
const PRESSURE_PAUSE: i64 = 100;

/// Result of [`Engine::run_due`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// More is due than one call handles: call again soon.
    pub more: bool,
    /// When the next work is due, epoch milliseconds.
    pub next: Option<i64>,
}

pub struct Engine {
    config: EngineConfig,
    pub state: State,
    out: BatchWriter,
    effects: Effects,
    volatile: Volatile,
    steps: Steps,
    budget: Budget,
    new_jobs: Vec<Key>,
    /// Prepared work for the next command, see [`Engine::prepare`].
    prepared: Option<Prepared>,
    /// The continuation that had its turn last.
    last_continued: Key,
    batch_turns: Turns,
    /// The last turn belonged to a batch operation. The next one does not if there is other work.
    was_batch: bool,
    /// Time of the last retry, as [`Engine::passed`]. `None`: unanswered commands are repeated on the next check.
    last_retry: Option<i64>,
    /// The instance whose work began last.
    working_for: Key,
    /// The directory version that was last handed out with a batch.
    directory: u64,
}

impl Engine {
    /// Creates an engine over a recovered state. `next_position` is the position of the next record in the log.
    pub fn new(config: EngineConfig, mut state: State, next_position: u64) -> Engine {
        state.keys_are_above(config.least_key);
        Engine {
            config,
            state,
            out: BatchWriter::new(next_position),
            effects: Effects::default(),
            volatile: Volatile::default(),
            steps: Steps::default(),
            budget: Budget::new(0, 0, None),
            new_jobs: Vec::new(),
            prepared: None,
            last_continued: Key::NONE,
            batch_turns: Turns::default(),
            was_batch: false,
            last_retry: None,
            working_for: Key::NONE,
            directory: 0,
        }
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// See [`EngineConfig::turn_steps`]. It decides when work is done, never its result.
    pub fn set_turn_steps(&mut self, steps: u32) {
        self.config.turn_steps = steps;
    }

    /// Sets the prepared work for the next command: see [`Prepared`].
    pub fn prepare(&mut self, prepared: Option<Prepared>) {
        self.prepared = prepared;
    }

    /// Takes the evaluation that the last command was deferred for; nothing has been done yet. Process the command again
    /// with the evaluation's result as [`Prepared`].
    pub fn take_evaluation(&mut self) -> Option<Evaluation> {
        self.volatile.evaluation.take()
    }

    /// Processes a client's command at `now` (epoch milliseconds). Its records join the current batch.
    pub fn process(
        &mut self,
        now: i64,
        request_id: Option<RequestId>,
        request: &Request,
        streams: &mut dyn JobStreams,
    ) {
        debug_assert!(
            self.place_of(request) == Place::Here,
            "a command about a correlation key is processed where that is"
        );
        let mut cx = self.context(now, request_id, streams);
        cx.origin = request.origin();
        cx.tenant = request.tenant.clone();
        if let At::Correlation(correlation_key) = request.command.at() {
            slots::adopting::adopt(&mut cx, correlation_key, request.hops);
        }
        if request.command.record().value_type == ValueType::Error {
            // The event stands alone: the record model has no command for it.
            let outcome = dispatch(&mut cx, &request.command);
            answer(&mut cx, outcome);
            return;
        }
        let mark = cx.out.mark();
        let written = cx.out.len() + 1;
        let outcome = carry_out(&mut cx, &request.command);
        // A poll that finds nothing and an evaluation change nothing, so they must not grow the log.
        if outcome.is_ok() && cx.out.len() == written && cx.steps.is_empty() {
            cx.out.rollback(mark);
        }
        answer(&mut cx, outcome);
        finish(&mut cx);
    }

    /// Processes a command from another partition.
    pub fn process_remote(&mut self, now: i64, sent: &Sent, streams: &mut dyn JobStreams) {
        let (_, command) = sent.command.hops();
        let (key, value_type, intent) = header_of_remote(command);
        let mut cx = self.context(now, None, streams);
        cx.origin = sent
            .origin
            .as_deref()
            .cloned()
            .unwrap_or_else(Origin::internal);
        // It will be sent again, because it was not answered.
        if cx.comes_too_early(command) {
            return;
        }
        if !slots::admits(&mut cx, sent) {
            return;
        }
        cx.out.command(key, value_type, intent, &cx.origin);
        if cx.begin_remote(command) {
            dispatch_remote(&mut cx, command);
        } else if let RemoteCommand::CorrelateSubscription(command) = command {
            // Another instance may take the message.
            process_side::reject(&mut cx, command);
        }
        if slots::leaving::is_at_door(&cx) {
            slots::leaving::advance(&mut cx);
        }
        finish(&mut cx);
    }

    /// Bans an instance on which the engine failed. The engine has been rebuilt since. False if a ban does not help,
    /// because the instance does not exist or has no work left.
    pub fn ban(&mut self, now: i64, ban: &Ban) -> bool {
        let mut streams = crate::effects::NoStreams;
        let mut cx = self.context(now, None, &mut streams);
        banning::after_failure(&mut cx, ban)
    }

    /// Records the positions of exporters.
    pub fn report_exported(&mut self, now: i64, reports: &[ExporterValue]) {
        let mut streams = crate::effects::NoStreams;
        let mut cx = self.context(now, None, &mut streams);
        exporting::report(&mut cx, reports);
    }

    /// Marks the work for the last instance as done: later failures are not attributed to it.
    pub fn work_ends(&mut self) {
        self.working_for = Key::NONE;
    }

    /// The instance that the engine was working for when it failed. It is the one with which the work began, so that a ban
    /// prevents the failure from recurring.
    pub fn working_for(&self) -> Option<Key> {
        self.working_for.some()
    }

    /// Takes back a pushed job that did not reach its worker. `deadline` is the deadline it was pushed with.
    pub fn yield_job(&mut self, now: i64, key: Key, deadline: i64, streams: &mut dyn JobStreams) {
        let mut cx = self.context(now, None, streams);
        cx.out
            .command(key, ValueType::Job, JobIntent::Yield.id(), &cx.origin);
        if cx.begin_work_of_job(key) {
            job::r#yield::process(&mut cx, key, deadline);
        }
        finish(&mut cx);
    }

    /// Pushes waiting jobs of this type after a stream has received credit again.
    pub fn push_waiting_jobs(
        &mut self,
        now: i64,
        job_type: &str,
        limit: usize,
        streams: &mut dyn JobStreams,
    ) -> Pushed {
        if self.state.jobs.tenants_waiting(job_type).is_empty() {
            return Pushed {
                jobs: 0,
                more: false,
            };
        }
        let mut cx = self.context(now, None, streams);
        let pushed = job::activate::push_waiting(&mut cx, job_type, limit);
        finish(&mut cx);
        pushed
    }

    /// Whether earlier commands left work for later batches: call [`Engine::run_work`] in turn with other commands.
    pub fn has_work(&self) -> bool {
        !self.state.continuations.is_empty()
            || !self.new_jobs.is_empty()
            || self.state.batch_operations.has_work()
            || self.volatile.rounds.has_pending()
    }

    /// Continues work beyond the budget of its command, for one turn (about 2 ms, unless one step takes longer). Waiting
    /// continuations take turns.
    pub fn run_work(&mut self, now: i64, streams: &mut dyn JobStreams) {
        let next = self.state.continuations.next_after(self.last_continued);
        let batch_operation = self.batch_turns.next(&self.state.batch_operations);
        if let Some(key) = batch_operation
            && (next.is_none() || !self.was_batch)
            && self.state.continuations.len() < batch_operation::execute::MAX_PUT_OFF
        {
            self.was_batch = true;
            self.batch_turns.begins(key, &self.state.batch_operations);
            let mut cx = self.context(now, None, streams);
            batch_operation::execute::run(&mut cx, key);
            finish(&mut cx);
            return;
        }
        self.was_batch = false;
        let mut cx = self.context(now, None, streams);
        if let Some(key) = next {
            let intent = ContinuationIntent::Continue.id();
            cx.origin = cx.state.continuations.origin(key);
            cx.out
                .command(key, ValueType::Continuation, intent, &cx.origin);
            cx.begin_continuation(key);
            cx.steps.resume(key, cx.state);
        } else {
            job::activate::continue_pushing(&mut cx);
        }
        finish(&mut cx);
        self.last_continued = next.unwrap_or(Key::NONE);
    }

    /// Fires timers, ends back-offs, expires buffered messages, repeats unanswered commands, and makes timed-out jobs
    /// activatable again. The latter only if the partition is not `under_pressure`, when more copies of work in progress
    /// would make it worse.
    pub fn run_due(&mut self, now: i64, under_pressure: bool, streams: &mut dyn JobStreams) -> Due {
        let limit = self.config.max_due;
        let passed = self.config.passed(now);
        // If the clock was set back, retry now: too early is better than hours late.
        let waits =
            |last: i64| (0..self.config.retry_interval).contains(&passed.saturating_sub(last));
        let retry = !self.last_retry.is_some_and(waits);
        let mut cx = self.context(now, None, streams);
        let handled = due::handle(&mut cx, limit, !under_pressure);
        if slots::leaving::is_at_door(&cx) {
            slots::leaving::advance(&mut cx);
        }
        let swept = if retry {
            let sent = message_side::retry(&mut cx, limit) + process_side::retry(&mut cx, limit);
            cx.begin_work_of(Key::NONE);
            distribution::retry(&mut cx);
            scaling::retry(&mut cx);
            slots::retry(&mut cx, limit);
            sent < limit
        } else {
            true
        };
        let more = handled >= limit || cx.is_spent();
        finish(&mut cx);
        if retry {
            // The next part of a long sweep follows soon, a new sweep after the interval.
            let pause = if swept {
                0
            } else {
                self.config.retry_interval - 100
            };
            self.last_retry = Some(passed.saturating_sub(pause));
        }
        let mut next = self.next_due();
        if under_pressure {
            next = next.map(|next| next.max(now.saturating_add(PRESSURE_PAUSE)));
        }
        Due { more, next }
    }

    /// When [`Engine::run_due`] next has something to do, epoch milliseconds of the caller's clock. Unanswered commands are
    /// also checked every [`EngineConfig::retry_interval`].
    pub fn next_due(&self) -> Option<i64> {
        let state = &self.state;
        let due = [
            state.timers.next_due(),
            state.jobs.next_back_off(),
            state.jobs.next_time_out(),
            state.messages.next_due(),
            state.sessions.next_due(),
        ];
        let next = due.into_iter().flatten().min()?;
        match state.pinned_clock() {
            None => Some(next),
            // Only commands move a pinned clock: what is due now is due at once, and the rest is not.
            Some(pinned) => (next <= pinned).then_some(0),
        }
    }

    /// Applies a new routing that the cluster has agreed on.
    pub fn set_routing(&mut self, routing: Arc<Routing>) {
        self.config.routing = routing;
        // New partitions are notified immediately, and a new partition asks immediately.
        self.last_retry = None;
    }

    /// Number of partitions that have the complete global state, once all partitions know about them. 0: not known.
    pub fn scaled_up_to(&self) -> u32 {
        let scaling = self.state.scaling.get();
        let is_known =
            !scaling.finished.is_none() && !self.state.distributions.is_under_way(scaling.finished);
        if is_known { scaling.whole } else { 0 }
    }

    /// On the first partition: the version of the routing, if it asks for slots to be moved and all partitions have done so.
    pub fn relocated_at(&self) -> Option<u64> {
        slots::relocated_at(&self.config.routing, &self.volatile)
    }

    /// Number of slots of this partition that the routing asks to be moved.
    pub fn slots_to_move(&mut self) -> usize {
        slots::leaving::to_move(&self.config.routing, &mut self.state).count()
    }

    /// Where a client's request can be carried out: elsewhere, [`Engine::process`] would not find what belongs to its correlation key.
    pub fn place_of(&mut self, request: &Request) -> Place {
        slots::place_of_request(
            &self.config.routing,
            &mut self.state,
            &self.volatile,
            request,
        )
    }

    /// Whether answers from other partitions are outstanding: [`Engine::run_due`] asks again.
    pub fn awaits_answers(&self) -> bool {
        let state = &self.state;
        let mut finished = state.batch_operations.finished_here();
        scaling::is_under_way(&self.config.routing, state)
            || slots::is_under_way(&self.config.routing, state)
            || !state.distributions.table.is_empty()
            || finished.any(|key| key.partition() != Some(state.partition))
            || (state.message_subscriptions.pending_after(Key::NONE))
                .next()
                .is_some()
            || (state.process_subscriptions.pending_after(Key::NONE))
                .next()
                .is_some()
    }

    /// Takes the finished batch with its effects. `None` when no record was written: the effects then depend on no entry
    /// and may leave at once.
    pub fn take_batch(&mut self) -> (Option<Vec<u8>>, Effects) {
        let mut effects = self.effects.take();
        let batch = self.out.take_with_kinds().map(|(batch, kinds)| {
            effects.noted.kinds = kinds;
            effects.noted.timestamp = self.out.timestamp();
            batch
        });
        self.state.begin_batch(self.out.next_position());
        let directory = &self.state.identity.directory;
        if directory.version() != self.directory {
            self.directory = directory.version();
            effects.directory = Some(directory.clone());
        }
        (batch, effects)
    }

    /// Bytes of the current batch.
    pub fn batch_size(&self) -> usize {
        self.out.size()
    }

    /// Records of the current batch.
    pub fn batch_len(&self) -> usize {
        self.out.len()
    }

    /// Applies a committed batch, as followers and recovery do.
    pub fn apply(&mut self, batch: &[u8]) -> Result<(), DecodeError> {
        let mut reader = BatchReader::new(batch)?;
        appliers::apply_batch(&mut self.state, &mut reader)?;
        self.out.reset(reader.position());
        Ok(())
    }

    /// Prepares the engine for commands once the log has been applied to its end. See [`State::open_to_replay`].
    pub fn promote(&mut self) -> Result<(), StoreError> {
        self.state.promote()
    }

    /// Position of the next record.
    pub fn next_position(&self) -> u64 {
        self.out.next_position()
    }

    pub fn fault(&self) -> Option<StoreError> {
        self.state.fault()
    }

    /// Requests that wait for an instance, a distribution or a correlation to end. They are lost with this engine.
    pub fn waiting_requests(&self) -> Vec<RequestId> {
        let volatile = &self.volatile;
        let results = volatile.awaiting_results.values().map(|(id, _)| *id);
        let distributions = volatile.awaiting_distribution.values().map(|(id, _)| *id);
        let correlations = volatile.awaiting_correlation.values().map(|(id, _)| *id);
        let user_tasks = volatile.awaiting_user_tasks.values().copied();
        let migrations = volatile.awaiting_migration.values().copied();
        let waiting = results.chain(distributions).chain(correlations);
        let evaluations = volatile.awaiting_evaluations.values().copied();
        let deletions = volatile.awaiting_deletion.values().copied();
        let waiting = waiting.chain(user_tasks).chain(evaluations);
        waiting.chain(migrations).chain(deletions).collect()
    }

    /// Forgets a request whose client no longer waits.
    pub fn forget_request(&mut self, request: RequestId) {
        let volatile = &mut self.volatile;
        volatile
            .awaiting_results
            .retain(|_, (id, _)| *id != request);
        volatile
            .awaiting_distribution
            .retain(|_, (id, _)| *id != request);
        volatile
            .awaiting_correlation
            .retain(|_, (id, _)| *id != request);
        volatile.awaiting_user_tasks.retain(|_, id| *id != request);
        volatile.awaiting_migration.retain(|_, id| *id != request);
        volatile.awaiting_evaluations.retain(|_, id| *id != request);
        volatile.awaiting_deletion.retain(|_, id| *id != request);
    }

    fn context<'a>(
        &'a mut self,
        now: i64,
        request: Option<RequestId>,
        streams: &'a mut dyn JobStreams,
    ) -> Context<'a> {
        let now = self.state.pinned_clock().unwrap_or(now);
        self.out.begin(now);
        self.working_for = Key::NONE;
        self.budget = Budget::new(
            self.config.turn_steps,
            self.out.size(),
            self.config.turn_time,
        );
        Context {
            now: if self.out.is_empty() {
                now
            } else {
                self.out.timestamp()
            },
            state: &mut self.state,
            out: &mut self.out,
            effects: &mut self.effects,
            streams,
            volatile: &mut self.volatile,
            config: &self.config,
            request,
            tenant: TenantId::default(),
            origin: Origin::internal(),
            // It is for this command only, and is used up regardless of the outcome.
            prepared: self.prepared.take(),
            steps: &mut self.steps,
            budget: &mut self.budget,
            working_for: &mut self.working_for,
            new_jobs: &mut self.new_jobs,
        }
    }
}

fn answer(cx: &mut Context<'_>, outcome: Outcome) {
    if let Some(id) = cx.request
        && let Some(answer) = outcome.transpose()
    {
        cx.respond(id, answer);
    }
}

/// Carries out the steps that the command has queued, stores the remaining ones, and pushes new jobs.
fn finish(cx: &mut Context<'_>) {
    conditions::settle(cx);
    if !cx.steps.is_empty() {
        step::run(cx);
        queue::suspend(cx);
    }
    if !cx.new_jobs.is_empty() {
        job::activate::push_new(cx);
    }
    // Each step bounds what it writes. A batch that the log rejects would stop the partition; a panic costs only the
    // command, or the instance that caused it.
    let written = cx.budget.written(cx.out.size());
    assert!(
        written <= MAX_TURN_BYTES,
        "one turn wrote {written} bytes, more than {MAX_TURN_BYTES}"
    );
}

/// Maximum bytes of records in one turn: far more than its budget plus the largest step (a deployment, 32 MiB).
const MAX_TURN_BYTES: usize = 64 << 20;
