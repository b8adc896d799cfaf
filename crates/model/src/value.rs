//! Attribute values: constant text, FEEL expressions, booleans, variable paths.

use std::sync::Arc;

use skep_feel::{EmptyScope, EvalContext, Expression, Value};

use crate::error::{Findings, Rule, abbreviate};
use crate::graph::TextValue;
use crate::xml::Node;

/// A value that is constant text, or an expression when it starts with `=`. `what` names it in findings.
pub(crate) fn text_value(
    node: Node<'_>,
    what: &str,
    raw: &str,
    findings: &mut Findings,
) -> Option<TextValue> {
    if raw.starts_with('=') {
        return expression(node, what, raw, findings).map(TextValue::Expression);
    }
    Some(TextValue::Static(Arc::from(raw)))
}

/// A text that does not depend on variables: constant, or computed from nothing.
pub(crate) fn constant_text(
    node: Node<'_>,
    what: &str,
    raw: &str,
    findings: &mut Findings,
) -> Option<Arc<str>> {
    let expression = match text_value(node, what, raw, findings)? {
        TextValue::Static(text) => return Some(text),
        TextValue::Expression(expression) => expression,
    };
    match expression
        .evaluate(&EmptyScope, &EvalContext::default())
        .value
    {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        _ => {
            let message = format!(
                "{what} is evaluated when the process is deployed, without variables, but '{}' does not result in a string then. Use a constant",
                abbreviate(raw)
            );
            findings.add(node, Rule::ConstantExpected, message);
            None
        }
    }
}

