//! Carries out life-cycle steps.

use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::value::{Activation, ErrorType, QueuedStep, Step};

use super::queue::MAX_WAITING;
use super::{
    Problem, Subject, call_activity, compensation, incidents, lifecycle, modification,
    multi_instance, throwing, triggers,
};
use crate::processing::Context;
use crate::processing::identity::deletion;
use crate::processing::message::message_side;
use crate::processing::process_instance::migration;
use crate::processing::{conditional_evaluation, conditions, signal};

/// Maximum number of consecutive steps without a wait state: a loop that never waits would never end.
pub(crate) const MAX_CHAIN: u32 = 10_000;

/// Runs queued steps and those that they queue, until none are left or the budget of the turn is spent.
pub(crate) fn run(cx: &mut Context<'_>) {
    let mut waiting = Vec::new();
    conditions::settle(cx);
    while !cx.is_spent() {
        let Some(next) = cx.steps.pop(cx.state) else {
            break;
        };
        cx.budget.take_step();
        if cx.is_held_back(&next.step) {
            continue;
        }
        if cx.waits_for_migration(&next.step) {
            waiting.push(next);
            continue;
        }
        one(cx, next.step, next.chain);
        conditions::settle(cx);
    }
    for QueuedStep { step, chain } in waiting {
        cx.steps.push_at(step, chain);
    }
    cx.steps.end_chain();
}

fn one(cx: &mut Context<'_>, step: Step, chain: u32) {
    match step {
        // Termination always comes to an end, so it is not limited.
        Step::Terminate(key) => lifecycle::terminate(cx, key),
        Step::TerminateChildren { scope, next, last } => terminate_children(cx, scope, next, last),
        Step::Terminated(key) => lifecycle::terminated(cx, key),
        Step::Compensate {
            thrower,
            subscription,
        } => compensation::compensate(cx, thrower, subscription),
        Step::ActivateHandlers { thrower, handler } => {
            compensation::activate_handlers(cx, thrower, handler);
        }
        Step::Migrate(instance) => migration::carry_on(cx, instance),
        Step::Modify { instance, next } => modification::carry_out(cx, instance, next),
        Step::ModifyTerminate { instance, next, at } => {
            modification::terminate(cx, instance, next, at);
        }
        Step::ModifyTerminated { instance, next, at } => {
            modification::terminated(cx, instance, next, at);
        }
        Step::DeleteIdentity(row) => deletion::carry_on(cx, row),
        Step::CorrelateMessage(key) => message_side::correlate_next(cx, key),
        Step::DeliverSignal { signal, after } => signal::deliver_next(cx, signal, after),
        // The steps that these trigger are counted.
        Step::EvaluateCondition(key) => conditions::evaluate(cx, key),
        Step::CheckConditions { check, after } => conditions::check_next(cx, check, after),
        Step::EvaluateStarts { evaluation, after } => {
            conditional_evaluation::go_on(cx, evaluation, after);
        }
        Step::Activate(_)
        | Step::ActivateTriggered(_)
        | Step::ActivateInner(_)
        | Step::Call { .. }
        | Step::Complete(_)
        | Step::ThrowSignal(_)
            if is_too_much(cx, chain) && !throwing::has_thrown(cx, &step) =>
        {
            put_off(cx, step, too_many_steps());
        }
        Step::Activate(_) | Step::ActivateInner(_) if is_full(cx, &step) => {
            let most = cx.config.max_element_instances;
            put_off(cx, step, too_many_element_instances(most));
        }
        Step::Activate(activation) => {
            if let Some(el) = lifecycle::activating(cx, &activation) {
                lifecycle::activate(cx, &el);
            }
        }
        Step::ActivateTriggered(key) => activate_triggered(cx, key),
        Step::Call { caller, definition } => call_activity::call(cx, caller, definition),
        Step::ActivateInner(body) => multi_instance::activate_inner(cx, body),
        Step::Complete(key) => lifecycle::complete(cx, key),
        Step::ThrowSignal(key) => throwing::signal_now(cx, key),
    }
}

