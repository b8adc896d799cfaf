//! Triggers: an event has happened, and its target will be activated. A trigger is a row until it is used (see
//! [`crate::state::Trigger`]), so it survives incidents, restarts and deferred work.

use skep_model::{ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_protocol::intent::{ProcessEventIntent, ProcessInstanceIntent};
use skep_protocol::value::{Activation, ProcessEventValue, ProcessInstanceValue, Step};

use crate::processing::Context;
use crate::processing::bpmn::{
    Subject, container, flows, lifecycle, start_instructions, step, subscriptions,
};
use crate::remote::Variables;
use crate::state::{ElementState, Trigger};

/// Whether an event can reach the element. It must be waiting: not held up by an incident in its completion, and not
/// interrupted. This release must be able to run the target.
pub(crate) fn can_trigger(cx: &mut Context<'_>, element_instance_key: Key, target: u32) -> bool {
    let Some(el) = Subject::load(cx, element_instance_key) else {
        return false;
    };
    let Some(event) = el.process.graph.elements.get(target as usize) else {
        return false;
    };
    if matches!(event.kind, ElementKind::Unusable(_)) {
        return false;
    }
    let target = ElementIndex(target);
    let row = cx.state.elements.get(element_instance_key);
    row.is_some_and(|row| {
        let interrupted = match is_inside(&el, target) {
            true => row.is_interrupted() || row.is_interrupted_inside(),
            false if target == el.index() => row.is_interrupted() || row.has_triggers(),
            false => row.is_interrupted() && row.interrupted_within().is_none(),
        };
        row.state == ElementState::Activated && !interrupted
    })
}

/// Whether this event interrupts the activity it is attached to, or the scope of its event sub-process.
pub(crate) fn interrupts(el: &Subject, event: ElementIndex) -> bool {
    match &el.process.graph.element(event).kind {
        ElementKind::BoundaryEvent(event) => event.interrupting,
        ElementKind::StartEvent(event) => event.interrupting,
        _ => false,
    }
}

/// Whether the event is awaited by an event-based gateway.
fn is_behind_gateway(el: &Subject, event: ElementIndex) -> bool {
    let kind = &el.process.graph.element(event).kind;
    event != el.index() && matches!(kind, ElementKind::IntermediateCatchEvent(_))
}

/// Whether the event starts an event sub-process of this scope: it is neither the element itself nor attached to it.
fn is_inside(el: &Subject, event: ElementIndex) -> bool {
    let is_start = matches!(
        el.process.graph.element(event).kind,
        ElementKind::StartEvent(_)
    );
    is_start && !el.element().boundary_events.contains(&event)
}

/// Handles an event of `el`: at the element itself, at one of its boundary events, or at the start event of one of its
/// event sub-processes.
pub(crate) fn trigger(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    variables: Variables,
) {
    if target == el.index() {
        lifecycle::complete_with(cx, el, &variables, None);
        return;
    }
    match &el.process.graph.element(target).kind {
        ElementKind::BoundaryEvent(event) if event.interrupting => {
            interrupt(cx, el, target, variables);
        }
        ElementKind::BoundaryEvent(_) => {
            let trigger = triggering(cx, el, (el.flow_scope(), target), false, variables);
            step::activate_triggered(cx, trigger);
        }
        ElementKind::StartEvent(event) if event.interrupting => {
            interrupt(cx, el, target, variables);
        }
        ElementKind::StartEvent(_) => {
            let trigger = triggering(cx, el, (el.key, target), false, variables);
            cx.steps.push(Step::ActivateTriggered(trigger));
        }
        // Behind an event-based gateway: only the first event counts.
        ElementKind::IntermediateCatchEvent(_) => {
            triggering(cx, el, (el.flow_scope(), target), false, variables);
            lifecycle::complete_with(cx, el, &[], None);
        }
        _ => cx.broken(format_args!("element {} is triggered by nothing", target.0)),
    }
}

/// Like [`trigger`], if one event may reach very many elements: an element that waits for it completes when its turn comes.
pub(crate) fn trigger_in_turn(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    variables: Variables,
) {
    if target == el.index() {
        keep_result(cx, el, variables);
    } else if is_behind_gateway(el, target) {
        triggering(cx, el, (el.flow_scope(), target), false, variables);
    } else {
        return trigger(cx, el, target, variables);
    }
    cx.steps.push(Step::Complete(el.key));
}

/// Interrupts an activity, followed by its boundary event, or everything active in a scope, followed by its event
/// sub-process. The first interrupting event counts.
pub(crate) fn interrupt(
    cx: &mut Context<'_>,
    el: &Subject,
    event: ElementIndex,
    variables: Variables,
) {
    if !can_trigger(cx, el.key, event.0) {
        return;
    }
    if !is_inside(el, event) {
        triggering(cx, el, (el.flow_scope(), event), true, variables);
        cx.steps.push(Step::Terminate(el.key));
        return;
    }
    triggering(cx, el, (el.key, event), true, variables);
    subscriptions::unsubscribe_event_sub_processes(cx, el);
    container::end_children(cx, el, el.key);
}

/// Stores a trigger: `target`, an element within a scope, is to be activated because of an event of `el`.
pub(crate) fn triggering(
    cx: &mut Context<'_>,
    el: &Subject,
    (flow_scope_key, target): (Key, ElementIndex),
    interrupting: bool,
    variables: Variables,
) -> Key {
    let value = ProcessEventValue {
        scope_key: el.key,
        flow_scope_key,
        interrupting,
        process_instance_key: el.value.process_instance_key,
        process_definition_key: el.process.key,
        target_element: target.0,
        variables,
    };
    let key = cx.next_key();
    cx.event(key, ProcessEventIntent::Triggering, &value);
    key
}

/// Stores the result computed by an element until it completes.
pub(crate) fn keep_result(cx: &mut Context<'_>, el: &Subject, result: Variables) {
    triggering(cx, el, (el.key, el.index()), false, result);
}

/// Creates the target of a trigger, and returns the trigger's variables if this uses it up. `None` when its scope ends; a
/// target deeper inside then has its own trigger.
pub(crate) fn activating_triggered(cx: &mut Context<'_>, key: Key) -> Option<(Subject, Variables)> {
    let trigger = cx.state.triggers.get(key)?.clone();
    if trigger.begins_instance() && cx.state.elements.get(trigger.flow_scope_key).is_none() {
        let root = begin_instance(cx, &trigger)?;
        return Some((root, Variables::new()));
    }
    let target = ElementIndex(trigger.target_element);
    let scope = Subject::load(cx, trigger.flow_scope_key);
    if let Some(scope) = &scope
        && let Some(next) = towards_start(scope, target)
    {
        return pass_on(cx, key, &trigger, scope, next).map(|el| (el, Variables::new()));
    }
    used(cx, key, &trigger);
    let scope = scope?;
    if scope.process.graph.element(target).parent != scope.index() {
        start_instructions::descend(cx, &scope, target, trigger.variables);
        return None;
    }
    let el = lifecycle::activating(cx, &activation_of(scope.key, target))?;
    if !trigger.is_instruction() {
        return Some((el, trigger.variables));
    }
    // The variables are set before the input mappings run.
    lifecycle::accept(cx, &el, &trigger.variables);
    Some((el, Variables::new()))
}

/// A gateway that an instruction activates takes the tokens that wait there.
fn activation_of(scope: Key, element: ElementIndex) -> Activation {
    Activation {
        scope,
        element: element.0,
        via: None,
        consumed_flows: flows::WAITING,
    }
}

/// If `target` starts an event sub-process: the next element to activate in `scope` on the way to it, which is the
/// sub-process or the start event itself.
fn towards_start(scope: &Subject, target: ElementIndex) -> Option<ElementIndex> {
    let graph = &scope.process.graph;
    let element = graph.element(target);
    let ElementKind::StartEvent(_) = element.kind else {
        return None;
    };
    let sub_process = graph.element(element.parent);
    match sub_process.kind {
        ElementKind::EventSubProcess { .. } if element.parent == scope.index() => Some(target),
        ElementKind::EventSubProcess { .. } if sub_process.parent == scope.index() => {
            Some(element.parent)
        }
        _ => None,
    }
}

/// Activates the next element on the way to a start event. The trigger then waits there.
fn pass_on(
    cx: &mut Context<'_>,
    key: Key,
    trigger: &Trigger,
    scope: &Subject,
    next: ElementIndex,
) -> Option<Subject> {
    let Some(el) = lifecycle::activating_by(cx, &activation_of(scope.key, next), key) else {
        // Its scope ends, or another event sub-process has interrupted it.
        used(cx, key, trigger);
        container::child_ended(cx, scope.key);
        return None;
    };
    let value = ProcessEventValue {
        flow_scope_key: el.key,
        ..value_of(trigger)
    };
    cx.event(key, ProcessEventIntent::Passed, &value);
    Some(el)
}

/// Takes the variables stored in an element for its completion: those of an event's trigger, or the element's own result.
pub(crate) fn take(cx: &mut Context<'_>, event: Key) -> Variables {
    let row = cx.state.elements.get(event);
    let extra = row.and_then(|row| row.extra.as_ref());
    let Some(key) = extra.and_then(|extra| extra.triggers.first().copied()) else {
        return Variables::new();
    };
    let Some(trigger) = cx.state.triggers.get(key).cloned() else {
        return Variables::new();
    };
    used(cx, key, &trigger);
    trigger.variables
}

pub(crate) fn used(cx: &mut Context<'_>, key: Key, trigger: &Trigger) {
    cx.event(key, ProcessEventIntent::Triggered, &value_of(trigger));
}

/// The record value of a stored trigger, without its variables.
pub(crate) fn value_of(trigger: &Trigger) -> ProcessEventValue {
    ProcessEventValue {
        scope_key: trigger.scope_key,
        flow_scope_key: trigger.flow_scope_key,
        interrupting: trigger.interrupting,
        process_instance_key: trigger.process_instance_key,
        process_definition_key: trigger.process_definition_key,
        target_element: trigger.target_element,
        variables: Variables::new(),
    }
}

/// The instance that the trigger of a start event begins. The trigger stays until the process is activated.
fn begin_instance(cx: &mut Context<'_>, trigger: &Trigger) -> Option<Subject> {
    let key = trigger.process_instance_key;
    let value = ProcessInstanceValue {
        process_definition_key: trigger.process_definition_key,
        process_instance_key: key,
        element: ElementIndex::PROCESS.0,
        flow_scope_key: Key::NONE,
        parent_process_instance_key: Key::NONE,
        parent_element_instance_key: Key::NONE,
        root_process_instance_key: key,
        consumed_flows: 0,
    };
    let process = cx.process(trigger.process_definition_key)?;
    cx.event(key, ProcessInstanceIntent::ElementActivating, &value);
    Some(Subject {
        key,
        process,
        value,
    })
}

/// The trigger of the start event that began this process instance, if any.
pub(crate) fn beginning(cx: &mut Context<'_>, instance: Key) -> Option<Key> {
    cx.state.triggers.beginning(instance)
}
