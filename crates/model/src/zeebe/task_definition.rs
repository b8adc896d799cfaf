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
    let retries = match definition.attribute("retries") {
        None => Some(TextValue::Static(Arc::from(DEFAULT_RETRIES))),
        Some(_) => value::required_text(definition, "retries", context.findings),
    };
    if let Some(TextValue::Static(text)) = &retries
        && text.trim().parse::<i32>().is_ok_and(|number| number >= 0) == false
    {
        let message = format!(
            "The retries must be a whole number from 0, or an expression, but are '{}'",
            abbreviate(text)
        );
        context.add(definition, message);
        return None;
    }
    Some((job_type?, retries?))
}
