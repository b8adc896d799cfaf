//! `zeebe:calledElement`: the process that a call activity starts.

use crate::context::Context;
use crate::graph::CalledElement;
use crate::value::{self, boolean};
use crate::xml::Node;

pub(crate) fn required<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<CalledElement> {
    let called = super::exactly_one(node, "calledElement", "call activity", context)?;
    let process_id = value::required_text(called, "processId", context.findings);
    let binding = super::binding(called, context);
    let parent = boolean(
        node,
        called,
        "propagateAllParentVariables",
        true,
        context.findings,
    );
    let child = boolean(
        node,
        called,
        "propagateAllChildVariables",
        true,
        context.findings,
    );
    Some(CalledElement {
        process_id: process_id?,
        binding: binding?,
        propagate_all_parent_variables: parent?,
        propagate_all_child_variables: child?,
    })
}
