//! Activating → activated → completing → completed, and terminating → terminated: the same for every element.

use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::intent::{
    CompensationSubscriptionIntent, ProcessInstanceIntent as Intent, RuntimeInstructionIntent,
};
use skep_protocol::value::{
    Activation, ListenerEvent, ProcessInstanceValue, RuntimeInstructionValue, Step,
};

use super::container::{self, Verdict};
use super::subject::{self, Subject};
use super::subscriptions::start;
use super::{
    Ending, Flows, Next, Problem, behavior_of, compensation, flows, incidents, listeners, mappings,
    subscriptions, triggers,
};
use crate::processing::{Context, job, variable};
use crate::remote::Variables;
use crate::state::ElementState;

/// Creates the element instance. `None` when its flow scope is gone or ending, or when an earlier activation of the same
/// join has consumed the tokens. The scope has then been notified.
pub(crate) fn activating(cx: &mut Context<'_>, activation: &Activation) -> Option<Subject> {
    create(cx, activation, Key::NONE, None)
}

/// Like [`activating`], for the target of a trigger: if the trigger has interrupted the scope, only its target is still
/// activated.
pub(crate) fn activating_by(
    cx: &mut Context<'_>,
    activation: &Activation,
    trigger: Key,
) -> Option<Subject> {
    create(cx, activation, trigger, None)
}

/// Like [`activating`], with a key reserved for the instance.
pub(crate) fn activating_as(
    cx: &mut Context<'_>,
    activation: &Activation,
    key: Key,
) -> Option<Subject> {
    create(cx, activation, Key::NONE, Some(key))
}

fn create(
    cx: &mut Context<'_>,
    activation: &Activation,
    trigger: Key,
    key: Option<Key>,
) -> Option<Subject> {
    let scope = cx.state.elements.get(activation.scope)?;
    let mut value = ProcessInstanceValue {
        element: activation.element,
        flow_scope_key: activation.scope,
        consumed_flows: activation.consumed_flows,
        ..subject::value_of(scope)
    };
    let is_ending = scope.is_ending() && scope.interrupted_within() != Some(trigger);
    let state = scope.state;
    let process = subject::definition_of(cx, &value)?;
    let is_open = state == ElementState::Activated && !is_ending;
    // The join is no longer ready if an earlier activation has consumed the tokens.
    let tokens = match activation.consumed_flows {
        0 => Some(0),
        count => flows::tokens_for(cx, &process, activation, count),
    };
    let Some(tokens) = tokens.filter(|_| is_open) else {
        if let Some(flow) = activation.via.filter(|_| is_ending) {
            flows::delete(cx, &value, flow);
        }
        container::child_ended(cx, activation.scope);
        return None;
    };
    value.consumed_flows = tokens;
    let key = key.unwrap_or_else(|| cx.next_key());
    cx.event(key, Intent::ElementActivating, &value);
    value.consumed_flows = 0;
    Some(Subject {
        key,
        process,
        value,
    })
}

/// Makes the variables of a trigger local to its boundary event. Where they go is decided when it completes.
pub(crate) fn accept(cx: &mut Context<'_>, el: &Subject, variables: &Variables) {
    for (name, value) in variables {
        variable::set_local(cx, el.key, name, value);
    }
}

/// Applies input mappings, runs the start listeners, and starts the behavior. Also used to continue after a listener, and
/// to retry after an incident.
pub(crate) fn activate(cx: &mut Context<'_>, el: &Subject) {
    match begin(cx, el) {
        Ok(Next::Wait) => {}
        Ok(Next::Complete) => cx.steps.push(Step::Complete(el.key)),
        Ok(Next::Leave(flow)) => complete_with(cx, el, &[], flow),
        Err(problem) => incidents::raise(cx, el, problem),
    }
}

fn begin(cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
    let element = el.element();
    let to_run = &element.start_listeners;
    if listeners::none_has_run(cx, el, to_run) {
        prepare(cx, el)?;
    }
    if listeners::run_next(cx, el, ListenerEvent::Start, to_run)? {
        return Ok(Next::Wait);
    }
    behavior_of(&element.kind).activate(cx, el)
}

/// Prepares an element before it begins: with what its scope provides, and with its input mappings.
fn prepare(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    container::child_activating(cx, el)?;
    behavior_of(&el.element().kind).prepare(cx, el)?;
    if el.element().inputs.is_empty() {
        return Ok(());
    }
    mappings::apply_inputs(cx, el)
}

