//! The service task: a job for a worker.

use crate::context::Context;
use crate::graph::ElementKind;
use crate::xml::Node;
use crate::zeebe::job;

/// Exactly one task definition, at most one set of headers.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    job::required(node, "service task", context).map(ElementKind::ServiceTask)
}
