//! The send task: a job for a worker that sends a message.

use crate::context::Context;
use crate::event::message;
use crate::graph::ElementKind;
use crate::xml::Node;

/// Exactly one of `zeebe:taskDefinition` and `zeebe:publishMessage`.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    message::thrown(node, node, "send task", context).map(ElementKind::SendTask)
}
