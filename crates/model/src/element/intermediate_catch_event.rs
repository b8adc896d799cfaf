//! The intermediate catch event.

use crate::context::Context;
use crate::element::not_supported_yet;
use crate::event;
use crate::graph::{CatchEvent, ElementKind};
use crate::xml::Node;

/// Exactly one event definition; a timer is a date or a duration.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let definition = event::exactly_one(node, context)?;
    let event = match event::kind(definition) {
        "timer" => CatchEvent::Timer(event::timer::parse(
            definition,
            event::timer::Cycles::Refused,
            context,
        )?),
        "message" => CatchEvent::Message(event::message::caught(definition, context)?),
        kind @ ("signal" | "conditional" | "link") => {
            context.add(node, not_supported_yet(&format!("The {kind} catch event")));
            return None;
        }
        _ => {
            event::refuse(definition, "intermediate catch event", context);
            return None;
        }
    };
    Some(ElementKind::IntermediateCatchEvent(event))
}
