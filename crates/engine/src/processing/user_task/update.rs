//! USER_TASK UPDATE, and VARIABLE_DOCUMENT UPDATE in the scope of a user task.

use skep_protocol::command::UpdateUserTask;
use skep_protocol::intent::{UserTaskIntent, VariableDocumentIntent};
use skep_protocol::value::{UserTaskAttribute, VariableDocumentValue};
use skep_protocol::{Document, Key, RejectionType, Response};

use super::{action, check, transition, waiting};
use crate::processing::{Context, Outcome, reject};

pub(crate) fn process(cx: &mut Context<'_>, command: &UpdateUserTask) -> Outcome {
    let key = command.user_task_key;
    let (el, mut value) = waiting(cx, "UPDATE", "update", key)?;
    if command.action.is_empty() && command.changes.is_empty() {
        return Err(reject(
            RejectionType::InvalidArgument,
            "UPDATE",
            "No update data provided. Provide at least an \"action\" or a non-null value for a supported attribute in the \"changeset\".",
        ));
    }
    check("UPDATE", "update", key, &command.changes)?;
    value.changed = value.attributes.correct(&command.changes);
    value.action = action(&command.action, "update");
    transition::begin(cx, &el, key, UserTaskIntent::Updating, &value);
    transition::outcome(cx, key, Response::Empty)
}

/// Sets variables in the scope of a task once its listeners have agreed.
pub(crate) fn variables(
    cx: &mut Context<'_>,
    key: Key,
    variables: &Document,
    local: bool,
) -> Outcome {
    let (el, mut value) = waiting(cx, "UPDATE", "update the variables of", key)?;
    let document = VariableDocumentValue {
        scope_key: el.key,
        local,
        variables: variables.entries().to_vec(),
    };
    let document_key = cx.next_key();
    cx.event(document_key, VariableDocumentIntent::Updating, &document);
    value.changed.push(UserTaskAttribute::Variables);
    value.variables = document.variables;
    transition::begin(cx, &el, key, UserTaskIntent::Updating, &value);
    transition::outcome(cx, key, Response::VariablesSet { key: document_key })
}
