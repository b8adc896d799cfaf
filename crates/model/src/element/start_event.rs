//! The start event of a process or sub-process.

use crate::compile::Draft;
use crate::context::Context;
use crate::element::not_supported_yet;
use crate::error::Findings;
use crate::event::{self, timer::Cycles};
use crate::graph::{CatchEvent, ElementIndex, ElementKind, StartEvent};
use crate::xml::{Node, bpmn_name};

/// At most one event definition; within an embedded sub-process none at all.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let Some(definition) = event::at_most_one(node, context)? else {
        return Some(ElementKind::StartEvent(StartEvent {
            event: None,
            interrupting: true,
            form: None,
        }));
    };
    let kind = event::kind(definition);
    if node.parent().and_then(bpmn_name) == Some("subProcess") {
        context.add(node, format!("The start event of a sub-process must be of type none, but is of type {kind}. Remove the event definition"));
        return None;
    }
    let event = match kind {
        "timer" => CatchEvent::Timer(event::timer::parse(definition, Cycles::Allowed, context)?),
        "message" => CatchEvent::MessageStart(event::message::starting(definition, context)?),
        "signal" | "conditional" => {
            context.add(node, not_supported_yet(&format!("A {kind} start event")));
            return None;
        }
        _ => {
            event::refuse(definition, "start event of a process", context);
            return None;
        }
    };
    Some(ElementKind::StartEvent(StartEvent {
        event: Some(event),
        interrupting: true,
        form: None,
    }))
}

/// No incoming sequence flow.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    if !draft.element(index).incoming.is_empty() {
        findings.add(draft.node(index), "A start event must not have an incoming sequence flow. Let the flow lead to the element after it");
    }
}
