//! The business rule task: a decision, or a job for a worker.

use crate::context::Context;
use crate::graph::{BusinessRuleTask, ElementKind};
use crate::xml::Node;
use crate::zeebe::{called_decision, job};

/// Exactly one of `zeebe:calledDecision` and `zeebe:taskDefinition`.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    const OF: &str = "business rule task";
    let task = match job::or(node, "calledDecision", OF, context)? {
        Some(called) => BusinessRuleTask::Decision(called_decision::parse(called, context)?),
        None => BusinessRuleTask::Job(job::required(node, OF, context)?),
    };
    Some(ElementKind::BusinessRuleTask(task))
}
