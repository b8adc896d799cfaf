//! `zeebe:taskListeners`: jobs whose workers look at what happens to a Camunda user task.

use crate::context::Context;
use crate::error::abbreviate;
use crate::graph::{ListenerDefinition, TaskListener, TaskListenerEvent as Event};
use crate::value;
use crate::xml::{self, Node};

use super::task_definition;

/// The listeners in document order; `None` after a finding.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    is_native: bool,
    context: &mut Context<'_, 'x>,
) -> Option<Vec<TaskListener>> {
    let before = context.findings.count();
    let lists = xml::extensions(node, "taskListeners");
    let nodes: Vec<_> = lists
        .flat_map(|list| xml::zeebe_children(list, "taskListener"))
        .collect();
    if !is_native && let Some(first) = nodes.first() {
        context.add(
            *first,
            "Task listeners need a Camunda user task. Add 'zeebe:userTask' to the user task, or remove them",
        );
    }
    let listeners: Vec<_> = nodes
        .into_iter()
        .filter_map(|node| listener(node, context))
        .collect();
    (context.findings.count() == before).then_some(listeners)
}

fn listener(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<TaskListener> {
    let event = event(node, context);
    let job_type = value::required_text(node, "type", context.findings);
    let retries = task_definition::retries(node, context);
    Some(TaskListener {
        event: event?,
        listener: ListenerDefinition {
            job_type: job_type?,
            retries: retries?,
        },
    })
}

/// The second names are those of earlier modelers.
fn event(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<Event> {
    Some(match node.attribute("eventType").unwrap_or_default() {
        "creating" | "create" => Event::Creating,
        "assigning" | "assignment" => Event::Assigning,
        "updating" | "update" => Event::Updating,
        "completing" | "complete" => Event::Completing,
        "canceling" | "cancel" => Event::Canceling,
        other => {
            let message = format!(
                "The eventType '{}' of a task listener is not known. Use creating, assigning, updating, completing or canceling",
                abbreviate(other)
            );
            context.add(node, message);
            return None;
        }
    })
}
