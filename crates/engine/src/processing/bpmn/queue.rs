//! The steps of one command, and the budget of its turn.
//!
//! Steps run in the order in which they were queued. When the budget is spent, the remaining steps become a row
//! ([`crate::state::Continuations`]) and run in a later batch, after other commands have had their turn.

mod checks;

use std::collections::VecDeque;

use skep_feel::Limits;
use skep_protocol::Key;
use skep_protocol::intent::ContinuationIntent;
use skep_protocol::value::{ContinuationValue, QueuedStep, Step};

use self::checks::Checks;
use crate::engine::TurnTime;
use crate::processing::Context;
use crate::processing::conditions::Changes;
use crate::state::State;

/// Budget of one turn: about 2 ms of a partition's time, unless a single step costs more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    steps: u32,
    /// The turn ends once the batch has reached this size.
    batch_bytes: usize,
    /// Evaluation steps left (see `skep_feel`).
    evaluation: u64,
    /// Evaluation steps taken by the current step: all its expressions share the limit of one.
    evaluated: u64,
    time: Option<Deadline>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    clock: fn() -> u64,
    at: u64,
}

/// Bytes of records in one turn. A single step may exceed it by what one element may write.
const BYTES: usize = 1 << 20;
/// Evaluation steps of one turn, about 2 ms. The expressions of one element may take more (together at most the limit of
/// one expression); they are then the last ones of their turn.
const EVALUATION: u64 = 2_000_000 / Limits::STEP_NANOS;

/// The clock is read after this many steps.
const STEPS_PER_LOOK: u32 = 8;

impl Budget {
    /// Creates the budget of a turn whose batch already has `batch_bytes`.
    pub fn new(steps: u32, batch_bytes: usize, time: Option<TurnTime>) -> Budget {
        Budget {
            steps,
            batch_bytes: batch_bytes.saturating_add(BYTES),
            evaluation: EVALUATION,
            evaluated: 0,
            time: time.map(|time| Deadline {
                clock: time.clock,
                at: (time.clock)().saturating_add(time.most),
            }),
        }
    }

    pub fn is_spent(&self, batch_bytes: usize) -> bool {
        self.steps == 0 || self.evaluation == 0 || batch_bytes >= self.batch_bytes
    }

    /// Steps left.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Leaves the rest to later turns: the current step has done as much as a whole turn may.
    pub fn end_turn(&mut self) {
        self.steps = 0;
    }

    /// Bytes of records that this turn has written.
    pub fn written(&self, batch_bytes: usize) -> usize {
        batch_bytes.saturating_sub(self.batch_bytes.saturating_sub(BYTES))
    }

    pub fn take_step(&mut self) {
        self.steps = self.steps.saturating_sub(1);
        self.evaluated = 0;
        // Most steps take microseconds: reading the clock at each of them would be noticeable.
        if self.steps.is_multiple_of(STEPS_PER_LOOK)
            && let Some(deadline) = self.time
            && (deadline.clock)() >= deadline.at
        {
            self.steps = 0;
        }
    }

    /// Evaluation steps that the current step has taken so far.
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Charges for processed text: about a nanosecond per byte.
    pub fn take_bytes(&mut self, bytes: usize) {
        self.take_work(bytes as u64 / Limits::STEP_NANOS);
    }

    /// Charges for work that is no evaluation of an expression but takes as long as this many of its steps.
    pub fn take_work(&mut self, steps: u64) {
        self.evaluation = self.evaluation.saturating_sub(steps);
    }

    pub fn take_evaluation(&mut self, steps: u64) {
        self.evaluation = self.evaluation.saturating_sub(steps);
        self.evaluated = self.evaluated.saturating_add(steps);
    }
}

/// The queue: first the rest of the continuation being resumed, if any, then the steps queued in this turn.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    queue: VecDeque<QueuedStep>,
    resumed: Option<Resumed>,
    /// Chain length of the current step; the steps that it queues are one further from the last wait state.
    chain: u32,
    /// Too many steps were waiting at some point: the remaining ones are deferred, or they would keep doubling just below
    /// the limit.
    runaway: bool,
    /// Joins that are about to be checked. None: not counted in this turn, because nobody has asked.
    checks: Option<Checks>,
    /// Variables set by the current step in scopes with listening conditions.
    pub changes: Changes,
}

/// Maximum number of waiting steps of one command. A loop that doubles its tokens in every round reaches it.
pub(crate) const MAX_WAITING: usize = 100_000;

