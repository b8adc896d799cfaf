//! `zeebe:calledDecision`: the decision that a business rule task evaluates.

use crate::context::Context;
use crate::graph::CalledDecision;
use crate::value;
use crate::xml::Node;

pub(crate) fn parse(called: Node<'_>, context: &mut Context<'_, '_>) -> Option<CalledDecision> {
    let decision_id = value::required_text(called, "decisionId", context.findings);
    let result_variable = value::required_constant(called, "resultVariable", context.findings);
    let binding = super::binding(called, context);
    Some(CalledDecision {
        decision_id: decision_id?,
        binding: binding?,
        result_variable: result_variable?,
    })
}
