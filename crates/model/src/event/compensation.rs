//! Compensation event definitions: the compensated activity, and its handler.

use crate::context::Context;
use crate::error::Rule;
use crate::graph::ElementIndex;
use crate::value::boolean;
use crate::xml::Node;

/// The target of a throw or end event: an activity, or everything in its scope. It always waits for the handlers.
pub(crate) fn thrown<'x>(
    node: Node<'x>,
    definition: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<ElementIndex>> {
    let waits = boolean(
        node,
        definition,
        "waitForCompletion",
        true,
        context.findings,
    );
    if waits == Some(false) {
        context.add(definition, Rule::NotSupported, "A compensation event always waits for its handlers. Set waitForCompletion=\"true\", or remove the attribute");
        return None;
    }
    waits?;
    match definition
        .attribute("activityRef")
        .filter(|r| !r.is_empty())
    {
        Some(_) => context.reference(definition, "activityRef").map(Some),
        None => Some(None),
    }
}

/// The handler of a boundary event: the element that it is associated with, other than text.
pub(crate) fn handler<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementIndex> {
    let id = node.attribute("id").unwrap_or_default();
    let targets = context.associations.get(id);
    let mut targets = targets.into_iter().flatten();
    let handler = targets.find_map(|target| context.find(target));
    if handler.is_none() {
        context.add(node, Rule::ReferenceMissing, "The compensation boundary event has no association. Connect it with the activity that compensates");
    }
    handler
}
