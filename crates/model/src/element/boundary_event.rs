//! The boundary event, attached to an activity.

use crate::compile::Draft;
use crate::context::Context;
use crate::element::{is_activity, not_supported_yet};
use crate::error::Findings;
use crate::event;
use crate::event::timer::Cycles;
use crate::graph::{BoundaryEvent, CatchEvent, ElementIndex, ElementKind};
use crate::value::boolean;
use crate::xml::Node;

/// Exactly one event definition; error events always interrupt, cycles only fit events that do not.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let attached_to = context.reference(node, "attachedToRef");
    let interrupting = boolean(node, node, "cancelActivity", true, context.findings);
    let definition = event::exactly_one(node, context)?;
    let event = match event::kind(definition) {
        "timer" => {
            let cycles = if interrupting == Some(false) {
                Cycles::Allowed
            } else {
                Cycles::Refused
            };
            CatchEvent::Timer(event::timer::parse(definition, cycles, context)?)
        }
        "message" => CatchEvent::Message(event::message::caught(definition, context)?),
        "error" => {
            if interrupting == Some(false) {
                context.add(node, "An error boundary event always interrupts its activity. Make it interrupting (cancelActivity=\"true\")");
            }
            CatchEvent::Error {
                code: event::error::caught(definition, context)?,
            }
        }
        kind @ ("signal" | "conditional" | "escalation" | "compensate") => {
            context.add(
                node,
                not_supported_yet(&format!("The {} boundary event", event::called(kind))),
            );
            return None;
        }
        _ => {
            event::refuse(definition, "boundary event", context);
            return None;
        }
    };
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
            "A boundary event must not have an incoming sequence flow. Remove the flow",
        );
    }
    let ElementKind::BoundaryEvent(event) = &element.kind else {
        return;
    };
    let activity = draft.element(event.attached_to);
    if draft.is_broken(event.attached_to) {
        return;
    }
    if !is_activity(activity.element_type) {
        findings.add(
            draft.node(index),
            format!(
                "A boundary event must be attached to an activity, but '{}' is none",
                activity.id
            ),
        );
    } else if activity.parent != element.parent {
        let message = format!(
            "The boundary event and its activity '{}' lie in different scopes. Move the event into the scope of the activity",
            activity.id
        );
        findings.add(draft.node(index), message);
    }
}
