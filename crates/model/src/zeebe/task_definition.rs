//! `zeebe:taskDefinition`: type and retries of the job.

use std::sync::Arc;

use crate::context::Context;
use crate::error::abbreviate;
use crate::graph::TextValue;
use crate::value;
use crate::xml::Node;

const DEFAULT_RETRIES: &str = "3";

/// The job type and the retries of an element that must have a task definition.
pub(crate) fn required<'x>(
    node: Node<'x>,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<(TextValue, TextValue)> {
    let definition = super::exactly_one(node, "taskDefinition", of, context)?;
    let job_type = value::required_text(definition, "type", context.findings);
    let retries = retries(definition, context);
    Some((job_type?, retries?))
}

/// An expression, or the text of a whole number.
fn retries(definition: Node<'_>, context: &mut Context<'_, '_>) -> Option<TextValue> {
    if definition.attribute("retries").is_none() {
        return Some(TextValue::Static(Arc::from(DEFAULT_RETRIES)));
    }
    let retries = value::required_text(definition, "retries", context.findings)?;
    let TextValue::Static(text) = &retries else {
        return Some(retries);
    };
    match text.trim().parse::<i32>() {
        Ok(number) if number >= 0 => Some(TextValue::Static(Arc::from(number.to_string()))),
        _ => {
            let shown = abbreviate(text);
            let message = format!(
                "The retries must be a whole number from 0, or an expression, but are '{shown}'"
            );
            context.add(definition, message);
            None
        }
    }
}
