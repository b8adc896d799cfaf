//! Signals: thrown and caught by name.

use crate::context::{Context, NamedNode};
use crate::error::Rule;
use crate::event::named;
use crate::graph::{Signal, TextValue};
use crate::xml::Node;

/// The signal of an event that throws or catches it.
pub(crate) fn parse<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Signal> {
    let signal = referenced(definition, context)?;
    let name = named::name(definition, "signal", signal, context)?;
    Some(Signal { name })
}

/// The signal that starts a process.
pub(crate) fn starting<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Signal> {
    let signal = referenced(definition, context)?;
    let name = named::constant_name(definition, "signal", signal, context)?;
    Some(Signal {
        name: TextValue::Static(name),
    })
}

fn referenced<'c, 'x>(
    definition: Node<'x>,
    context: &mut Context<'c, 'x>,
) -> Option<&'c NamedNode<'x>> {
    let Some(reference) = definition.attribute("signalRef").filter(|r| !r.is_empty()) else {
        context.add(
            definition,
            Rule::ReferenceMissing,
            "The event references no signal. Choose a signal with a name",
        );
        return None;
    };
    let found = context.definitions.signal(reference);
    if found.is_none() {
        context.add(
            definition,
            Rule::ReferenceNotFound,
            format!(
                "The attribute 'signalRef' names '{reference}', which is not a signal of this file. Choose another, or add it"
            ),
        );
    }
    found
}
