//! The user task: a task of its own, or in the older form a job.

use crate::context::Context;
use crate::graph::{ElementKind, NativeUserTask, UserTask};
use crate::xml::{self, Node};
use crate::zeebe::{assignment, form_definition, task_headers, task_listeners};

/// Everything is optional. `zeebe:userTask` makes it a task of its own.
pub(crate) fn parse<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<ElementKind> {
    let is_native = xml::extensions(node, "userTask").next().is_some();
    // All findings are wanted, also where the first alone decides.
    let headers = task_headers::parse(node, context);
    let people = assignment::people(node, context);
    let schedule = assignment::schedule(node, context);
    let priority = assignment::priority(node, context);
    let form = form_definition::of_user_task(node, is_native, context);
    let listeners = task_listeners::parse(node, is_native, context);
    let (people, schedule, headers) = (people?, schedule?, headers?);
    let native = NativeUserTask {
        priority: priority?,
        listeners: listeners?,
    };
    Some(ElementKind::UserTask(Box::new(UserTask {
        assignee: people.assignee,
        candidate_groups: people.candidate_groups,
        candidate_users: people.candidate_users,
        due_date: schedule.due_date,
        follow_up_date: schedule.follow_up_date,
        form: form?,
        headers_json: task_headers::to_json(&headers),
        headers,
        native: is_native.then_some(native),
    })))
}
