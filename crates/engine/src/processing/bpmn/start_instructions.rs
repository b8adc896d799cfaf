//! Creating an instance at chosen elements: the scopes around them are created first.

use std::collections::BTreeMap;
use std::sync::Arc;

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::value::{Activation, Step};

use super::{
    Subject, ad_hoc_sub_process, container, event_based_gateway, incidents, lifecycle,
    subscriptions, triggers,
};
use crate::processing::{Context, variable};
use crate::remote::Variables;
use crate::state::ElementState;

/// The index of the element to start at, or the reason why an instance cannot start there.
pub(crate) fn check(process: &Process, id: &str) -> Result<ElementIndex, String> {
    let index = process.find(id).ok_or_else(|| {
        format!(
            "Expected to create instance of process with start instructions but no element found with id '{id}'."
        )
    })?;
    let repeated = is_repeated(process, index).then_some("inside of a multi-instance activity");
    match why_not_chosen(process, index).or(repeated) {
        None => Ok(index),
        Some(what) => Err(format!(
            "Expected to create instance of process with start instructions but the element with id '{id}' is {what}: \
             choose an activity, gateway or catch event."
        )),
    }
}

/// Describes an element that must not be activated by an instruction. `None` for all others.
pub(crate) fn why_not_chosen(process: &Process, index: ElementIndex) -> Option<&'static str> {
    let element = process.element(index);
    Some(match element.kind {
        ElementKind::Process => "the process itself",
        ElementKind::SequenceFlow(_) => "a sequence flow",
        ElementKind::StartEvent(_) => "a start event",
        ElementKind::BoundaryEvent(_) => "a boundary event",
        ElementKind::IntermediateCatchEvent(_)
            if event_based_gateway::is_before(process, element) =>
        {
            "an event behind an event-based gateway, which waits for it"
        }
        ElementKind::AdHocSubProcessInnerInstance => "no element of the model",
        _ if element.is_for_compensation => "a compensation handler",
        _ => return None,
    })
}

/// Whether the element is inside a multi-instance body, so that its inner instance would be ambiguous.
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

/// Activates the process, and the chosen elements instead of its start event.
pub(crate) fn activate_at(cx: &mut Context<'_>, root: &Subject, elements: &[ElementIndex]) {
    if let Err(problem) = subscriptions::subscribe_scope(cx, root) {
        // On a retry, these triggers represent the instructions.
        for element in elements {
            triggers::triggering(cx, root, (root.key, *element), false, Vec::new());
        }
        return incidents::raise(cx, root, problem);
    }
    lifecycle::activated(cx, root);
    let mut made = BTreeMap::new();
    for element in elements {
        descend_into(cx, root, *element, Variables::new(), &mut made);
    }
}

/// Whether start instructions wait in this scope.
pub(crate) fn wait_in(cx: &mut Context<'_>, scope: Key) -> bool {
    let row = cx.state.elements.get(scope);
    row.is_some_and(|row| row.has_triggers())
}

/// Continues the start instructions that wait for the scope, which was just activated. `false` if there are none.
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

/// Continues towards `target`, an element deep inside `scope`, now that `scope` is activated. `own` becomes its variables.
pub(crate) fn descend(cx: &mut Context<'_>, scope: &Subject, target: ElementIndex, own: Variables) {
    // Another instruction may have created the next scope already.
    let mut made = BTreeMap::new();
    let mut child = cx.state.elements.child_after(scope.key, Key::NONE);
    while let Some(row) = cx.state.elements.get(child) {
        made.insert(ElementIndex(row.element), child);
        child = cx.state.elements.child_after(scope.key, child);
    }
    descend_into(cx, scope, target, own, &mut made);
}

/// Creates the missing scopes between `scope` and `target`, without mappings and start events, and has `target` activated
/// in the innermost one. If a scope cannot be created, the instruction waits for its incident to be resolved.
fn descend_into(
    cx: &mut Context<'_>,
    scope: &Subject,
    target: ElementIndex,
    own: Variables,
    made: &mut BTreeMap<ElementIndex, Key>,
) {
    let path = path(&scope.process.graph, scope.index(), target);
    let mut innermost = scope.clone();
    let mut activated = true;
    for element in path {
        let known = made.get(&element).copied();
        let inner = match known.and_then(|key| Subject::load(cx, key)) {
            Some(inner) => inner,
            None => match make_scope(cx, &innermost, element, &[]) {
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
    let target = (innermost.key, entry(&scope.process.graph, target));
    let trigger = triggers::triggering(cx, &innermost, target, false, own);
    if activated {
        cx.steps.push(Step::ActivateTriggered(trigger));
    }
}

/// The element to trigger so that `element` is activated: for an event sub-process its start event, because nothing else
/// begins it.
pub(crate) fn entry(graph: &Process, element: ElementIndex) -> ElementIndex {
    match graph.element(element).kind {
        ElementKind::EventSubProcess { start } => start,
        _ => element,
    }
}

/// The elements between `scope` and `target`, outermost first.
pub(crate) fn path(
    graph: &Process,
    scope: ElementIndex,
    target: ElementIndex,
) -> Vec<ElementIndex> {
    let mut path = Vec::new();
    let mut parent = graph.element(target).parent;
    while parent != scope && parent != ElementIndex::PROCESS {
        path.push(parent);
        parent = graph.element(parent).parent;
    }
    path.reverse();
    path
}

/// Creates a scope for an instruction, with these local variables. No mappings are applied and no listeners run; only its
/// subscriptions are opened. If they fail, it has an incident and is not activated.
pub(super) fn make_scope(
    cx: &mut Context<'_>,
    outer: &Subject,
    element: ElementIndex,
    variables: &[&(Arc<str>, JsonText)],
) -> Option<Subject> {
    let activation = Activation {
        scope: outer.key,
        element: element.0,
        via: None,
        consumed_flows: 0,
    };
    let el = lifecycle::activating(cx, &activation)?;
    container::child_began(cx, &el);
    ad_hoc_sub_process::begin_output(cx, &el);
    for (name, value) in variables {
        variable::set_local(cx, el.key, name, value);
    }
    match subscriptions::subscribe_scope(cx, &el) {
        Ok(()) => lifecycle::activated(cx, &el),
        Err(problem) => incidents::raise(cx, &el, problem),
    }
    Some(el)
}
