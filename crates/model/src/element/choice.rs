//! The gateways that choose among their outgoing flows: the exclusive one takes one, the inclusive one some.

use crate::compile::Draft;
use crate::context::Context;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind};
use crate::xml::Node;

/// The default flow, if there is one; `None` after a finding.
pub(crate) fn default<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<ElementIndex>> {
    let default = node.attribute("default");
    match default.filter(|reference| !reference.is_empty()) {
        Some(_) => context.reference(node, "default").map(Some),
        None => Some(None),
    }
}

/// The default flow starts here; where there is a choice, each other flow has a condition.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let gateway = draft.element(index);
    let (default, kind) = match gateway.kind {
        ElementKind::ExclusiveGateway { default } => (default, "exclusive"),
        ElementKind::InclusiveGateway { default } => (default, "inclusive"),
        _ => return,
    };
    if let Some(default) =
        default.filter(|flow| !gateway.outgoing.contains(flow) && !draft.is_broken(*flow))
    {
        let message = format!(
            "The default flow '{}' does not start at this gateway. Choose one of its outgoing flows",
            draft.element(default).id
        );
        findings.add(draft.node(index), Rule::ReferenceNotAllowed, message);
    }
    if gateway.outgoing.len() < 2 {
        return;
    }
    for flow in gateway
        .outgoing
        .iter()
        .copied()
        .filter(|flow| Some(*flow) != default)
    {
        if let ElementKind::SequenceFlow(sequence_flow) = &draft.element(flow).kind
            && sequence_flow.condition.is_none()
        {
            let message = format!(
                "The flow leaves the {kind} gateway '{}' without condition. Give it one, or make it the default flow",
                gateway.id
            );
            findings.add(draft.node(flow), Rule::ConditionMissing, message);
        }
    }
}
