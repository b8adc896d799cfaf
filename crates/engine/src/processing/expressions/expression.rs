//! Evaluation of expressions with the variables of a scope.

use std::fmt::Display;
use std::sync::Arc;

use skep_feel::{EvalContext, Expression, Limits, Number, Value, Warning, WarningCode};
use skep_model::{TextList, TextValue};
use skep_protocol::document::{JsonText, write_json_string};
use skep_protocol::value::ErrorType;
use skep_protocol::{Document, Key, Rejection, RejectionType, Response, TenantId, names};

use crate::evaluation::{AskedExpression, Evaluation, PendingEvaluation};
use crate::prepared::{Kind, Prepared};
use crate::processing::bpmn::Problem;
use crate::processing::evaluated::{self, Evaluated};
use crate::processing::{CAMUNDA, Context, Named, Outcome, reject};

pub(crate) fn eval_context(cx: &Context<'_>) -> EvalContext {
    let limits = Limits::with_millis(cx.config.expression_timeout);
    EvalContext {
        now_millis: cx.now,
        // Random numbers differ between calls, and only their results reach the log.
        seed: cx.out.next_position() ^ (cx.now as u64).rotate_left(32),
        // An element with very many expressions must not take many times as long as one expression.
        limits: Limits {
            max_steps: limits.max_steps.saturating_sub(cx.budget.evaluated()),
            ..limits
        },
        ..EvalContext::default()
    }
}

/// Evaluates with the variables visible at `scope`; `overlay` hides them.
///
/// # Errors
/// When there is no result, not even null: an assertion failed, or the evaluation took too much.
pub(crate) fn evaluate<'e>(
    cx: &mut Context<'_>,
    expression: &'e Expression,
    scope: Key,
    overlay: &Named,
) -> Result<Evaluated<'e>, String> {
    let named = visible(cx, expression.variables(), scope, overlay);
    let skep_feel::Evaluation {
        value,
        warnings,
        steps,
    } = expression.evaluate(&named, &eval_context(cx));
    let others = cx.budget.evaluated();
    cx.budget.take_evaluation(steps);
    let mut evaluated = Evaluated {
        value,
        expression,
        warnings,
    };
    match take_failure(&mut evaluated.warnings) {
        None => Ok(evaluated),
        Some(mut failure) => {
            if failure.code == WarningCode::LimitExceeded && others > 0 {
                let shared = format!(
                    " (all expressions of an element may take {} ms together, and those before it used part of it)",
                    cx.config.expression_timeout
                );
                failure.message.push_str(&shared);
            }
            Err(why_failed(&evaluated, &failure))
        }
    }
}

/// The variables in `names` that are visible at `scope`; `overlay` hides them.
pub(crate) fn visible(
    cx: &mut Context<'_>,
    names: &[Arc<str>],
    scope: Key,
    overlay: &Named,
) -> Named {
    let mut named = Named::default();
    for name in names {
        let value = match overlay.value(name) {
            Some(value) => Some(value.clone()),
            None => cx.state.elements.visible_variable(scope, name),
        };
        match value {
            Some(value) => named.set(name.clone(), value),
            None if **name == *CAMUNDA => {
                let tenant = tenant_at(cx, scope);
                named.set_camunda(cx.state.cluster_variables.seen_by(&tenant));
            }
            None => {}
        }
    }
    named
}

/// The tenant whose cluster variables an element sees. If the element does not exist yet: the tenant of the command.
fn tenant_at(cx: &mut Context<'_>, scope: Key) -> TenantId {
    let definition = cx.state.elements.get(scope);
    match definition.map(|row| row.process_definition_key) {
        Some(definition) => cx.tenant_of(definition),
        None => cx.tenant.clone(),
    }
}

/// The names visible to an evaluation with given variables: those variables, and the cluster variables of a tenant.
pub(crate) fn given(
    cx: &mut Context<'_>,
    variables: &[(Arc<str>, JsonText)],
    tenant: &TenantId,
) -> Named {
    let mut named: Named = variables.iter().cloned().collect();
    if !cx.state.cluster_variables.is_empty() {
        named.set_camunda(cx.state.cluster_variables.seen_by(tenant));
    }
    named
}

/// Takes the warning that means there is no result. The other warnings explain a null, which is a result.
fn take_failure(warnings: &mut Vec<Warning>) -> Option<Warning> {
    let fatal = |code| {
        matches!(
            code,
            WarningCode::AssertFailure | WarningCode::LimitExceeded
        )
    };
    let at = warnings.iter().position(|warning| fatal(warning.code))?;
    Some(warnings.remove(at))
}

