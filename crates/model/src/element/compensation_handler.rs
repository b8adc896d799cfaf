//! Activities with the compensation marker, and the events that throw compensation.

use crate::compile::Draft;
use crate::element::is_container;
use crate::error::{Findings, Rule};
use crate::graph::{CatchEvent, ElementIndex, ElementKind, ElementType, ThrowEvent};

/// A handler is reached by its boundary event alone, and left by nothing.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let handler = draft.element(index);
    if !handler.is_for_compensation {
        return;
    }
    if !handler.incoming.is_empty() || !handler.outgoing.is_empty() {
        findings.add(draft.node(index), Rule::FlowNotAllowed, "A compensation handler must not have sequence flows. Remove them; its boundary event leads to it by an association");
    }
    if !handler.boundary_events.is_empty() {
        findings.add(
            draft.node(index),
            Rule::EventNotAllowed,
            "A compensation handler must not have boundary events. Remove them",
        );
    }
}

/// An activity that is compensated by name is in the scope of the event, or in the one around its event sub-process, and has
/// something to compensate.
pub(crate) fn check_thrown(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let element = draft.element(index);
    let (ElementKind::EndEvent(ThrowEvent::Compensation { activity })
    | ElementKind::IntermediateThrowEvent(ThrowEvent::Compensation { activity })) = &element.kind
    else {
        return;
    };
    let Some(activity) = activity.map(|index| draft.element(index)) else {
        return;
    };
    let inner = match &activity.kind {
        ElementKind::MultiInstanceBody(body) => draft.element(body.inner),
        _ => activity,
    };
    let has_handler = activity.boundary_events.iter().any(|event| {
        let caught = draft.element(*event).caught();
        matches!(caught, Some(CatchEvent::Compensation { .. }))
    });
    let scope = draft.element(element.parent);
    let is_around = matches!(scope.kind, ElementKind::EventSubProcess { .. })
        && activity.parent == scope.parent
        && activity.element_type != ElementType::EventSubProcess;
    let problem = if activity.parent != element.parent && !is_around {
        "does not lie in the scope of the event"
    } else if !has_handler && !is_container(inner.element_type) {
        "has no compensation boundary event"
    } else {
        return;
    };
    let message = format!(
        "The event compensates '{}', which {problem}. Choose another activity, or none to compensate the whole scope",
        activity.id
    );
    findings.add(draft.node(index), Rule::ReferenceNotAllowed, message);
}
