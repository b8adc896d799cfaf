//! Event definitions: triggers and results of events.

pub(crate) mod code;
pub(crate) mod compensation;
pub(crate) mod conditional;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod named;
pub(crate) mod signal;
pub(crate) mod timer;

use crate::context::Context;
use crate::element::never_supported;
use crate::error::Rule;
use crate::event::timer::Cycles;
use crate::graph::CatchEvent;
use crate::xml::{Node, bpmn_name};

/// The kind of an event definition: `timer` for `timerEventDefinition`.
pub(crate) fn kind<'x>(definition: Node<'x>) -> &'x str {
    let name = bpmn_name(definition).unwrap_or_default();
    name.strip_suffix("EventDefinition").unwrap_or(name)
}

/// The event definition of an event, or none; `None` after a finding.
pub(crate) fn at_most_one<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<Node<'x>>> {
    let mut definitions = node.children().filter(|child| {
        bpmn_name(*child)
            .is_some_and(|name| name.ends_with("EventDefinition") || name == "eventDefinitionRef")
    });
    let first = definitions.next();
    if definitions.next().is_some() {
        context.add(
            node,
            Rule::NotSupported,
            never_supported(
                "An event with several event definitions",
                "Keep one definition per event",
            ),
        );
        return None;
    }
    if first.and_then(bpmn_name) == Some("eventDefinitionRef") {
        context.add(
            node,
            Rule::NotSupported,
            never_supported(
                "A reference to a shared event definition",
                "Put the definition into the event",
            ),
        );
        return None;
    }
    Some(first)
}

/// The event definition of an event that must have one.
pub(crate) fn exactly_one<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Node<'x>> {
    let definition = at_most_one(node, context)?;
    if definition.is_none() {
        context.add(node, Rule::EventTypeMissing, "The event has no event definition, but must have exactly one. Choose its type, for instance timer or message");
    }
    definition
}

/// The trigger of a catch event, independent of its position. (Links, compensation and start events are read elsewhere.)
pub(crate) fn caught<'x>(
    definition: Node<'x>,
    cycles: Cycles,
    context: &mut Context<'_, 'x>,
) -> Option<CatchEvent> {
    match kind(definition) {
        "timer" => timer::parse(definition, cycles, context).map(CatchEvent::Timer),
        "message" => message::caught(definition, context).map(CatchEvent::Message),
        "signal" => signal::parse(definition, context).map(CatchEvent::Signal),
        "conditional" => conditional::parse(definition, context).map(CatchEvent::Conditional),
        "error" => {
            let code = code::caught(&code::ERROR, definition, context)?;
            Some(CatchEvent::Error { code })
        }
        "escalation" => {
            let code = code::caught(&code::ESCALATION, definition, context)?;
            Some(CatchEvent::Escalation { code })
        }
        _ => {
            refuse(definition, "catching event", context);
            None
        }
    }
}

/// The common name of a kind of event definition.
pub(crate) fn called(kind: &str) -> &str {
    match kind {
        "compensate" => "compensation",
        other => other,
    }
}

/// Refuses an event definition that this position cannot have.
pub(crate) fn refuse(definition: Node<'_>, position: &str, context: &mut Context<'_, '_>) {
    let (rule, message) = match kind(definition) {
        "cancel" => {
            let message = never_supported("A cancel event", "Use an error event");
            (Rule::NotSupported, message)
        }
        kind @ ("timer" | "message" | "error" | "signal" | "escalation" | "conditional"
        | "compensate" | "terminate" | "link") => {
            let message = format!(
                "The event definition '{}' is not possible at this position ({position}). Choose another type of event",
                called(kind)
            );
            (Rule::EventNotAllowed, message)
        }
        other => {
            let message = format!(
                "The event definition '{other}' is not known. Choose another type of event"
            );
            (Rule::UnknownElement, message)
        }
    };
    context.add(definition, rule, message);
}
