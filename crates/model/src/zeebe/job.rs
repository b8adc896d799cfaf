//! Jobs of elements: `zeebe:taskDefinition` with `zeebe:taskHeaders` and `zeebe:linkedResources`.

use crate::context::Context;
use crate::error::Rule;
use crate::graph::JobDefinition;
use crate::xml::{self, Node, bpmn_name};
use crate::zeebe::{linked_resources, task_definition, task_headers};

/// The job of an element that must have a task definition.
pub(crate) fn required<'x>(
    node: Node<'x>,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<JobDefinition> {
    let headers = task_headers::parse(node, context);
    let linked_resources = match bpmn_name(node) {
        Some("serviceTask") => linked_resources::parse(node, context),
        _ => Some(Vec::new()),
    };
    let (job_type, retries) = task_definition::required(node, of, context)?;
    let headers = headers?;
    let headers_json = task_headers::to_json(&headers);
    Some(JobDefinition {
        job_type,
        retries,
        headers,
        headers_json,
        linked_resources: linked_resources?,
    })
}

/// The job of an element that may have one; `None` after a finding.
pub(crate) fn optional<'x>(
    node: Node<'x>,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<Option<JobDefinition>> {
    if has_definition(node) {
        required(node, of, context).map(Some)
    } else {
        Some(None)
    }
}

pub(crate) fn has_definition(node: Node<'_>) -> bool {
    xml::extensions(node, "taskDefinition").next().is_some()
}

/// Reports that an element must have exactly one of a task definition and another extension, if it has not. Returns the other
/// extension, if it is there.
pub(crate) fn or<'x>(
    node: Node<'x>,
    other: &'static str,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<Option<Node<'x>>> {
    let extension = xml::extensions(node, other).next();
    let (rule, problem) = match (extension.is_some(), has_definition(node)) {
        (true, true) => (Rule::OnlyOneAllowed, "has both. Keep one"),
        (false, false) => (Rule::ExtensionMissing, "has neither. Add one"),
        _ => return Some(extension),
    };
    let message =
        format!("A {of} must have either 'zeebe:{other}' or 'zeebe:taskDefinition', but {problem}");
    context.add(node, rule, message);
    None
}
