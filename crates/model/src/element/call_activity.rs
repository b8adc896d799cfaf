//! The call activity: an instance of another process.

use crate::context::Context;
use crate::graph::ElementKind;
use crate::xml::Node;
use crate::zeebe::called_element;

/// Exactly one `zeebe:calledElement`.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    called_element::required(node, context).map(ElementKind::CallActivity)
}
