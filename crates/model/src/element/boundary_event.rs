//! The boundary event, attached to an activity.

use crate::compile::Draft;
use crate::context::Context;
use crate::element::{is_activity, is_container};
use crate::error::{Findings, Rule};
use crate::event;
use crate::event::timer::Cycles;
use crate::graph::{BoundaryEvent, CatchEvent, Element, ElementIndex, ElementKind, ElementType};
use crate::value::boolean;
use crate::xml::Node;

/// Exactly one event definition; error events always interrupt, cycles only fit events that do not.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let attached_to = context.reference(node, "attachedToRef");
    let interrupting = boolean(node, node, "cancelActivity", true, context.findings);
    let definition = event::exactly_one(node, context)?;
    let event = match event::kind(definition) {
        "compensate" => CatchEvent::Compensation {
            handler: event::compensation::handler(node, context)?,
        },
        "timer" | "message" | "signal" | "conditional" | "escalation" | "error" => {
            event::caught(definition, Cycles::unless(interrupting), context)?
        }
        _ => {
            event::refuse(definition, "boundary event", context);
            return None;
        }
    };
    if matches!(event, CatchEvent::Error { .. }) && interrupting == Some(false) {
        context.add(node, Rule::InterruptingInvalid, "An error boundary event always interrupts its activity. Make it interrupting (cancelActivity=\"true\")");
    }
    Some(ElementKind::BoundaryEvent(BoundaryEvent {
        attached_to: attached_to?,
        interrupting: interrupting?,
        event,
    }))
}

/// Attached to an activity of its own scope, without incoming sequence flow.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let element = draft.element(index);
    if !element.incoming.is_empty() {
        findings.add(
            draft.node(index),
            Rule::FlowNotAllowed,
            "A boundary event must not have an incoming sequence flow. Remove the flow",
        );
    }
    let ElementKind::BoundaryEvent(event) = &element.kind else {
        return;
    };
    if let CatchEvent::Compensation { handler } = event.event {
        check_compensation(draft, index, handler, findings);
    }
    let activity = draft.element(event.attached_to);
    if draft.is_broken(event.attached_to) {
        return;
    }
    let (rule, problem) = if !is_activity(activity.element_type) {
        let problem = format!(
            "A boundary event must be attached to an activity, but '{}' is not one. Attach it to one",
            activity.id
        );
        (Rule::ReferenceNotAllowed, problem)
    } else if activity.parent != element.parent {
        let problem = format!(
            "The boundary event and its activity '{}' lie in different scopes. Move the event into the scope of the activity",
            activity.id
        );
        (Rule::ScopeCrossed, problem)
    } else if matches!(event.event, CatchEvent::Escalation { .. }) && !can_escalate(draft, activity)
    {
        let problem = format!(
            "An escalation boundary event must be attached to a sub-process or call activity, as nothing in '{}' could escalate",
            activity.id
        );
        (Rule::EventNotAllowed, problem)
    } else {
        return;
    };
    findings.add(draft.node(index), rule, problem);
}

fn can_escalate(draft: &Draft<'_>, activity: &Element) -> bool {
    let inner = match &activity.kind {
        ElementKind::MultiInstanceBody(body) => draft.element(body.inner),
        _ => activity,
    };
    is_container(inner.element_type) || inner.element_type == ElementType::CallActivity
}

/// Nothing follows the event but its handler, an activity of the same scope.
fn check_compensation(
    draft: &Draft<'_>,
    index: ElementIndex,
    handler: ElementIndex,
    findings: &mut Findings,
) {
    let event = draft.element(index);
    if !event.outgoing.is_empty() {
        findings.add(draft.node(index), Rule::FlowNotAllowed, "A compensation boundary event must not have an outgoing sequence flow. Connect it with its handler by an association");
    }
    let handler = draft.element(handler);
    if !is_activity(handler.element_type) || handler.parent != event.parent {
        let message = format!(
            "The compensation boundary event is associated with '{}', which is not an activity of its scope. Choose another",
            handler.id
        );
        findings.add(draft.node(index), Rule::ReferenceNotAllowed, message);
    }
}