/// An attribute that may be missing; an empty one counts as missing. `None` after a finding.
pub(crate) fn optional_text(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<Option<TextValue>> {
    let raw = node.attribute(attribute).unwrap_or_default();
    if raw.trim().is_empty() {
        Some(None)
    } else {
        text_value(node, &what(node, attribute), raw, findings).map(Some)
    }
}

/// An attribute that may be missing, and is an expression otherwise. `None` after a finding.
pub(crate) fn optional_expression(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<Option<Expression>> {
    let raw = node.attribute(attribute).unwrap_or_default();
    if raw.trim().is_empty() {
        Some(None)
    } else {
        expression(node, &what(node, attribute), raw, findings).map(Some)
    }
}

/// An attribute that may be missing, and is constant otherwise.
pub(crate) fn optional_constant(node: Node<'_>, attribute: &str) -> Option<Arc<str>> {
    let raw = node.attribute(attribute);
    raw.filter(|raw| !raw.trim().is_empty()).map(Arc::from)
}

/// A constant that must be there.
pub(crate) fn required_constant(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<Arc<str>> {
    let constant = optional_constant(node, attribute);
    if constant.is_none() {
        let what = what(node, attribute);
        findings.add(
            node,
            Rule::ValueMissing,
            format!("{what} is missing or empty. Give it a value"),
        );
    }
    constant
}

/// An attribute that must be there with a value.
pub(crate) fn required_text(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<TextValue> {
    match node
        .attribute(attribute)
        .filter(|raw| !raw.trim().is_empty())
    {
        Some(raw) => text_value(node, &what(node, attribute), raw, findings),
        None => {
            findings.add(
                node,
                Rule::ValueMissing,
                format!(
                    "{} is missing or empty. Give it a value",
                    what(node, attribute)
                ),
            );
            None
        }
    }
}

/// An attribute that must be there and be an expression.
pub(crate) fn required_expression(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<Expression> {
    let raw = node.attribute(attribute).unwrap_or_default();
    if raw.trim().is_empty() {
        findings.add(
            node,
            Rule::ExpressionMissing,
            format!(
                "{} is missing or empty. Give it an expression that starts with '='",
                what(node, attribute)
            ),
        );
        return None;
    }
    expression(node, &what(node, attribute), raw, findings)
}

/// A text that must be an expression.
pub(crate) fn expression(
    node: Node<'_>,
    what: &str,
    raw: &str,
    findings: &mut Findings,
) -> Option<Expression> {
    let Some(source) = raw.strip_prefix('=') else {
        findings.add(
            node,
            Rule::ExpressionExpected,
            format!(
                "{what} must be an expression, but '{}' does not start with '='. Put '=' before it",
                abbreviate(raw)
            ),
        );
        return None;
    };
    if source.trim().is_empty() {
        findings.add(
            node,
            Rule::ExpressionMissing,
            format!("{what} is an empty expression. Write a FEEL expression after the '='"),
        );
        return None;
    }
    match Expression::parse(source) {
        Ok(expression) => Some(expression),
        Err(error) => {
            findings.add(
                node,
                Rule::ExpressionInvalid,
                format!(
                    "{what} is not a valid FEEL expression: '{}': {error}",
                    abbreviate(source.trim())
                ),
            );
            None
        }
    }
}

/// A boolean attribute of `at`; findings belong to `node`. `None` when it is neither true nor false.
pub(crate) fn boolean(
    node: Node<'_>,
    at: Node<'_>,
    attribute: &str,
    default: bool,
    findings: &mut Findings,
) -> Option<bool> {
    match at.attribute(attribute).map(str::trim) {
        None | Some("") => Some(default),
        Some("true" | "1") => Some(true),
        Some("false" | "0") => Some(false),
        Some(other) => {
            findings.add(
                node,
                Rule::ValueInvalid,
                format!(
                    "The attribute '{attribute}' must be true or false, but is '{}'",
                    abbreviate(other)
                ),
            );
            None
        }
    }
}

/// A variable path such as `order.id`, as its names.
pub(crate) fn path(
    node: Node<'_>,
    attribute: &str,
    findings: &mut Findings,
) -> Option<Vec<Arc<str>>> {
    let what = what(node, attribute);
    let raw = node.attribute(attribute).unwrap_or_default();
    if raw.is_empty() {
        findings.add(
            node,
            Rule::ValueMissing,
            format!("{what} is missing or empty. Give it the name of a variable"),
        );
        return None;
    }
    if !raw.split('.').all(is_name) {
        findings.add(node, Rule::VariableNameInvalid, format!(
            "{what} '{}' is not a variable path: names of letters, digits and '_' that do not begin with a digit, joined by '.'. Rename it",
            abbreviate(raw)
        ));
        return None;
    }
    let names: Vec<Arc<str>> = raw.split('.').map(Arc::from).collect();
    if names.len() > MAX_PATH_NAMES {
        let message = format!(
            "{what} '{}' has {} names, but at most {MAX_PATH_NAMES} are allowed: a variable nested deeper could not be read. \
             Shorten it",
            abbreviate(raw),
            names.len()
        );
        findings.add(node, Rule::VariableNameInvalid, message);
        return None;
    }
    if let Some(word) = names
        .first()
        .filter(|name| RESERVED_WORDS.contains(&&***name))
    {
        findings.add(node, Rule::VariableNameInvalid, format!("{what} '{}' uses the FEEL word '{word}' as the name of a variable, which no expression could read. Choose another name", abbreviate(raw)));
        return None;
    }
    Some(names)
}

/// Maximum number of names in a variable path: each but the first is a level of nesting, and no expression reads a value with
/// more than 200.
const MAX_PATH_NAMES: usize = 200;

/// Words of the FEEL grammar that the reference engine forbids as variable names. Others need backticks to be read.
const RESERVED_WORDS: [&str; 12] = [
    "null", "true", "false", "function", "if", "then", "else", "for", "between", "instance", "of",
    "not",
];

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// How findings name an attribute: `'zeebe:taskDefinition' attribute 'type'`.
pub(crate) fn what(node: Node<'_>, attribute: &str) -> String {
    let prefix = if node.tag_name().namespace() == Some(crate::xml::ZEEBE) {
        "zeebe:"
    } else {
        ""
    };
    format!(
        "The attribute '{attribute}' of '{prefix}{}'",
        node.tag_name().name()
    )
}
