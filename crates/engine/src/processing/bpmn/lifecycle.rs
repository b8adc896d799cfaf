//! Activating → activated → completing → completed, and terminating → terminated: the same for every element.

use std::sync::Arc;

use skep_model::{Element, ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::intent::{ProcessInstanceIntent as Intent, RuntimeInstructionIntent};
use skep_protocol::value::{
    Activation, ErrorType, ProcessInstanceValue, RuntimeInstructionValue, Step,
};

use super::subject::{self, Subject};
use super::{Ending, Next, Problem, behavior_of, incidents, mappings, subscriptions};
use crate::processing::{Context, job, variable};
use crate::remote::Variables;
use crate::state::{ElementInstance, ElementState};

/// Creates the element instance. `None` when its flow scope is gone or ending, or when an earlier activation of the same
/// join has consumed the tokens; the scope has then been told.
pub(crate) fn activating(cx: &mut Context<'_>, activation: &Activation) -> Option<Subject> {
    let scope = cx.state.elements.get(activation.scope)?;
    let mut value = ProcessInstanceValue {
        element: activation.element,
        flow_scope_key: activation.scope,
        consumed_flows: activation.consumed_flows,
        ..subject::value_of(scope)
    };
    let (state, is_ending) = (scope.state, scope.is_ending());
    let process = cx.process(value.process_definition_key)?;
    let element = process.graph.elements.get(activation.element as usize)?;
    let index = ElementIndex(activation.element);
    let consumed = activation.consumed_flows > 1 && {
        let scope = cx.state.elements.get(activation.scope)?;
        !is_joined(scope, element, index)
    };
    if state != ElementState::Activated || is_ending || consumed {
        if let Some(flow) = activation.via.filter(|_| is_ending) {
            delete_flow(cx, &value, flow);
        }
        child_ended(cx, activation.scope);
        return None;
    }
    let key = cx.next_key();
    cx.event(key, Intent::ElementActivating, &value);
    value.consumed_flows = 0;
    Some(Subject {
        key,
        process,
        value,
    })
}

/// A token ends on a sequence flow. `of`: an element in the same scope.
pub(crate) fn delete_flow(cx: &mut Context<'_>, of: &ProcessInstanceValue, flow: u32) {
    let value = ProcessInstanceValue {
        element: flow,
        consumed_flows: 0,
        ..of.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowDeleted, &value);
}

/// Every incoming flow of the joining gateway has a token.
fn is_joined(scope: &ElementInstance, gateway: &Element, index: ElementIndex) -> bool {
    let mut incoming = gateway.incoming.iter();
    incoming.all(|flow| scope.waiting_tokens(index.0, flow.0) > 0)
}

/// A boundary event has the variables of its trigger as its own; what they lead to is decided when it completes.
pub(crate) fn accept(cx: &mut Context<'_>, el: &Subject, variables: &Variables) {
    for (name, value) in variables {
        variable::set_local(cx, el.key, name, value);
    }
}

/// Applies input mappings and lets the behaviour start. Also the way to try again after an incident.
pub(crate) fn activate(cx: &mut Context<'_>, el: &Subject) {
    let element = el.element();
    let mapped = if element.inputs.is_empty() {
        Ok(())
    } else {
        mappings::apply_inputs(cx, el)
    };
    match mapped.and_then(|()| behavior_of(&element.kind).activate(cx, el)) {
        Ok(Next::Wait) => {}
        Ok(Next::Complete) => cx.steps.push(Step::Complete(el.key)),
        Ok(Next::Leave(flow)) => complete_with(cx, el, &[], flow),
        Err(problem) => incidents::raise(cx, el, problem),
    }
}

/// The behaviour has evaluated all that can fail.
pub(crate) fn activated(cx: &mut Context<'_>, el: &Subject) {
    cx.event(el.key, Intent::ElementActivated, &el.value);
}

pub(crate) fn complete(cx: &mut Context<'_>, key: Key) {
    if let Some(el) = Subject::load(cx, key) {
        complete_with(cx, &el, &[], None);
    }
}

/// The element has what it waited for, and takes over the variables that come with it. It leaves by all its sequence flows,
/// or by this one.
pub(crate) fn complete_with(
    cx: &mut Context<'_>,
    el: &Subject,
    variables: &[(Arc<str>, JsonText)],
    into: Option<ElementIndex>,
) {
    // One that was interrupted ends by what interrupted it.
    let row = cx.state.elements.get(el.key);
    if row.is_none_or(|row| row.state != ElementState::Activated || row.is_interrupted()) {
        return;
    }
    cx.event(el.key, Intent::ElementCompleting, &el.value);
    if !variables.is_empty() {
        variable::accept(cx, el, variables);
    }
    finish(cx, el, into);
}

/// The second half of completion. Also the way to try again after an incident.
pub(crate) fn finish(cx: &mut Context<'_>, el: &Subject, into: Option<ElementIndex>) {
    let element = el.element();
    let behavior = behavior_of(&element.kind);
    let mapped = if element.outputs.is_empty() {
        Ok(())
    } else {
        mappings::apply_outputs(cx, el)
    };
    let handed_on = match mapped.and_then(|()| behavior.complete(cx, el)) {
        Ok(handed_on) => handed_on,
        Err(problem) => return incidents::raise(cx, el, problem),
    };
    subscriptions::unsubscribe(cx, el.key);
    behavior.ending(cx, el);
    cx.event(el.key, Intent::ElementCompleted, &el.value);
    behavior.completed(cx, el, handed_on);
    if ends_instance(cx, el) {
        cx.steps
            .push(Step::Terminate(el.value.process_instance_key));
        let scope = cx.state.elements.get(el.flow_scope());
        // One that is terminated already waits for its last child.
        if scope.is_some_and(|scope| scope.state == ElementState::Terminating) {
            child_ended(cx, el.flow_scope());
        }
        return;
    }
    match into {
        Some(flow) => take_flow(cx, el, flow),
        None => {
            for flow in &element.outgoing {
                take_flow(cx, el, *flow);
            }
            if element.outgoing.is_empty() {
                child_ended(cx, el.flow_scope());
            }
        }
    }
}

/// The creation asked to terminate the instance after this element.
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

/// Takes a sequence flow and, where nothing else is awaited, activates its target.
fn take_flow(cx: &mut Context<'_>, el: &Subject, flow: ElementIndex) {
    let ElementKind::SequenceFlow(sequence_flow) = &el.process.graph.element(flow).kind else {
        return;
    };
    let scope = el.flow_scope();
    let value = ProcessInstanceValue {
        element: flow.0,
        ..el.value.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowTaken, &value);

    let target = sequence_flow.target;
    let target_element = el.process.graph.element(target);
    let incoming = &target_element.incoming;
    let (mut via, mut consumed_flows) = (Some(flow.0), 1);
    if matches!(target_element.kind, ElementKind::ParallelGateway) && incoming.len() > 1 {
        let Some(row) = cx.state.elements.get(scope) else {
            return;
        };
        let is_ending = row.is_ending();
        if is_ending || !is_joined(row, target_element, target) {
            if is_ending {
                delete_flow(cx, &el.value, flow.0);
            }
            child_ended(cx, scope);
            return;
        }
        (via, consumed_flows) = (None, incoming.len() as u32);
    }
    cx.steps.push(Step::Activate(Activation {
        scope,
        element: target.0,
        via,
        consumed_flows,
    }));
}

/// A child of `scope` has ended without a successor: the scope may be done.
pub(crate) fn child_ended(cx: &mut Context<'_>, scope: Key) {
    let Some(row) = cx.state.elements.get(scope) else {
        return;
    };
    if row.active_children > 0 {
        return;
    }
    let (state, flows) = (row.state, row.active_flows);
    match state {
        // What has interrupted it ends it.
        ElementState::Activated if row.goes_on() || row.is_interrupted() => {}
        ElementState::Activated if flows == 0 => cx.steps.push(Step::Complete(scope)),
        ElementState::Activated => never_joined(cx, scope),
        ElementState::Terminating => cx.steps.push(Step::Terminated(scope)),
        ElementState::Activating | ElementState::Completing => {}
    }
}

/// The process that a call activity waits for has ended, one way or the other. One that completed hands its variables on.
pub(crate) fn called_ended(cx: &mut Context<'_>, call_activity: Key, handed_on: Variables) {
    let Some(row) = cx.state.elements.get(call_activity) else {
        return;
    };
    let (state, instance) = (row.state, row.process_instance_key);
    match state {
        // It can only be cancelled.
        ElementState::Activated if cx.state.banned.contains(instance) => {}
        ElementState::Activated if !handed_on.is_empty() => {
            if let Some(el) = Subject::load(cx, call_activity) {
                complete_with(cx, &el, &handed_on, None);
            }
        }
        ElementState::Activated => cx.steps.push(Step::Complete(call_activity)),
        ElementState::Terminating => cx.steps.push(Step::Terminated(call_activity)),
        ElementState::Activating | ElementState::Completing => {}
    }
}

/// Tokens wait at joins, and nothing is left in the scope that could bring the missing ones.
fn never_joined(cx: &mut Context<'_>, scope: Key) {
    let Some(el) = Subject::load(cx, scope) else {
        return;
    };
    let Some(row) = cx.state.elements.get(scope) else {
        return;
    };
    let extra = row.extra.as_ref();
    let Some(extra) = extra.filter(|extra| extra.incidents.is_empty()) else {
        return;
    };
    let is_ready = |gateway: u32| {
        let index = ElementIndex(gateway);
        is_joined(row, el.process.graph.element(index), index)
    };
    // One that has all its tokens is about to be activated.
    if extra.joins.iter().any(|(gateway, ..)| is_ready(*gateway)) {
        return;
    }
    let mut gateways: Vec<String> = Vec::new();
    for (gateway, ..) in &extra.joins {
        let id = &el.process.graph.element(ElementIndex(*gateway)).id;
        let id = format!("'{id}'");
        if !gateways.contains(&id) {
            gateways.push(id);
        }
    }
    let message = format!(
        "Tokens wait at the parallel gateway {} for others that can never come: nothing else is active in this scope. \
         Cancel the process instance and correct the model.",
        gateways.join(", ")
    );
    incidents::raise(cx, &el, Problem::new(ErrorType::Unknown, message));
}

pub(crate) fn terminate(cx: &mut Context<'_>, key: Key) {
    let Some(el) = Subject::load(cx, key) else {
        return;
    };
    let Some(row) = cx.state.elements.get(key) else {
        return;
    };
    if row.state == ElementState::Terminating {
        // Where the engine failed steps were left out: those inside are told once more.
        if !cx.state.banned.is_empty() {
            terminate_inner(cx, &el);
        }
        return;
    }
    let (job_key, has_extra) = (row.job_key, row.extra.is_some());
    let error_caught = row.extra.as_ref().is_none_or(|e| e.incidents.is_empty());
    cx.event(el.key, Intent::ElementTerminating, &el.value);
    if let Some(job_key) = job_key.some() {
        job::cancel(cx, job_key, error_caught);
    }
    if has_extra {
        subscriptions::unsubscribe(cx, key);
        incidents::resolve_all(cx, key);
    }
    terminate_inner(cx, &el);
}

/// The element ends once its children (or the called instance) have.
fn terminate_inner(cx: &mut Context<'_>, el: &Subject) {
    match behavior_of(&el.element().kind).terminate(cx, el) {
        Ending::Now => terminated(cx, el.key),
        Ending::AfterChildren => {}
    }
}

/// All children have ended: the element goes too, and what interrupted it goes on.
pub(crate) fn terminated(cx: &mut Context<'_>, key: Key) {
    let Some(el) = Subject::load(cx, key) else {
        return;
    };
    if cx
        .state
        .elements
        .get(key)
        .is_some_and(|row| row.active_children > 0)
    {
        return;
    }
    let row = cx.state.elements.get(key);
    let interrupted_by = row
        .and_then(|row| row.extra.as_ref())
        .and_then(|extra| extra.interrupted_by.some());
    let behavior = behavior_of(&el.element().kind);
    behavior.ending(cx, &el);
    cx.event(el.key, Intent::ElementTerminated, &el.value);
    behavior.terminated(cx, &el);
    if let Some(trigger) = interrupted_by {
        cx.steps.push(Step::ActivateTriggered(trigger));
    }
    child_ended(cx, el.flow_scope());
}
