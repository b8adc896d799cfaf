//! `zeebe:taskDefinition`: type and retries of the job.

use std::sync::Arc;

use crate::context::Context;
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

/// An expression or a text; whether that is a number shows when the element is reached. Empty retries are the default.
pub(crate) fn retries(definition: Node<'_>, context: &mut Context<'_, '_>) -> Option<TextValue> {
    let retries = definition.attribute("retries").unwrap_or_default();
    if retries.trim().is_empty() {
        return Some(TextValue::Static(Arc::from(DEFAULT_RETRIES)));
    }
    value::required_text(definition, "retries", context.findings)
}