#[derive(Clone, Copy, Debug)]
struct Resumed {
    key: Key,
    taken: u32,
}

impl Steps {
    pub fn push(&mut self, step: Step) {
        self.push_at(step, self.chain);
    }

    /// Requeues the current step: its results are no further from the last wait state.
    pub fn again(&mut self, step: Step) {
        self.push_at(step, self.chain.saturating_sub(1));
    }

    /// Queues a step at this distance from the last wait state.
    pub fn push_at(&mut self, step: Step, chain: u32) {
        self.count(&step);
        self.queue.push_back(QueuedStep { step, chain });
    }

    /// Queues steps before those after `place`, as if they had been queued then.
    pub fn insert_at(&mut self, place: usize, steps: &[Step]) {
        let chain = self.chain;
        for (offset, step) in steps.iter().enumerate() {
            let step = QueuedStep { step: *step, chain };
            let place = (place + offset).min(self.queue.len());
            self.count(&step.step);
            self.queue.insert(place, step);
        }
    }

    /// Number of steps queued in this turn that have not run yet.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The distance of newly queued steps from the last wait state.
    pub fn chain(&self) -> u32 {
        self.chain
    }

    /// Whether nothing is queued and no continuation is being resumed.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.resumed.is_none()
    }

    /// Resumes this continuation: the next step comes from it.
    pub fn resume(&mut self, key: Key, state: &mut State) {
        self.resumed = Some(Resumed { key, taken: 0 });
        self.checks = None;
        self.runaway = state.continuations.is_runaway(key);
    }

    /// Whether too many steps wait, including those of the resumed continuation, or did so since it began.
    pub fn is_runaway(&mut self, state: &mut State) -> bool {
        self.runaway |= self.waiting(state) >= MAX_WAITING;
        self.runaway
    }

    fn waiting(&self, state: &mut State) -> usize {
        let resumed = self.resumed.map_or(0, |resumed| {
            let steps = state.continuations.steps(resumed.key);
            steps.saturating_sub(resumed.taken as usize)
        });
        self.queue.len() + resumed
    }

    /// Takes the next step off the queue.
    pub fn pop(&mut self, state: &mut State) -> Option<QueuedStep> {
        let resumed = self.resumed.as_mut().and_then(|resumed| {
            let step = state.continuations.step(resumed.key, resumed.taken)?;
            resumed.taken += 1;
            Some(step)
        });
        let next = resumed.or_else(|| self.queue.pop_front())?;
        self.chain = next.chain.saturating_add(1);
        if let Some(checks) = &mut self.checks {
            checks.remove(&next.step);
        }
        Some(next)
    }

    /// Whether a join of this scope is about to be checked.
    pub fn checks_in(&mut self, scope: Key, state: &mut State) -> bool {
        self.checks(state).any_in(scope)
    }

    /// Whether this join is about to be checked.
    pub fn checks_join(&mut self, scope: Key, gateway: u32, state: &mut State) -> bool {
        self.checks(state).has(scope, gateway)
    }

    fn checks(&mut self, state: &mut State) -> &Checks {
        self.checks.get_or_insert_with(|| {
            let mut checks = Checks::default();
            if let Some(resumed) = self.resumed {
                let steps = state.continuations.remaining(resumed.key, resumed.taken);
                steps.for_each(|queued| checks.add(&queued.step));
            }
            self.queue
                .iter()
                .for_each(|queued| checks.add(&queued.step));
            checks
        })
    }

    fn count(&mut self, step: &Step) {
        if let Some(checks) = &mut self.checks {
            checks.add(step);
        }
    }

    /// Marks that no step is running.
    pub fn end_chain(&mut self) {
        self.chain = 0;
    }
}

/// Stores the remaining steps, if any. Called once, at the end of a turn.
pub(crate) fn suspend(cx: &mut Context<'_>) {
    let steps: Vec<QueuedStep> = cx.steps.queue.drain(..).collect();
    cx.steps.checks = None;
    let runaway = std::mem::take(&mut cx.steps.runaway);
    let (key, taken, begins) = match cx.steps.resumed.take() {
        Some(resumed) => (resumed.key, resumed.taken, false),
        None => (cx.next_key(), 0, true),
    };
    if taken > 0 || !steps.is_empty() {
        let value = ContinuationValue {
            taken,
            steps,
            runaway,
            origin: begins.then(|| cx.origin.kept()).flatten(),
        };
        cx.event(key, ContinuationIntent::Continued, &value);
    }
}
