//! USER_TASK COMPLETE.

use skep_protocol::Response;
use skep_protocol::command::CompleteUserTask;
use skep_protocol::intent::UserTaskIntent;

use super::{action, transition, waiting};
use crate::processing::{Context, Outcome};

pub(crate) fn process(cx: &mut Context<'_>, command: &CompleteUserTask) -> Outcome {
    let key = command.user_task_key;
    let (el, mut value) = waiting(cx, "COMPLETE", "complete", key)?;
    value.variables = command.variables.entries().to_vec();
    value.action = action(&command.action, "complete");
    transition::begin(cx, &el, key, UserTaskIntent::Completing, &value);
    transition::outcome(cx, key, Response::Empty)
}
