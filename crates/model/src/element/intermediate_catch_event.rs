//! The intermediate catch event.

use crate::context::Context;
use crate::event;
use crate::event::timer::Cycles;
use crate::graph::{CatchEvent, ElementKind};
use crate::xml::Node;

/// Exactly one event definition; a timer is a date or a duration.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let definition = event::exactly_one(node, context)?;
    let event = match event::kind(definition) {
        "link" => CatchEvent::Link {
            name: event::link::name(definition, context)?.into(),
        },
        "timer" | "message" | "signal" | "conditional" => {
            event::caught(definition, Cycles::Refused, context)?
        }
        _ => {
            event::refuse(definition, "intermediate catch event", context);
            return None;
        }
    };
    Some(ElementKind::IntermediateCatchEvent(event))
}
