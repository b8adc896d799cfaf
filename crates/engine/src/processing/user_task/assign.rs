//! USER_TASK ASSIGN and CLAIM.

use skep_protocol::command::AssignUserTask;
use skep_protocol::intent::UserTaskIntent;
use skep_protocol::value::UserTaskAttribute;
use skep_protocol::{RejectionType, Response};

use super::{action, transition, waiting};
use crate::processing::{Context, Outcome, reject};

pub(crate) fn process(cx: &mut Context<'_>, command: &AssignUserTask) -> Outcome {
    let key = command.user_task_key;
    let (intent, verb) = words_of(command);
    let event = if command.claim {
        UserTaskIntent::Claiming
    } else {
        UserTaskIntent::Assigning
    };
    let (el, mut value) = waiting(cx, intent, verb, key)?;
    let owner = &value.attributes.assignee;
    if command.claim && command.assignee.is_empty() {
        return Err(reject(
            RejectionType::InvalidArgument,
            intent,
            format!("Expected to claim user task with key '{key}', but provided assignee is empty"),
        ));
    }
    if command.claim && !owner.is_empty() && *owner != command.assignee {
        return Err(reject(
            RejectionType::InvalidState,
            intent,
            format!(
                "Expected to claim user task with key '{key}', but it has already been assigned"
            ),
        ));
    }
    if *owner != command.assignee {
        value.changed.push(UserTaskAttribute::Assignee);
        value.attributes.assignee = command.assignee.clone();
    }
    value.action = action(&command.action, verb);
    transition::begin(cx, &el, key, event, &value);
    transition::outcome(cx, key, Response::Empty)
}

/// The intent, and the verb for its messages.
pub(crate) fn words_of(command: &AssignUserTask) -> (&'static str, &'static str) {
    if command.claim {
        ("CLAIM", "claim")
    } else {
        ("ASSIGN", "assign")
    }
}