fn why_failed(evaluated: &Evaluated<'_>, failure: &Warning) -> String {
    let text = evaluated::shown(evaluated.expression);
    let message = match failure.code {
        WarningCode::AssertFailure => {
            let cause = cause(&failure.message);
            format!("Assertion failure on evaluate the expression '{text}': {cause}")
        }
        _ => format!(
            "The expression '{text}' could not be evaluated: {}",
            failure.message
        ),
    };
    evaluated::with_warnings(message, &evaluated.warnings)
}

/// The cause in the message of a failed assertion, without the standard prefix.
fn cause(message: &str) -> &str {
    let prefix = "Assertion failure on evaluate the expression: ";
    message.strip_prefix(prefix).unwrap_or(message)
}

/// Like [`evaluate`], for a value that an element itself needs.
pub(crate) fn extract<'e>(
    cx: &mut Context<'_>,
    expression: &'e Expression,
    scope: Key,
) -> Result<Evaluated<'e>, Problem> {
    extract_with(cx, expression, scope, &Named::default())
}

/// As [`extract`], with variables that hide those of the scope.
pub(crate) fn extract_with<'e>(
    cx: &mut Context<'_>,
    expression: &'e Expression,
    scope: Key,
    overlay: &Named,
) -> Result<Evaluated<'e>, Problem> {
    evaluate(cx, expression, scope, overlay)
        .map_err(|message| Problem::new(ErrorType::ExtractValueError, message))
}

/// Evaluates a text, static or computed. Anything but a string is an error.
pub(crate) fn text(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
) -> Result<Arc<str>, Problem> {
    let expression = match value {
        TextValue::Static(text) => return Ok(text.clone()),
        TextValue::Expression(expression) => expression,
    };
    let evaluated = extract(cx, expression, scope)?;
    match &evaluated.value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(evaluated.is_not("'STRING'")),
    }
}

/// Refuses a name or key that is too long for the indices, which keep it in memory. `what` says what it is.
pub(crate) fn not_too_long(what: impl Display, text: &str) -> Result<(), Problem> {
    names::check(text).map_err(|too_long| {
        let message = too_long.text(format_args!("The {what} that its expression yields"));
        Problem::new(ErrorType::ExtractValueError, message)
    })
}

/// Evaluates the correlation key of a message subscription: a string, or a number as in JSON, so that `1.0` and `1` are
/// equal.
pub(crate) fn correlation_key(
    cx: &mut Context<'_>,
    expression: &Expression,
    scope: Key,
) -> Result<Arc<str>, Problem> {
    let evaluated = extract(cx, expression, scope)?;
    match &evaluated.value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) => Ok(evaluated.value.to_json().into()),
        other => Err(evaluated.problem(format!(
            "Failed to extract the correlation key for '{}': The value must be either a string or a number, but was '{}'.",
            evaluated::shown(expression),
            evaluated::type_name(other)
        ))),
    }
}

/// Evaluates an integer, static or computed. Decimal places are cut off.
pub(crate) fn integer(cx: &mut Context<'_>, value: &TextValue, scope: Key) -> Result<i64, Problem> {
    let expression = match value {
        TextValue::Static(text) => {
            let number = text.trim().parse::<Number>().ok();
            return number.and_then(|n| n.trunc_i64()).ok_or_else(|| {
                let message = format!("Expected '{text}' to be a whole number, but it is not.");
                Problem::new(ErrorType::ExtractValueError, message)
            });
        }
        TextValue::Expression(expression) => expression,
    };
    let evaluated = extract(cx, expression, scope)?;
    match &evaluated.value {
        Value::Number(number) => number.trunc_i64().ok_or_else(|| {
            evaluated.problem(format!(
                "Expected result of the expression '{}' to be a whole number of at most 64 bits, but was '{number}'.",
                evaluated::shown(expression)
            ))
        }),
        _ => Err(evaluated.is_not("'NUMBER'")),
    }
}

