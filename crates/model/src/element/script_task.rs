//! The script task: a FEEL expression, or a job for a worker.

use crate::context::Context;
use crate::graph::{ElementKind, ScriptTask};
use crate::xml::Node;
use crate::zeebe::{job, script};

/// Exactly one of `zeebe:script` and `zeebe:taskDefinition`.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    const OF: &str = "script task";
    let task = match job::or(node, "script", OF, context)? {
        Some(extension) => {
            let (expression, result_variable) = script::parse(extension, context)?;
            ScriptTask::Expression {
                expression,
                result_variable,
            }
        }
        None => ScriptTask::Job(job::required(node, OF, context)?),
    };
    Some(ElementKind::ScriptTask(task))
}