/// Activates the target of a trigger.
pub(crate) fn activate_triggered(cx: &mut Context<'_>, trigger: Key) {
    if let Some((el, variables)) = triggers::activating_triggered(cx, trigger) {
        lifecycle::activate(cx, &el);
        lifecycle::accept(cx, &el, &variables);
    }
}

fn is_too_much(cx: &mut Context<'_>, chain: u32) -> bool {
    chain >= MAX_CHAIN || cx.steps.is_runaway(cx.state)
}

/// Whether the process instance has reached its limit of element instances.
fn is_full(cx: &mut Context<'_>, step: &Step) -> bool {
    let scope = match step {
        Step::Activate(activation) => activation.scope,
        Step::ActivateInner(body) => *body,
        _ => return false,
    };
    let row = cx.state.elements.get(scope);
    let instance = row.map_or(Key::NONE, |row| row.process_instance_key);
    cx.state.elements.count_of(instance) >= cx.config.max_element_instances
}

/// Defers a step: it waits for its incident to be resolved.
fn put_off(cx: &mut Context<'_>, step: Step, problem: Problem) {
    let el = match step {
        Step::Activate(activation) => lifecycle::activating(cx, &activation),
        Step::ActivateTriggered(key) => {
            triggers::activating_triggered(cx, key).map(|(el, variables)| {
                lifecycle::accept(cx, &el, &variables);
                el
            })
        }
        Step::Complete(key)
        | Step::ThrowSignal(key)
        | Step::ActivateInner(key)
        | Step::Call { caller: key, .. } => Subject::load(cx, key),
        Step::Terminate(_)
        | Step::TerminateChildren { .. }
        | Step::Terminated(_)
        | Step::Migrate(_)
        | Step::Compensate { .. }
        | Step::ActivateHandlers { .. }
        | Step::Modify { .. }
        | Step::ModifyTerminate { .. }
        | Step::ModifyTerminated { .. }
        | Step::DeleteIdentity(_)
        | Step::CorrelateMessage(_)
        | Step::DeliverSignal { .. }
        | Step::EvaluateCondition(_)
        | Step::CheckConditions { .. }
        | Step::EvaluateStarts { .. } => None,
    };
    if let Some(el) = el {
        incidents::raise(cx, &el, problem);
    }
}

/// Terminates the child `next` and then those that were created after it, one after the other. A single step represents all
/// of them, however many there are.
fn terminate_children(cx: &mut Context<'_>, scope: Key, next: Key, last: Key) {
    let here = |cx: &mut Context<'_>, child: Key| {
        let row = cx.state.elements.get(child);
        row.is_some_and(|row| row.flow_scope_key == scope)
    };
    // The child may have ended meanwhile. Those before it are already ending, so starting over only skips them.
    let child = if here(cx, next) {
        next
    } else {
        cx.state.elements.child_after(scope, Key::NONE)
    };
    // Keys are ascending: newer children are not affected.
    let is_meant = |child: Key| child.some().is_some() && (last.is_none() || child <= last);
    if !is_meant(child) {
        return;
    }
    cx.steps.push(Step::Terminate(child));
    let next = cx.state.elements.child_after(scope, child);
    if is_meant(next) {
        cx.steps.push(Step::TerminateChildren { scope, next, last });
    }
}

/// Queues the activation of an element that no sequence flow leads to.
pub(crate) fn activate(cx: &mut Context<'_>, scope: Key, element: ElementIndex) {
    cx.steps.push(Step::Activate(Activation {
        scope,
        element: element.0,
        via: None,
        consumed_flows: 0,
    }));
}

fn too_many_steps() -> Problem {
    Problem::new(
        ErrorType::Unknown,
        format!(
            "The process took {MAX_CHAIN} steps in a row without a wait state, or has {MAX_WAITING} steps to take at a \
             time; a loop in the model may never end. Check its conditions, then resolve the incident to let it go on."
        ),
    )
}

fn too_many_element_instances(most: u32) -> Problem {
    Problem::new(
        ErrorType::Unknown,
        format!(
            "The process instance has {most} element instances that have not ended, and may not have more \
             (skep.engine.max-element-instances). Let work be completed, or cancel it if its model repeats without end; then \
             resolve the incident to let it go on."
        ),
    )
}
