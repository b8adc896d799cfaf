//! Results of expressions, and the text of an incident if a result is not what the element needs.

use std::fmt::Write;

use skep_feel::{Expression, Value, Warning};
use skep_protocol::value::ErrorType;

use crate::processing::bpmn::Problem;

/// A result with the warnings of its evaluation, which help to explain it.
pub(crate) struct Evaluated<'e> {
    pub value: Value,
    pub expression: &'e Expression,
    pub warnings: Vec<Warning>,
}

impl Evaluated<'_> {
    /// A problem for a value of the wrong type; `expected` names the right one.
    pub fn is_not(&self, expected: &str) -> Problem {
        let message = format!(
            "Expected result of the expression '{}' to be {expected}, but was '{}'.",
            shown(self.expression),
            type_name(&self.value)
        );
        self.problem(message)
    }

    /// A problem with this result, with the warnings appended to its message.
    pub fn problem(&self, message: String) -> Problem {
        let message = with_warnings(message, &self.warnings);
        Problem::new(ErrorType::ExtractValueError, message)
    }
}

/// Maximum characters of an expression in a message.
const MAX_SHOWN: usize = 1000;

/// The text of an expression for a message; a very long one is truncated.
pub(crate) fn shown(expression: &Expression) -> String {
    let text = expression.text();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Maximum number of warnings in a message.
const MAX_WARNINGS: usize = 10;

/// The message, followed by the warnings that explain the result.
pub(crate) fn with_warnings(mut message: String, warnings: &[Warning]) -> String {
    if warnings.is_empty() {
        return message;
    }
    message.push_str(" The evaluation reported the following warnings:");
    for warning in warnings.iter().take(MAX_WARNINGS) {
        // Writing to a string cannot fail.
        let _ = write!(message, "\n[{}] {}", warning.code, warning.message);
    }
    if let Some(more) = warnings.len().checked_sub(MAX_WARNINGS + 1) {
        let _ = write!(message, "\n… and {} more", more + 1);
    }
    message
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Boolean(_) => "BOOLEAN",
        Value::Number(_) => "NUMBER",
        Value::String(_) => "STRING",
        Value::List(_) => "ARRAY",
        Value::Context(_) => "OBJECT",
        other => other.type_name(),
    }
}
