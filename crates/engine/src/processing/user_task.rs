//! User tasks: one file per command. Each command requests a [`transition`], which the task's listeners may change or deny
//! before it happens.

pub(crate) mod assign;
pub(crate) mod complete;
pub(crate) mod headers;
pub(crate) mod listener;
pub(crate) mod transition;
pub(crate) mod update;

use std::sync::Arc;

use skep_model::timer_value::parse_date;
use skep_protocol::value::{Corrections, UserTaskAttribute, UserTaskValue};
use skep_protocol::{Key, Rejection, RejectionType};

use super::bpmn::Subject;
use super::{Context, reject};
use crate::state::{ElementState, UserTask, UserTaskState};

/// The record value of the task in its current state.
pub(crate) fn value_of(task: &UserTask) -> UserTaskValue {
    UserTaskValue {
        process_definition_key: task.process_definition_key,
        process_instance_key: task.process_instance_key,
        root_process_instance_key: task.root_process_instance_key,
        element: task.element,
        element_instance_key: task.element_instance_key,
        creation_timestamp: task.creation_timestamp,
        form_key: task.form_key,
        external_form_reference: task.external_form_reference.clone(),
        attributes: task.attributes.clone(),
        changed: Vec::new(),
        action: Arc::default(),
        variables: Vec::new(),
        denied_reason: Arc::default(),
    }
}

/// The record value of the task with its transition applied.
pub(crate) fn value_in_transition(task: &UserTask) -> UserTaskValue {
    let value = value_of(task);
    let Some(transition) = &task.transition else {
        return value;
    };
    let mut result = UserTaskValue {
        attributes: transition.attributes.clone(),
        changed: transition.changed.clone(),
        action: transition.action.clone(),
        variables: transition.variables.clone(),
        ..value
    };
    // Listeners may have changed more than the command, or have reverted some of its changes.
    if transition.listeners_done > 0 {
        let mut before = task.attributes.clone();
        if transition.assigns {
            before.assignee = result.attributes.assignee.clone();
        }
        result.changed = result.attributes.differences(&before);
        if !result.variables.is_empty() {
            result.changed.push(UserTaskAttribute::Variables);
        }
    }
    result
}

pub(crate) fn not_found(intent: &'static str, verb: &str, key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!("Expected to {verb} user task with key '{key}', but no such user task was found"),
    )
}

/// Returns a task that waits for its user, and its element.
fn waiting(
    cx: &mut Context<'_>,
    intent: &'static str,
    verb: &str,
    key: Key,
) -> Result<(Subject, UserTaskValue), Rejection> {
    let not_found = || not_found(intent, verb, key);
    let task = cx.state.user_tasks.get(key).ok_or_else(not_found)?;
    let (state, value) = (task.state, value_of(task));
    let el = Subject::load(cx, value.element_instance_key).ok_or_else(not_found)?;
    let row = cx.state.elements.get(el.key).ok_or_else(not_found)?;
    // The interrupting event ends the task in a later turn.
    let is_ending = row.state != ElementState::Activated || row.is_interrupted();
    let state = match state {
        UserTaskState::Created if is_ending => UserTaskState::Canceling,
        state => state,
    };
    if state != UserTaskState::Created {
        return Err(reject(
            RejectionType::InvalidState,
            intent,
            format!(
                "Expected to {verb} user task with key '{key}', but it is in state '{}'",
                state.name()
            ),
        ));
    }
    Ok((el, value))
}

/// Refuses invalid values.
fn check(
    intent: &'static str,
    verb: &str,
    key: Key,
    changes: &Corrections,
) -> Result<(), Rejection> {
    let refused = |what: String| {
        let reason = format!("Expected to {verb} user task with key '{key}', but {what}");
        Err(reject(RejectionType::InvalidArgument, intent, reason))
    };
    if let Some(priority) = changes.priority.filter(|p| !(0..=100).contains(p)) {
        return refused(format!(
            "its priority would be '{priority}'. It must be from 0 to 100"
        ));
    }
    for (what, date) in [
        ("due date", &changes.due_date),
        ("follow-up date", &changes.follow_up_date),
    ] {
        let date = date.as_deref().filter(|date| !date.is_empty());
        if let Some(date) = date
            && let Err(error) = parse_date(date)
        {
            return refused(format!("its {what} would be '{date}': {error}"));
        }
    }
    Ok(())
}

/// The action name: the user's, or the default.
fn action(given: &Arc<str>, default: &str) -> Arc<str> {
    if given.is_empty() {
        default.into()
    } else {
        given.clone()
    }
}
