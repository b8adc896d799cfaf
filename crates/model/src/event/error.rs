//! Error event definitions: thrown by end events, caught by boundary events.

use std::sync::Arc;

use crate::context::{Context, Error};
use crate::graph::TextValue;
use crate::value;
use crate::xml::Node;

/// The code that an error end event throws: constant or an expression, not empty.
pub(crate) fn thrown<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<TextValue> {
    let Some(error) = referenced(definition, context)? else {
        context.add(
            definition,
            "The error event throws no error. Reference an error with a code",
        );
        return None;
    };
    let before = context.findings.count();
    let code = error
        .thrown
        .get_or_init(|| parse(definition, error, context))
        .clone();
    if code.is_none() && context.findings.count() == before {
        context.add(
            definition,
            "The error is not valid, see the first element that references it",
        );
    }
    code
}

fn parse<'x>(
    definition: Node<'x>,
    error: &Error<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<TextValue> {
    match &error.code {
        Some(code) if code.starts_with('=') => {
            value::text_value(definition, "The error code", code, context.findings)
        }
        Some(code) if !code.trim().is_empty() => Some(TextValue::Static(code.clone())),
        _ => {
            let id = error.node.attribute("id").unwrap_or_default();
            context.add(
                definition,
                format!("The error '{id}' has no errorCode. Give it a code"),
            );
            None
        }
    }
}

/// The code that is caught; `Some(None)` catches all: no reference, or an error without code.
pub(crate) fn caught<'x>(
    definition: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<Arc<str>>> {
    let Some(error) = referenced(definition, context)? else {
        return Some(None);
    };
    if error
        .code
        .as_ref()
        .is_some_and(|code| code.starts_with('='))
    {
        context.add(definition, "The code of a caught error cannot be an expression. Use a constant code, or no error to catch all");
        return None;
    }
    Some(error.code.clone())
}

/// The error that is referenced, or `Some(None)` without reference; `None` after a finding.
fn referenced<'c, 'x>(
    definition: Node<'x>,
    context: &mut Context<'c, 'x>,
) -> Option<Option<&'c Error<'x>>> {
    let Some(reference) = definition.attribute("errorRef").filter(|r| !r.is_empty()) else {
        return Some(None);
    };
    let error = context.definitions.error(reference);
    if error.is_none() {
        context.add(
            definition,
            format!(
                "The attribute 'errorRef' names '{reference}', which is not an error of this file"
            ),
        );
    }
    error.map(Some)
}
