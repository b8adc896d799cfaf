//! Creating an instance at chosen elements: the scopes around them are created first.

use std::collections::BTreeMap;

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::Key;
use skep_protocol::value::{Activation, Step};

use super::{Subject, event_based_gateway, incidents, lifecycle, subscriptions, triggers};
use crate::processing::Context;
use crate::state::ElementState;

/// Why an instance cannot start at this element, or its index.
pub(crate) fn check(process: &Process, id: &str) -> Result<ElementIndex, String> {
    let index = process.find(id).ok_or_else(|| {
        format!(
            "Expected to create instance of process with start instructions but no element found with id '{id}'."
        )
    })?;
    let element = process.element(index);
    let why_not = match element.kind {
        ElementKind::Process => Some("the process itself"),
        ElementKind::SequenceFlow(_) => Some("a sequence flow"),
        ElementKind::StartEvent(_) => Some("a start event"),
        ElementKind::BoundaryEvent(_) => Some("a boundary event"),
        ElementKind::IntermediateCatchEvent(_)
            if event_based_gateway::is_before(process, element) =>
        {
            Some("an event behind an event-based gateway, which waits for it")
        }
        ElementKind::AdHocSubProcessInnerInstance => Some("no element of the model"),
        _ if is_repeated(process, index) => Some("inside of a multi-instance activity"),
        _ => None,
    };
    match why_not {
        None => Ok(index),
        Some(what) => Err(format!(
            "Expected to create instance of process with start instructions but the element with id '{id}' is {what}: \
             choose an activity, gateway or catch event."
        )),
    }
}

/// The element is inside of a multi-instance body: which of its instances would be meant?
fn is_repeated(process: &Process, element: ElementIndex) -> bool {
    let mut scope = process.element(element).parent;
    while scope != ElementIndex::PROCESS {
        let element = process.element(scope);
        if matches!(element.kind, ElementKind::MultiInstanceBody(_)) {
            return true;
        }
        scope = element.parent;
    }
    false
}

/// Activates the process and has the chosen elements activated instead of its start event.
pub(crate) fn activate_at(cx: &mut Context<'_>, root: &Subject, elements: &[ElementIndex]) {
    if let Err(problem) = subscriptions::subscribe_scope(cx, root) {
        // When it is tried again, these triggers stand for the instructions.
        for element in elements {
            triggers::triggering(cx, root, (root.key, *element), false, Vec::new());
        }
        return incidents::raise(cx, root, problem);
    }
    lifecycle::activated(cx, root);
    let mut made = BTreeMap::new();
    for element in elements {
        descend_into(cx, root, *element, &mut made);
    }
}

/// Start instructions have chosen something within this scope.
pub(crate) fn wait_in(cx: &mut Context<'_>, scope: Key) -> bool {
    let row = cx.state.elements.get(scope);
    row.is_some_and(|row| row.has_triggers())
}

/// The scope was activated: what waits for it goes on. `false` when nothing does.
pub(crate) fn go_on(cx: &mut Context<'_>, scope: Key) -> bool {
    let row = cx.state.elements.get(scope);
    let triggers = row.and_then(|row| row.extra.as_ref());
    let triggers = triggers.map(|extra| extra.triggers.clone());
    let triggers = triggers.unwrap_or_default();
    for trigger in &triggers {
        cx.steps.push(Step::ActivateTriggered(*trigger));
    }
    !triggers.is_empty()
}

/// Goes on towards `target`, an element deep inside of `scope`, now that `scope` is activated.
pub(crate) fn descend(cx: &mut Context<'_>, scope: &Subject, target: ElementIndex) {
    // Another instruction may have made the next scope already.
    let mut made = BTreeMap::new();
    let mut child = cx.state.elements.child_after(scope.key, Key::NONE);
    while let Some(row) = cx.state.elements.get(child) {
        made.insert(ElementIndex(row.element), child);
        child = cx.state.elements.child_after(scope.key, child);
    }
    descend_into(cx, scope, target, &mut made);
}

/// Makes the scopes between `scope` and `target` that are not there yet, without mappings and start events, and has `target`
/// activated in the innermost one. Where a scope cannot be made the instruction waits for its incident to be resolved.
fn descend_into(
    cx: &mut Context<'_>,
    scope: &Subject,
    target: ElementIndex,
    made: &mut BTreeMap<ElementIndex, Key>,
) {
    let graph = &scope.process.graph;
    let mut path = Vec::new();
    let mut parent = graph.element(target).parent;
    while parent != scope.index() && parent != ElementIndex::PROCESS {
        path.push(parent);
        parent = graph.element(parent).parent;
    }
    let mut innermost = scope.clone();
    let mut activated = true;
    for element in path.into_iter().rev() {
        let known = made.get(&element).copied();
        let inner = match known.and_then(|key| Subject::load(cx, key)) {
            Some(inner) => inner,
            None => match make_scope(cx, &innermost, element) {
                Some(inner) => inner,
                None => return,
            },
        };
        made.insert(element, inner.key);
        let row = cx.state.elements.get(inner.key);
        activated = row.is_some_and(|row| row.state == ElementState::Activated);
        innermost = inner;
        if !activated {
            break;
        }
    }
    let target = (innermost.key, target);
    let trigger = triggers::triggering(cx, &innermost, target, false, Vec::new());
    if activated {
        cx.steps.push(Step::ActivateTriggered(trigger));
    }
}

fn make_scope(cx: &mut Context<'_>, outer: &Subject, element: ElementIndex) -> Option<Subject> {
    let activation = Activation {
        scope: outer.key,
        element: element.0,
        via: None,
        consumed_flows: 0,
    };
    let el = lifecycle::activating(cx, &activation)?;
    match subscriptions::subscribe_scope(cx, &el) {
        Ok(()) => lifecycle::activated(cx, &el),
        Err(problem) => incidents::raise(cx, &el, problem),
    }
    Some(el)
}
