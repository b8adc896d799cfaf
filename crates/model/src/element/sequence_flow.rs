//! The sequence flow between two elements of a scope.

use crate::compile::Draft;
use crate::context::Context;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind, ElementType, SequenceFlow};
use crate::value;
use crate::xml::{self, Node};

pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let source = context.reference(node, "sourceRef");
    let target = context.reference(node, "targetRef");
    let condition = match xml::bpmn_children(node, "conditionExpression").next() {
        Some(condition) => Some(parse_condition(condition, context)?),
        None => None,
    };
    Some(ElementKind::SequenceFlow(SequenceFlow {
        source: source?,
        target: target?,
        condition,
    }))
}

fn parse_condition<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<skep_feel::Expression> {
    let text = xml::text(node);
    if text.is_empty() {
        context.add(node, Rule::ExpressionMissing, "The condition of the flow is empty. Write an expression that starts with '=', or remove the condition");
        return None;
    }
    value::expression(node, "The condition of the flow", &text, context.findings)
}

/// Joins two flow nodes of one scope, to which it belongs, wherever it is written; has a condition only behind a gateway that chooses.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let element = draft.element(index);
    let ElementKind::SequenceFlow(flow) = &element.kind else {
        return;
    };
    for end in [flow.source, flow.target] {
        let other = draft.element(end);
        if matches!(
            other.element_type,
            ElementType::SequenceFlow | ElementType::Process
        ) {
            findings.add(draft.node(index), Rule::ReferenceNotAllowed, format!("A sequence flow connects events, activities and gateways, but '{}' is none of these. Choose another end", other.id));
        } else if other.parent != element.parent {
            let message = format!(
                "The sequence flow and '{}' lie in different scopes. A flow cannot cross the border of a sub-process",
                other.id
            );
            findings.add(draft.node(index), Rule::ScopeCrossed, message);
        }
    }
    let source = draft.element(flow.source);
    if flow.condition.is_some()
        && !matches!(
            source.element_type,
            ElementType::ExclusiveGateway | ElementType::InclusiveGateway
        )
        && !draft.is_broken(flow.source)
    {
        let message = format!(
            "Only flows that leave an exclusive or inclusive gateway can have a condition, but this one leaves '{}'. Put a gateway before it",
            source.id
        );
        findings.add(draft.node(index), Rule::ConditionNotAllowed, message);
    }
}