/// Evaluates a list of texts, static or computed.
pub(crate) fn text_list(
    cx: &mut Context<'_>,
    value: &TextList,
    scope: Key,
) -> Result<Vec<Arc<str>>, Problem> {
    let expression = match value {
        TextList::Static(texts) => return Ok(texts.clone()),
        TextList::Expression(expression) => expression,
    };
    let evaluated = extract(cx, expression, scope)?;
    let Value::List(items) = &evaluated.value else {
        return Err(evaluated.is_not("'ARRAY' of texts"));
    };
    let texts = items.iter().map(|item| match item {
        Value::String(text) => Ok(text.clone()),
        other => Err(evaluated.problem(format!(
            "Expected result of the expression '{}' to be a list of texts, but it holds '{}'.",
            evaluated::shown(expression),
            evaluated::type_name(other)
        ))),
    });
    texts.collect()
}

/// A date, time or duration as text: temporal values become their ISO form. `expected` names the expected type.
pub(crate) fn temporal_text(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
    expected: &str,
) -> Result<Arc<str>, Problem> {
    let text = temporal(cx, value, scope, expected, false)?;
    Ok(text.unwrap_or_default())
}

/// Like [`temporal_text`], but null yields `None`.
pub(crate) fn temporal_text_or_null(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
    expected: &str,
) -> Result<Option<Arc<str>>, Problem> {
    temporal(cx, value, scope, expected, true)
}

fn temporal(
    cx: &mut Context<'_>,
    value: &TextValue,
    scope: Key,
    expected: &str,
    nullable: bool,
) -> Result<Option<Arc<str>>, Problem> {
    let expression = match value {
        TextValue::Static(text) => return Ok(Some(text.clone())),
        TextValue::Expression(expression) => expression,
    };
    let evaluated = extract(cx, expression, scope)?;
    match &evaluated.value {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Null if nullable => Ok(None),
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::List(_) | Value::Context(_) => {
            Err(evaluated.is_not(&format!("{expected}, as a value or as text")))
        }
        // A value without a zone is in the engine's zone.
        Value::DateTime(local) if local.zone().is_local() => Ok(Some(format!("{local}Z").into())),
        Value::DateTime(moment) => Ok(Some(moment.iso_text().into())),
        temporal => Ok(Some(temporal.to_json().trim_matches('"').into())),
    }
}

/// EXPRESSION EVALUATE: a client evaluates an expression with the variables that it sends.
pub(crate) fn evaluate_for_client(
    cx: &mut Context<'_>,
    expression: &str,
    variables: &Document,
) -> Outcome {
    if let Some(Prepared(Kind::Answer(answer))) = cx.prepared.take() {
        return answer.map(Some);
    }
    let tenant = cx.tenant.clone();
    let asked = AskedExpression {
        text: expression.into(),
        variables: given(cx, variables.entries(), &tenant),
        context: eval_context(cx),
        max_size: cx.config.max_message_size,
    };
    match asked.answer_within(cx.config.short_evaluation) {
        Some(answer) => answer.map(Some),
        None => {
            cx.volatile.evaluation = Some(Evaluation(PendingEvaluation::Expression(asked)));
            Ok(None)
        }
    }
}

/// The response to the client, and the number of evaluation steps.
pub(crate) fn answer(
    asked: &AskedExpression,
    context: &EvalContext,
) -> (Result<Response, Rejection>, u64) {
    let invalid = |reason: String| -> Result<Response, Rejection> {
        Err(reject(RejectionType::InvalidArgument, "EVALUATE", reason))
    };
    let expression = &asked.text;
    // As in models, a text without '=' is a constant.
    let Some(text) = expression.trim_start().strip_prefix('=') else {
        let mut result = String::new();
        write_json_string(expression, &mut result);
        let warnings = Vec::new();
        return (Ok(Response::ExpressionEvaluated { result, warnings }), 0);
    };
    let parsed = match Expression::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let reason = format!("Failed to parse expression '{expression}': {error}");
            return (invalid(reason), 0);
        }
    };
    let skep_feel::Evaluation {
        value,
        warnings,
        steps,
    } = parsed.evaluate(&asked.variables, context);
    let mut evaluated = Evaluated {
        value,
        expression: &parsed,
        warnings,
    };
    if let Some(failure) = take_failure(&mut evaluated.warnings) {
        return (invalid(why_failed(&evaluated, &failure)), steps);
    }
    let max = asked.max_size;
    let Some(result) = evaluated.value.to_json_within(max as u64) else {
        let reason = format!(
            "The result is longer than {max} bytes, the size of the largest message. Ask for a part of it."
        );
        return (invalid(reason), steps);
    };
    let warnings = evaluated.warnings.into_iter();
    let warnings = warnings.map(|w| w.message).collect();
    (
        Ok(Response::ExpressionEvaluated { result, warnings }),
        steps,
    )
}
