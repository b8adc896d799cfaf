//! Triggers: an event has happened, and what it is for follows. A trigger is a row until it is used (see
//! [`crate::state::Trigger`]), so that it survives incidents, restarts and work that is put off.

use skep_model::{ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_protocol::intent::{ProcessEventIntent, ProcessInstanceIntent};
use skep_protocol::value::{Activation, ProcessEventValue, ProcessInstanceValue, Step};

use super::{Subject, lifecycle, start_instructions, step};
use crate::processing::Context;
use crate::remote::Variables;
use crate::state::{ElementState, Trigger};

/// Events reach an element while it waits: not while an incident holds it in its completion, and not once it is interrupted.
/// What they are for must be something that this release can run.
pub(crate) fn can_trigger(cx: &mut Context<'_>, element_instance_key: Key, target: u32) -> bool {
    let Some(row) = cx.state.elements.get(element_instance_key) else {
        return false;
    };
    let definition = row.process_definition_key;
    let waits = row.state == ElementState::Activated && !row.is_interrupted();
    let process = cx.state.processes.get(definition);
    let target = process.and_then(|process| process.graph.elements.get(target as usize));
    waits && target.is_some_and(|target| !matches!(target.kind, ElementKind::Unusable(_)))
}

/// An event has happened for `el`: at the element itself, or at one of its boundary events.
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
    let ElementKind::BoundaryEvent(event) = &el.process.graph.element(target).kind else {
        return;
    };
    if event.interrupting {
        interrupt(cx, el, target, variables);
    } else {
        let trigger = triggering(cx, el, (el.flow_scope(), target), false, variables);
        step::activate_triggered(cx, trigger);
    }
}

/// Ends the activity; the boundary event follows. The first one that interrupts it counts.
pub(crate) fn interrupt(
    cx: &mut Context<'_>,
    activity: &Subject,
    boundary_event: ElementIndex,
    variables: Variables,
) {
    let row = cx.state.elements.get(activity.key);
    if row.is_none_or(|row| row.is_interrupted()) {
        return;
    }
    let target = (activity.flow_scope(), boundary_event);
    triggering(cx, activity, target, true, variables);
    cx.steps.push(Step::Terminate(activity.key));
}

/// Remembers that `target`, an element within a scope, is to be activated because of something that reached `el`.
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

/// Remembers what an element has computed for itself until it completes.
pub(crate) fn keep_result(cx: &mut Context<'_>, el: &Subject, result: Variables) {
    triggering(cx, el, (el.key, el.index()), false, result);
}

/// What the element has computed, if it has.
pub(super) fn take_result(cx: &mut Context<'_>, el: &Subject) -> Variables {
    let row = cx.state.elements.get(el.key);
    let first = row.and_then(|row| row.extra.as_ref()?.triggers.first().copied());
    let Some((key, trigger)) = first.and_then(|key| Some((key, cx.state.triggers.get(key)?)))
    else {
        return Variables::new();
    };
    // A scope may have been told what to activate in it.
    if trigger.scope_key != el.key || trigger.target_element != el.value.element {
        return Variables::new();
    }
    let trigger = trigger.clone();
    cx.event(key, ProcessEventIntent::Triggered, &used(&trigger));
    trigger.variables
}

/// The value of TRIGGERED.
fn used(trigger: &Trigger) -> ProcessEventValue {
    ProcessEventValue {
        scope_key: trigger.scope_key,
        flow_scope_key: trigger.flow_scope_key,
        interrupting: trigger.interrupting,
        process_instance_key: trigger.process_instance_key,
        process_definition_key: trigger.process_definition_key,
        target_element: trigger.target_element,
        variables: Vec::new(),
    }
}

/// Creates the target of a trigger, which is used up by that, and hands out the trigger's variables. `None` when its scope
/// ends; a target deeper inside has a trigger of its own then.
pub(crate) fn activating_triggered(cx: &mut Context<'_>, key: Key) -> Option<(Subject, Variables)> {
    let trigger = cx.state.triggers.get(key)?.clone();
    if trigger.begins_instance() && cx.state.elements.get(trigger.flow_scope_key).is_none() {
        let root = begin_instance(cx, &trigger)?;
        return Some((root, Variables::new()));
    }
    cx.event(key, ProcessEventIntent::Triggered, &used(&trigger));
    let target = ElementIndex(trigger.target_element);
    let scope = Subject::load(cx, trigger.flow_scope_key)?;
    if scope.process.graph.element(target).parent != scope.index() {
        start_instructions::descend(cx, &scope, target);
        return None;
    }
    let el = lifecycle::activating(
        cx,
        &Activation {
            scope: scope.key,
            element: target.0,
            via: None,
            consumed_flows: 0,
        },
    )?;
    Some((el, trigger.variables))
}

/// The instance that the trigger of a start event begins. The trigger stays, until the process is activated.
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

/// The process is activated: the trigger of its start event, if one has begun it.
pub(crate) fn beginning(cx: &mut Context<'_>, instance: Key) -> Option<Key> {
    let row = cx.state.elements.get(instance)?;
    row.extra.as_ref()?.triggers.first().copied()
}
