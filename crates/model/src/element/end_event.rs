//! The end event.

use crate::compile::Draft;
use crate::context::Context;
use crate::element::not_supported_yet;
use crate::error::Findings;
use crate::event;
use crate::graph::{ElementIndex, ElementKind, ThrowEvent};
use crate::xml::Node;

/// At most one event definition.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let Some(definition) = event::at_most_one(node, context)? else {
        return Some(ElementKind::EndEvent(ThrowEvent::None));
    };
    let event = match event::kind(definition) {
        "terminate" => ThrowEvent::Terminate,
        "error" => ThrowEvent::Error {
            code: event::error::thrown(definition, context)?,
        },
        kind @ ("message" | "signal" | "escalation" | "compensate") => {
            context.add(
                node,
                not_supported_yet(&format!("The {} end event", event::called(kind))),
            );
            return None;
        }
        _ => {
            event::refuse(definition, "end event", context);
            return None;
        }
    };
    Some(ElementKind::EndEvent(event))
}

/// No outgoing sequence flow.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    if !draft.element(index).outgoing.is_empty() {
        findings.add(draft.node(index), "An end event must not have an outgoing sequence flow. Remove the flow, or use an intermediate event");
    }
}
