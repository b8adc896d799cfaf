//! `zeebe:ioMapping`: input and output mappings between scopes.

use crate::context::Context;
use crate::graph::{Mapping, TextValue};
use crate::value;
use crate::xml::{self, Node};

/// Inputs and outputs in document order.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> (Vec<Mapping>, Vec<Mapping>) {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let children = xml::extensions(node, "ioMapping")
        .flat_map(|mapping| mapping.children())
        .filter(|child| child.is_element());
    for child in children {
        match child.tag_name().name() {
            "input" => inputs.extend(input(child, context)),
            "output" => outputs.extend(output(child, context)),
            other => context.add(
                child,
                format!(
                    "The element '{other}' is not known inside of 'zeebe:ioMapping'. Remove it"
                ),
            ),
        }
    }
    (inputs, outputs)
}

/// The source of an input may be constant, even empty.
fn input(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<Mapping> {
    let target = value::path(node, "target", context.findings);
    let source = value::text_value(
        node,
        "The source of the input mapping",
        node.attribute("source").unwrap_or_default(),
        context.findings,
    );
    Some(Mapping {
        source: source?,
        target: target?,
    })
}

/// The source of an output is an expression.
fn output(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<Mapping> {
    let target = value::path(node, "target", context.findings);
    let source = value::required_expression(node, "source", context.findings);
    Some(Mapping {
        source: TextValue::Expression(source?),
        target: target?,
    })
}
