//! The intermediate throw event.

use crate::context::Context;
use crate::error::Rule;
use crate::event;
use crate::graph::{ElementIndex, ElementKind, ThrowEvent};
use crate::xml::Node;

/// At most one event definition. One of a kind that only catches has no effect, as in the reference engine.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    scope: ElementIndex,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    let thrown = match event::at_most_one(node, context)? {
        None => ThrowEvent::None,
        Some(definition) => match event::kind(definition) {
            "timer" => ThrowEvent::None,
            "link" => ThrowEvent::Link {
                target: link_target(definition, scope, context)?,
            },
            _ => thrown(node, definition, "intermediate throw event", context)?,
        },
    };
    Some(ElementKind::IntermediateThrowEvent(thrown))
}

/// Reads the definition of an end event or intermediate throw event, as far as both have the same.
pub(crate) fn thrown<'x>(
    node: Node<'x>,
    definition: Node<'x>,
    position: &str,
    context: &mut Context<'_, 'x>,
) -> Option<ThrowEvent> {
    Some(match event::kind(definition) {
        "message" => {
            let of = format!("message {}", position.trim_start_matches("intermediate "));
            ThrowEvent::Message(event::message::thrown(node, definition, &of, context)?)
        }
        "signal" => ThrowEvent::Signal(event::signal::parse(definition, context)?),
        "escalation" => ThrowEvent::Escalation {
            code: event::code::thrown(&event::code::ESCALATION, definition, context)?,
        },
        "compensate" => ThrowEvent::Compensation {
            activity: event::compensation::thrown(node, definition, context)?,
        },
        _ => {
            event::refuse(definition, position, context);
            return None;
        }
    })
}

fn link_target<'x>(
    definition: Node<'x>,
    scope: ElementIndex,
    context: &mut Context<'_, 'x>,
) -> Option<ElementIndex> {
    let name = event::link::name(definition, context)?;
    let target = context.links.get(&(scope, name)).copied();
    if target.is_none() {
        let message = format!(
            "There is no link catch event named '{name}' in this scope. Add one, or change the name"
        );
        context.add(definition, Rule::ReferenceNotFound, message);
    }
    target
}
