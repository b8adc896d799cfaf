//! Operations of expressions.

use skep_protocol::command::Command;

use super::rows::operations;
use crate::rest::decode::system;

operations! { "Expressions":
    POST "/v2/expression/evaluation" () evaluateExpression {
        does: Command(EvaluateExpression) = |call| system::evaluate_expression(call.text, call.front),
    }
}
