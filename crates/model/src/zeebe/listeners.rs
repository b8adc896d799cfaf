//! `zeebe:executionListeners` and `zeebe:taskListeners`.

use std::collections::HashSet;

use crate::context::Context;
use crate::element::is_gateway;
use crate::error::{Rule, abbreviate};
use crate::graph::{
    CatchEvent, Element, ElementKind, ElementType, ListenerDefinition, TaskListener,
    TaskListenerEvent, ThrowEvent,
};
use crate::value;
use crate::xml::{self, Node};
use crate::zeebe::task_definition;

#[derive(Default)]
pub(crate) struct Listeners {
    pub start: Vec<ListenerDefinition>,
    pub end: Vec<ListenerDefinition>,
}

/// Execution listeners in document order; `None` after a finding.
pub(crate) fn execution<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Listeners> {
    let before = context.findings.count();
    let (mut listeners, mut seen) = (Listeners::default(), HashSet::new());
    for listener in each(node, "executionListeners", "executionListener") {
        let event = listener.attribute("eventType").unwrap_or_default();
        let definition = definition(listener, context);
        let of_event = match event {
            "start" => &mut listeners.start,
            "end" => &mut listeners.end,
            _ => {
                unknown_event(listener, event, "start or end", context);
                continue;
            }
        };
        let job_type = listener.attribute("type").unwrap_or_default();
        if !seen.insert((event, job_type)) {
            let message = format!(
                "The element has two {event} listeners of the type '{}'. Keep one, or use different types",
                abbreviate(job_type)
            );
            context.add(node, Rule::DuplicateName, message);
        }
        of_event.extend(definition);
    }
    (context.findings.count() == before).then_some(listeners)
}

/// Task listeners in document order; `None` after a finding.
pub(crate) fn task<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Vec<TaskListener>> {
    use TaskListenerEvent as Event;
    let before = context.findings.count();
    let mut listeners = Vec::new();
    for listener in each(node, "taskListeners", "taskListener") {
        let name = listener.attribute("eventType").unwrap_or_default();
        let definition = definition(listener, context);
        let event = match name {
            "creating" | "create" => Event::Creating,
            "assigning" | "assignment" => Event::Assigning,
            "updating" | "update" => Event::Updating,
            "completing" | "complete" => Event::Completing,
            "canceling" | "cancel" => Event::Canceling,
            _ => {
                let known = "creating, assigning, updating, completing or canceling";
                unknown_event(listener, name, known, context);
                continue;
            }
        };
        listeners.extend(definition.map(|listener| TaskListener { event, listener }));
    }
    (context.findings.count() == before).then_some(listeners)
}

fn each<'x>(
    node: Node<'x>,
    list: &'static str,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> {
    xml::extensions(node, list).flat_map(move |listeners| xml::zeebe_children(listeners, name))
}

fn definition(listener: Node<'_>, context: &mut Context<'_, '_>) -> Option<ListenerDefinition> {
    let job_type = value::required_text(listener, "type", context.findings);
    let retries = task_definition::retries(listener, context);
    Some(ListenerDefinition {
        job_type: job_type?,
        retries: retries?,
    })
}

fn unknown_event(listener: Node<'_>, event: &str, known: &str, context: &mut Context<'_, '_>) {
    let (rule, message) = match event {
        "" => {
            let message = format!("The listener has no eventType. Use {known}");
            (Rule::ValueMissing, message)
        }
        other => {
            let message = format!(
                "The eventType '{}' of the listener is not known. Use {known}",
                abbreviate(other)
            );
            (Rule::ValueInvalid, message)
        }
    };
    context.add(listener, rule, message);
}

/// Refuses listeners for events that the element does not have.
pub(crate) fn check_place(node: Node<'_>, element: &Element, context: &mut Context<'_, '_>) {
    let mut refuse = |which: &str, on: &str| {
        context.add(
            node,
            Rule::ListenerNotAllowed,
            format!("{which} listeners are not possible on {on}. Remove them"),
        );
    };
    let (has_start, has_end) = (
        !element.start_listeners.is_empty(),
        !element.end_listeners.is_empty(),
    );
    match &element.kind {
        ElementKind::SequenceFlow(_) if has_start || has_end => {
            refuse("Execution", "a sequence flow");
        }
        ElementKind::BoundaryEvent(boundary)
            if matches!(boundary.event, CatchEvent::Compensation { .. })
                && (has_start || has_end) =>
        {
            refuse("Execution", "a compensation boundary event");
        }
        ElementKind::StartEvent(_) if has_start => refuse("Start", "a start event"),
        ElementKind::BoundaryEvent(_) if has_start => refuse("Start", "a boundary event"),
        ElementKind::EndEvent(ThrowEvent::Error { .. }) if has_end => {
            refuse("End", "an error end event");
        }
        _ if has_end && is_gateway(element.element_type) => refuse("End", "a gateway"),
        _ => {}
    }
    let is_native = matches!(&element.kind, ElementKind::UserTask(task) if task.native.is_some());
    let has_task_listeners = each(node, "taskListeners", "taskListener").next().is_some();
    if has_task_listeners && !is_native && element.element_type == ElementType::UserTask {
        let message = "Task listeners are only possible on user tasks with 'zeebe:userTask'. Add it, or remove the listeners";
        context.add(node, Rule::ListenerNotAllowed, message);
    }
}
