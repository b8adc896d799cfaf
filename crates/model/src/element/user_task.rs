//! The user task: work for people.

use crate::context::Context;
use crate::graph::{ElementKind, NativeUserTask, UserTask};
use crate::xml::{self, Node};
use crate::zeebe::{form_definition, listeners, task_headers, user_task};

/// A Camunda user task with `zeebe:userTask`, otherwise a job.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let is_native = xml::extensions(node, "userTask").next().is_some();
    let headers = task_headers::parse(node, context);
    let assignment = user_task::assignment(node, context);
    let schedule = user_task::schedule(node, context);
    let form_name = if is_native {
        "externalReference"
    } else {
        "formKey"
    };
    let form = form_definition::parse(node, form_name, context);
    let native = if is_native {
        native(node, context).map(Some)
    } else {
        Some(None)
    };
    let (headers, assignment, schedule) = (headers?, assignment?, schedule?);
    let headers_json = task_headers::to_json(&headers);
    Some(ElementKind::UserTask(Box::new(UserTask {
        assignee: assignment.assignee,
        candidate_groups: assignment.candidate_groups,
        candidate_users: assignment.candidate_users,
        due_date: schedule.0,
        follow_up_date: schedule.1,
        form: form?,
        headers,
        headers_json,
        native: native?,
    })))
}

fn native<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<NativeUserTask> {
    let priority = user_task::priority(node, context);
    let listeners = listeners::task(node, context);
    Some(NativeUserTask {
        priority: priority?,
        listeners: listeners?,
    })
}