/// Continues an element where it stopped, after its incident is resolved.
pub(crate) fn resume(cx: &mut Context<'_>, el: &Subject) {
    let Some(row) = cx.state.elements.get(el.key) else {
        return cx.broken(format_args!("{}, which has an incident, is gone", el.key));
    };
    match row.state {
        ElementState::Activating => activate(cx, el),
        ElementState::Activated => behavior_of(&el.element().kind).resume(cx, el),
        ElementState::Completing => finish(cx, el, None),
        ElementState::Terminating => behavior_of(&el.element().kind).resume_termination(cx, el),
    }
}

/// Activates the element once the behavior has evaluated everything that can fail.
pub(crate) fn activated(cx: &mut Context<'_>, el: &Subject) {
    cx.event(el.key, Intent::ElementActivated, &el.value);
}

pub(crate) fn complete(cx: &mut Context<'_>, key: Key) {
    if let Some(el) = Subject::load(cx, key) {
        complete_with(cx, &el, &[], None);
    }
}

/// Completes an element that has what it waited for, with the variables that came with it. It leaves through all its
/// sequence flows, or through these.
pub(crate) fn complete_with(
    cx: &mut Context<'_>,
    el: &Subject,
    variables: &[(Arc<str>, JsonText)],
    into: Option<Flows>,
) {
    // An interrupted element is ended by the interrupting event.
    let row = cx.state.elements.get(el.key);
    if row.is_none_or(|row| row.state != ElementState::Activated || row.is_interrupted()) {
        return;
    }
    // A scope with new activity since its completion was queued completes later.
    let goes_on = row.is_some_and(|row| row.active_children > 0 || row.goes_on());
    if goes_on && behavior_of(&el.element().kind).as_container().is_some() {
        return;
    }
    let has_trigger = row.is_some_and(|row| row.has_triggers());
    cx.event(el.key, Intent::ElementCompleting, &el.value);
    if !variables.is_empty() {
        variable::accept(cx, el, variables);
    }
    if has_trigger {
        let variables = triggers::take(cx, el.key);
        variable::accept(cx, el, &variables);
    }
    finish(cx, el, into);
}

/// The second half of completion. Also used to continue after a listener, and to retry after an incident.
pub(crate) fn finish(cx: &mut Context<'_>, el: &Subject, into: Option<Flows>) {
    let (handed_on, verdict) = match conclude(cx, el) {
        Ok(Some(concluded)) => concluded,
        // A listener runs first.
        Ok(None) => return,
        Err(problem) => return incidents::raise(cx, el, problem),
    };
    let next = behavior_of(&el.element().kind).ending(cx, el);
    compensation::leave_behind(cx, el);
    let row = cx.state.elements.get(el.key);
    if row.is_some_and(|row| row.extra.is_some()) {
        incidents::resolve_all(cx, el.key);
    }
    cx.event(el.key, Intent::ElementCompleted, &el.value);
    behavior_of(&el.element().kind).completed(cx, el, handed_on);
    start::start_next(cx, next);
    if el.element().is_for_compensation {
        compensation::handler_ended(cx, el, CompensationSubscriptionIntent::Completed);
    }
    if ends_instance(cx, el) {
        cx.steps
            .push(Step::Terminate(el.value.process_instance_key));
        // A terminating scope waits for its last child.
        let scope = cx.state.elements.get(el.flow_scope());
        if scope.is_some_and(|scope| scope.state == ElementState::Terminating) {
            container::child_ended(cx, el.flow_scope());
        }
        return;
    }
    let outgoing = match &into {
        Some(chosen) => chosen.as_slice(),
        None if !behavior_of(&el.element().kind).takes_flows() => &[],
        None => el.element().outgoing.as_slice(),
    };
    flows::take_all(cx, el, outgoing);
    if outgoing.is_empty() {
        container::child_completed(cx, el, verdict);
    }
    flows::reconsider_joins(cx, el);
}

/// Everything in the completion that can fail: output mappings, end listeners, the behavior's result, and the scope's
/// reaction. `None` while a listener runs.
fn conclude(cx: &mut Context<'_>, el: &Subject) -> Result<Option<(Variables, Verdict)>, Problem> {
    let element = el.element();
    let behavior = behavior_of(&element.kind);
    let to_run = &element.end_listeners;
    if listeners::none_has_run(cx, el, to_run) {
        if !element.outputs.is_empty() {
            mappings::apply_outputs(cx, el)?;
        }
        behavior.complete(cx, el)?;
        subscriptions::unsubscribe(cx, el.key);
    }
    if listeners::run_next(cx, el, ListenerEvent::End, to_run)? {
        return Ok(None);
    }
    let handed_on = behavior.hand_on(cx, el)?;
    let verdict = container::child_completing(cx, el)?;
    Ok(Some((handed_on, verdict)))
}

