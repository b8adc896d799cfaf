//! Operations of conditional events.

use skep_protocol::command::Command;

use crate::rest::decode::conditionals;
use crate::rest::operations::rows::operations;

operations! { "Conditional events":
    POST "/v2/conditionals/evaluation" () evaluateConditionals {
        does: Command(EvaluateConditionals) = |call| conditionals::evaluate(call.text, call.front),
        rpc: [EvaluateConditional],
    }
}
