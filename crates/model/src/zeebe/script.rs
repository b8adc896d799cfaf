//! `zeebe:script`: the expression of a script task and the variable for its result.

use std::sync::Arc;

use skep_feel::Expression;

use crate::context::Context;
use crate::value;
use crate::xml::Node;

pub(crate) fn parse(
    script: Node<'_>,
    context: &mut Context<'_, '_>,
) -> Option<(Expression, Arc<str>)> {
    let expression = value::required_expression(script, "expression", context.findings);
    let result_variable = value::required_constant(script, "resultVariable", context.findings);
    Some((expression?, result_variable?))
}
