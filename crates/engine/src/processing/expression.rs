//! Expressions against the variables of a scope.

use std::sync::Arc;

use skep_feel::{EvalContext, Evaluation, Expression, Number, Value, WarningCode};
use skep_model::TextValue;
use skep_protocol::value::ErrorType;
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};

use super::bpmn::Problem;
use super::{Context, Named, Outcome, reject};

fn eval_context(cx: &Context<'_>) -> EvalContext {
    EvalContext {
        now_millis: cx.now,
        // Random numbers differ from call to call, and only their results reach the log.
        seed: cx.out.next_position() ^ (cx.now as u64).rotate_left(32),
        ..EvalContext::default()
    }
}

/// Evaluates with the variables visible at `scope`.
pub(crate) fn evaluate(
    cx: &mut Context<'_>,
    expression: &Expression,
    scope: Key,
) -> Result<Value, String> {
    evaluate_over(cx, expression, scope, &Named::default())
}

/// Evaluates with the variables visible at `scope`; `overlay` hides them.
pub(crate) fn evaluate_over(
    cx: &mut Context<'_>,
    expression: &Expression,
    scope: Key,
    overlay: &Named,
) -> Result<Value, String> {
    let mut named = Named::default();
    for name in expression.variables() {
        let value = match overlay.value(name) {
            Some(value) => Some(value.clone()),
            None => cx.state.elements.visible_variable(scope, name),
        };
        if let Some(value) = value {
            named.set(name.clone(), value);
        }
    }
    let Evaluation { value, warnings } = expression.evaluate(&named, &eval_context(cx));
    // Other warnings explain a null, which is a result; these mean that there is none.
    let fatal = |code| {
        matches!(
            code,
            WarningCode::AssertFailure | WarningCode::LimitExceeded
        )
    };
    match warnings.into_iter().find(|w| fatal(w.code)) {
        Some(failed) if failed.code == WarningCode::AssertFailure => Err(format!(
            "Assertion failure on evaluate the expression '{}': {}",
            expression.text(),
            cause(&failed.message)
        )),
        Some(failed) => Err(format!(
            "The expression '{}' could not be evaluated: {}",
            expression.text(),
            failed.message
        )),
        None => Ok(value),
    }
}

/// What the message of a failed assertion says beside that it is one.
fn cause(message: &str) -> &str {
    let prefix = "Assertion failure on evaluate the expression: ";
    message.strip_prefix(prefix).unwrap_or(message)
}

/// A text, static or computed. Anything but a string (or, where `numbers`, a number) is an error.
pub(crate) fn text(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
    numbers: bool,
) -> Result<Arc<str>, Problem> {
    let expression = match value {
        TextValue::Static(text) => return Ok(text.clone()),
        TextValue::Expression(expression) => expression,
    };
    let value = evaluate(cx, expression, scope)
        .map_err(|message| Problem::new(ErrorType::ExtractValueError, message))?;
    match &value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) if numbers => Ok(value.to_json().into()),
        other => Err(Problem::new(
            ErrorType::ExtractValueError,
            format!(
                "Expected result of the expression '{}' to be {}, but was '{}'.",
                expression.text(),
                if numbers {
                    "'STRING' or 'NUMBER'"
                } else {
                    "'STRING'"
                },
                type_name(other)
            ),
        )),
    }
}

/// A number's text as a correlation key: its value without the zeros behind it, so that `1.0` and `1` meet.
pub(crate) fn number_as_key(number: &Number) -> String {
    let mut text = number.to_string();
    if text.contains('.') && !text.contains('E') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

/// A whole number, static or computed. What an expression yields behind the decimal point is cut off.
pub(crate) fn integer(cx: &mut Context<'_>, value: &TextValue, scope: Key) -> Result<i64, Problem> {
    let wrong = |text: &str, found: &str| {
        Problem::new(
            ErrorType::ExtractValueError,
            format!(
                "Expected result of the expression '{text}' to be a whole number, but was '{found}'."
            ),
        )
    };
    match value {
        TextValue::Static(text) => text.trim().parse().map_err(|_| wrong(text, text)),
        TextValue::Expression(expression) => {
            let value = evaluate(cx, expression, scope)
                .map_err(|message| Problem::new(ErrorType::ExtractValueError, message))?;
            let number = value.as_number().and_then(Number::trunc_i64);
            number.ok_or_else(|| match &value {
                Value::Number(_) => wrong(expression.text(), &value.to_json()),
                other => wrong(expression.text(), type_name(other)),
            })
        }
    }
}

/// A date, time or duration as text: temporal values become their ISO form. `expected` says which it is to be.
pub(crate) fn temporal_text(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
    expected: &str,
) -> Result<Arc<str>, Problem> {
    let expression = match value {
        TextValue::Static(text) => return Ok(text.clone()),
        TextValue::Expression(expression) => expression,
    };
    let value = evaluate(cx, expression, scope)
        .map_err(|message| Problem::new(ErrorType::ExtractValueError, message))?;
    match &value {
        Value::String(text) => Ok(text.clone()),
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::List(_) | Value::Context(_) => {
            Err(Problem::new(
                ErrorType::ExtractValueError,
                format!(
                    "Expected result of the expression '{}' to be {expected}, as a value or as text, but was '{}'.",
                    expression.text(),
                    type_name(&value)
                ),
            ))
        }
        temporal => Ok(temporal.to_json().trim_matches('"').into()),
    }
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

/// EXPRESSION EVALUATE: evaluates for a client, against the variables that it sends.
pub(crate) fn evaluate_for_client(
    cx: &mut Context<'_>,
    expression: &str,
    variables: &Document,
) -> Outcome {
    let invalid = |reason: String| -> Rejection {
        reject(RejectionType::InvalidArgument, "EVALUATE", reason)
    };
    let Some(text) = expression.trim_start().strip_prefix('=') else {
        return Err(invalid(format!(
            "Expected an expression that starts with '=', but found '{expression}'. Put '=' before the FEEL text."
        )));
    };
    let parsed = Expression::parse(text)
        .map_err(|e| invalid(format!("Failed to parse expression '{expression}': {e}")))?;
    let named: Named = variables.entries().iter().cloned().collect();
    let Evaluation { value, warnings } = parsed.evaluate(&named, &eval_context(cx));
    Ok(Some(Response::ExpressionEvaluated {
        result: value.to_json(),
        warnings: warnings.into_iter().map(|w| w.message).collect(),
    }))
}