/// Whether the creation requested the termination of the instance after this element.
fn ends_instance(cx: &mut Context<'_>, el: &Subject) -> bool {
    let process = cx.state.elements.get(el.value.process_instance_key);
    let asked = process
        .and_then(|process| process.extra.as_ref())
        .is_some_and(|extra| extra.terminate_after.contains(&el.value.element));
    if asked {
        let value = RuntimeInstructionValue {
            process_instance_key: el.value.process_instance_key,
            process_definition_key: el.process.key,
            element: el.value.element,
        };
        let key = cx.next_key();
        cx.event(key, RuntimeInstructionIntent::Interrupted, &value);
    }
    asked
}

pub(crate) fn terminate(cx: &mut Context<'_>, key: Key) {
    let Some(el) = Subject::load(cx, key) else {
        return;
    };
    let Some(row) = cx.state.elements.get(key) else {
        return;
    };
    if row.state == ElementState::Terminating {
        // Where the engine failed, steps were skipped: terminate the content again.
        if !cx.state.banned.is_empty() {
            terminate_inner(cx, &el);
        }
        return;
    }
    terminating(cx, &el);
    terminate_inner(cx, &el);
}

/// Begins the termination: ends the element's own job, subscriptions and incidents.
pub(super) fn terminating(cx: &mut Context<'_>, el: &Subject) {
    let Some(row) = cx.state.elements.get(el.key) else {
        return;
    };
    let (job_key, has_extra) = (row.job_key, row.extra.is_some());
    let error_caught = row.extra.as_ref().is_none_or(|e| e.incidents.is_empty());
    cx.event(el.key, Intent::ElementTerminating, &el.value);
    if el.index() == ElementIndex::PROCESS {
        compensation::delete_all(cx, el.key);
    } else {
        compensation::delete_inside(cx, el.key);
    }
    if let Some(job_key) = job_key.some() {
        job::cancel(cx, job_key, error_caught);
    }
    if has_extra {
        subscriptions::unsubscribe(cx, el.key);
        incidents::resolve_all(cx, el.key);
    }
}

/// Ends the element once its children or its called instance have ended.
fn terminate_inner(cx: &mut Context<'_>, el: &Subject) {
    match behavior_of(&el.element().kind).terminate(cx, el) {
        Ending::Now => terminated(cx, el.key),
        Ending::Waits => {}
    }
}

/// Ends an element whose children or called instance have ended, and with it the scopes that waited for nothing else.
pub(crate) fn terminated(cx: &mut Context<'_>, key: Key) {
    let mut next = Some(key);
    while let Some(key) = next {
        next = terminate_one(cx, key);
    }
}

/// Ends one element, and lets what interrupted it continue. Returns the scope around it if that waited only for this
/// element.
fn terminate_one(cx: &mut Context<'_>, key: Key) -> Option<Key> {
    let el = Subject::load(cx, key)?;
    let row = cx.state.elements.get(key)?;
    if row.active_children > 0 {
        return None;
    }
    end(cx, &el);
    // A called process is inside its call activity.
    let around = around(&el);
    let row = cx.state.elements.get(around);
    let was_last =
        row.is_some_and(|row| row.state == ElementState::Terminating && row.active_children == 0);
    if was_last {
        return Some(around);
    }
    container::child_terminated(cx, el.flow_scope());
    flows::reconsider_joins(cx, &el);
    None
}

/// The scope around the element: for a process, its call activity.
pub(super) fn around(el: &Subject) -> Key {
    match el.index() {
        ElementIndex::PROCESS => el.value.parent_element_instance_key,
        _ => el.flow_scope(),
    }
}

/// Ends one element, and lets what interrupted it continue. The scope around it is not notified yet.
pub(super) fn end(cx: &mut Context<'_>, el: &Subject) {
    let Some(row) = cx.state.elements.get(el.key) else {
        return;
    };
    let interrupted_by = row
        .interrupted_within()
        .is_none()
        .then_some(row)
        .and_then(|row| row.extra.as_ref())
        .and_then(|extra| extra.interrupted_by.some());
    let behavior = behavior_of(&el.element().kind);
    let next = behavior.ending(cx, el);
    cx.event(el.key, Intent::ElementTerminated, &el.value);
    behavior.terminated(cx, el);
    start::start_next(cx, next);
    if el.element().is_for_compensation {
        compensation::handler_ended(cx, el, CompensationSubscriptionIntent::Deleted);
    }
    if let Some(trigger) = interrupted_by {
        cx.steps.push(Step::ActivateTriggered(trigger));
    }
}
