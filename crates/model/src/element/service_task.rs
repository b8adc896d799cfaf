//! The service task: a job for a worker.

use crate::context::Context;
use crate::graph::{ElementKind, JobDefinition};
use crate::xml::Node;
use crate::zeebe::{task_definition, task_headers};

/// Exactly one task definition, at most one set of headers.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let headers = task_headers::parse(node, context);
    let (job_type, retries) = task_definition::required(node, "service task", context)?;
    let headers = headers?;
    let headers_json = task_headers::to_json(&headers);
    Some(ElementKind::ServiceTask(JobDefinition {
        job_type,
        retries,
        headers,
        headers_json,
        linked_resources: Vec::new(),
    }))
}
