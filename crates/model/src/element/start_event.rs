//! The start event of a process, sub-process or event sub-process.

use crate::context::Context;
use crate::error::Rule;
use crate::event;
use crate::event::timer::Cycles;
use crate::graph::{CatchEvent, ElementKind, ElementType, StartEvent};
use crate::value::boolean;
use crate::xml::Node;
use crate::zeebe::form_definition;

/// At most one event definition: none in an embedded sub-process, exactly one in an event sub-process.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    scope: ElementType,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    let definition = event::at_most_one(node, context)?;
    let mut start = StartEvent {
        event: None,
        interrupting: true,
        form: None,
    };
    match (scope, definition) {
        (ElementType::EventSubProcess, definition) => {
            let interrupting = boolean(node, node, "isInterrupting", true, context.findings);
            start.event = Some(of_event_sub_process(
                node,
                definition,
                interrupting,
                context,
            )?);
            start.interrupting = interrupting?;
        }
        (_, None) => start.form = form_definition::parse(node, "formKey", context)?,
        (ElementType::Process, Some(definition)) => {
            start.event = Some(of_process(definition, context)?);
        }
        (_, Some(definition)) => {
            let kind = event::called(event::kind(definition));
            context.add(node, Rule::EventNotAllowed, format!("The start event of a sub-process must be of type none, but is of type {kind}. Remove the event definition"));
            return None;
        }
    }
    Some(ElementKind::StartEvent(start))
}

/// Error and escalation start events of a process are accepted and never happen, as in the reference engine.
fn of_process<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<CatchEvent> {
    match event::kind(definition) {
        "message" => event::message::starting(definition, context).map(CatchEvent::MessageStart),
        "signal" => event::signal::starting(definition, context).map(CatchEvent::Signal),
        "timer" | "conditional" | "error" | "escalation" => {
            event::caught(definition, Cycles::Allowed, context)
        }
        _ => {
            event::refuse(definition, "start event of a process", context);
            None
        }
    }
}

fn of_event_sub_process<'x>(
    node: Node<'x>,
    definition: Option<Node<'x>>,
    interrupting: Option<bool>,
    context: &mut Context<'_, 'x>,
) -> Option<CatchEvent> {
    let Some(definition) = definition else {
        context.add(node, Rule::EventTypeMissing, "The start event of an event sub-process must not be of type none. Choose its type, for instance timer or message");
        return None;
    };
    match event::kind(definition) {
        "timer" | "message" | "signal" | "conditional" | "escalation" | "error" => {}
        _ => {
            event::refuse(definition, "start event of an event sub-process", context);
            return None;
        }
    }
    if event::kind(definition) == "error" && interrupting == Some(false) {
        context.add(node, Rule::InterruptingInvalid, "An error start event always interrupts its scope. Make it interrupting (isInterrupting=\"true\")");
    }
    event::caught(definition, Cycles::unless(interrupting), context)
}
