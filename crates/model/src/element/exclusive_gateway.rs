//! The exclusive gateway: takes one of its outgoing flows.

use crate::compile::Draft;
use crate::context::Context;
use crate::error::Findings;
use crate::graph::{ElementIndex, ElementKind};
use crate::xml::Node;

pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let default = match node
        .attribute("default")
        .filter(|reference| !reference.is_empty())
    {
        Some(_) => Some(context.reference(node, "default")?),
        None => None,
    };
    Some(ElementKind::ExclusiveGateway { default })
}

/// The default flow starts here; where there is a choice, each other flow has a condition.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let gateway = draft.element(index);
    let ElementKind::ExclusiveGateway { default } = gateway.kind else {
        return;
    };
    if let Some(default) =
        default.filter(|flow| !gateway.outgoing.contains(flow) && !draft.is_broken(*flow))
    {
        let message = format!(
            "The default flow '{}' does not start at this gateway. Choose one of its outgoing flows",
            draft.element(default).id
        );
        findings.add(draft.node(index), message);
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
                "The flow leaves the exclusive gateway '{}' without condition. Give it one, or make it the default flow",
                gateway.id
            );
            findings.add(draft.node(flow), message);
        }
    }
}
