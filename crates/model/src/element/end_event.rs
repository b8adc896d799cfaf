//! The end event.

use crate::compile::Draft;
use crate::context::Context;
use crate::element::intermediate_throw_event;
use crate::error::{Findings, Rule};
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
            code: event::code::thrown(&event::code::ERROR, definition, context)?,
        },
        _ => intermediate_throw_event::thrown(node, definition, "end event", context)?,
    };
    Some(ElementKind::EndEvent(event))
}

/// No outgoing sequence flow.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    if !draft.element(index).outgoing.is_empty() {
        findings.add(draft.node(index), Rule::FlowNotAllowed, "An end event must not have an outgoing sequence flow. Remove the flow, or use an intermediate event");
    }
}
