//! Assigning, changing and completing user tasks.

use serde::Deserialize;
use skep_protocol::command::{AssignUserTask, Command, CompleteUserTask, UpdateUserTask};
use skep_protocol::value::Corrections;
use skep_protocol::{Document, Failure, Key};

use super::fields::{Object, Text, said};
use super::{Decoded, optional, required};
use crate::call::FrontEnd;
use crate::check;
use crate::rest::encode::Echo;

/// The task's listeners may take their time before it is answered.
fn waiting(command: Command, front: &FrontEnd) -> Decoded {
    Decoded::Command {
        request: command.into(),
        timeout: front.config.request_timeout,
        waits: true,
        echo: Echo::Nothing,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Assignment<'a> {
    #[serde(borrow)]
    assignee: Option<Text<'a>>,
    allow_override: Option<bool>,
    #[serde(borrow)]
    action: Option<Text<'a>>,
}

pub fn assign(user_task_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Assignment = required(text)?;
    let what = "Name the user to assign the task to.";
    let command = AssignUserTask {
        user_task_key,
        assignee: said(body.assignee, "assignee", what)?.shared(),
        action: body
            .action
            .map(|action| action.shared())
            .unwrap_or_default(),
        // A claim takes only an unassigned task.
        claim: body.allow_override == Some(false),
    };
    Ok(waiting(Command::AssignUserTask(command), front))
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub fn unassign(user_task_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    let command = AssignUserTask {
        user_task_key,
        assignee: "".into(),
        action: "unassign".into(),
        claim: false,
    };
    Ok(waiting(Command::AssignUserTask(command), front))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow)]
    changeset: Option<Object<Changeset<'a>>>,
    #[serde(borrow)]
    action: Option<Text<'a>>,
}

/// Fields that are null stay as they are. Unknown attributes are ignored, as in the API.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Changeset<'a> {
    #[serde(borrow)]
    due_date: Option<Text<'a>>,
    #[serde(borrow)]
    follow_up_date: Option<Text<'a>>,
    #[serde(borrow)]
    candidate_users: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    candidate_groups: Option<Vec<Text<'a>>>,
    priority: Option<i32>,
}

pub fn update(user_task_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Update = optional(text)?;
    let Object(changes) = body.changeset.unwrap_or_default();
    check::priority("changeset.priority", changes.priority)?;
    let text = |text: Option<Text>| text.map(|text| text.shared());
    let texts = |list: Option<Vec<Text>>| -> Option<Vec<_>> {
        list.map(|list| list.iter().map(Text::shared).collect())
    };
    let command = UpdateUserTask {
        user_task_key,
        action: text(body.action).unwrap_or_default(),
        changes: Corrections {
            assignee: None,
            candidate_groups: texts(changes.candidate_groups),
            candidate_users: texts(changes.candidate_users),
            due_date: text(changes.due_date),
            follow_up_date: text(changes.follow_up_date),
            priority: changes.priority,
        },
    };
    Ok(waiting(Command::UpdateUserTask(command), front))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Completion<'a> {
    variables: Option<Document>,
    #[serde(borrow)]
    action: Option<Text<'a>>,
}

pub fn complete(user_task_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Completion = optional(text)?;
    let command = CompleteUserTask {
        user_task_key,
        action: body
            .action
            .map(|action| action.shared())
            .unwrap_or_default(),
        variables: body.variables.unwrap_or_default(),
    };
    Ok(waiting(Command::CompleteUserTask(command), front))
}
