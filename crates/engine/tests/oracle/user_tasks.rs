//! Commands of users to user tasks, from steps.

use std::sync::Arc;

use serde_json::Value;
use skep_protocol::command::*;
use skep_protocol::value::Corrections;

use crate::commands::{Arguments, Stop};

/// The command of a `userTask` step.
pub fn command(a: &Arguments<'_>) -> Result<Command, Stop> {
    let (user_task_key, action) = (a.key("task"), Arc::from(a.text("action")));
    Ok(match a.text("command") {
        "complete" => Command::CompleteUserTask(CompleteUserTask {
            user_task_key,
            action,
            variables: a.variables(),
        }),
        "update" => Command::UpdateUserTask(UpdateUserTask {
            user_task_key,
            action,
            changes: changes(a),
        }),
        command @ ("assign" | "claim") => Command::AssignUserTask(AssignUserTask {
            user_task_key,
            assignee: a.text("assignee").into(),
            action,
            claim: command == "claim",
        }),
        other => return Err(Stop::NotYet(format!("the user task command {other}"))),
    })
}

fn changes(a: &Arguments<'_>) -> Corrections {
    let text = |value: &Value| value.as_str().map(Arc::from);
    let texts = |value: &Value| -> Option<Vec<Arc<str>>> {
        let items = value.as_array()?;
        Some(items.iter().filter_map(text).collect())
    };
    Corrections {
        assignee: None,
        candidate_groups: texts(&a.0["candidateGroupsList"]),
        candidate_users: texts(&a.0["candidateUsersList"]),
        due_date: text(&a.0["dueDate"]),
        follow_up_date: text(&a.0["followUpDate"]),
        priority: a.0["priority"].as_i64().map(|priority| priority as i32),
    }
}
