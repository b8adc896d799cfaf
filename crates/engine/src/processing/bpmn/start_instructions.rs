//! Creating an instance at chosen elements: the scopes around them are created first.

use std::collections::BTreeMap;
use std::sync::Arc;

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::Key;

use super::{Activation, Step, Subject, events, lifecycle};
use crate::processing::Context;
use crate::state::DeployedProcess;

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
        ElementKind::StartEvent => Some("a start event"),
        ElementKind::BoundaryEvent(_) => Some("a boundary event"),
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

/// Activates the process and queues the chosen elements.
pub(crate) fn activate_at(cx: &mut Context<'_>, root: &Subject, elements: &[ElementIndex]) {
    lifecycle::activated(cx, root);
    let mut scopes = BTreeMap::from([(ElementIndex::PROCESS, root.key)]);
    for element in elements {
        let scope = root.process.graph.element(*element).parent;
        if let Some(scope_key) = scope_of(cx, &root.process, scope, &mut scopes) {
            let activation = Activation::new(root.process.clone(), *element, scope_key);
            cx.steps.push_back(Step::Activate(activation));
        }
    }
}

/// The instance of the scope, created without its start event when it is not there yet.
fn scope_of(
    cx: &mut Context<'_>,
    process: &Arc<DeployedProcess>,
    scope: ElementIndex,
    scopes: &mut BTreeMap<ElementIndex, Key>,
) -> Option<Key> {
    if let Some(key) = scopes.get(&scope) {
        return Some(*key);
    }
    let parent = process.graph.element(scope).parent;
    let parent_key = scope_of(cx, process, parent, scopes)?;
    let el = lifecycle::activating(cx, &Activation::new(process.clone(), scope, parent_key))?;
    let prepared = super::mappings::apply_inputs(cx, &el)
        .and_then(|()| events::subscribe_boundary_events(cx, &el));
    if let Err(problem) = prepared {
        super::incidents::raise(cx, &el, problem);
        return None;
    }
    lifecycle::activated(cx, &el);
    scopes.insert(scope, el.key);
    Some(el.key)
}
