//! The receive task: waits for a message.

use crate::context::Context;
use crate::element::never_supported;
use crate::error::Rule;
use crate::event::message;
use crate::graph::ElementKind;
use crate::value::boolean;
use crate::xml::Node;

/// References a message with name and subscription; does not create instances.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    if boolean(node, node, "instantiate", false, context.findings)? {
        context.add(
            node,
            Rule::NotSupported,
            never_supported(
                "A receive task with 'instantiate'",
                "Use a message start event",
            ),
        );
        return None;
    }
    message::caught(node, context).map(ElementKind::ReceiveTask)
}
