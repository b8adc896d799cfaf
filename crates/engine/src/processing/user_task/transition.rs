//! Transitions of a user task: a transition begins, the listeners of its event run one after the other, and it ends.
//!
//! A listener may change the outcome (CORRECTED) or refuse the transition (DENIED). The caller gets the answer when the
//! transition is over.

use std::sync::Arc;

use skep_protocol::intent::{UserTaskIntent as Intent, VariableDocumentIntent};
use skep_protocol::value::{Step, UserTaskAttribute, UserTaskValue, VariableDocumentValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::{listener, value_in_transition, value_of};
use crate::processing::bpmn::{Ending, Subject, incidents, lifecycle};
use crate::processing::{Context, Outcome, job, reject, variable};
use crate::state::UserTaskState;
use crate::state::user_tasks::DocumentUpdate;

pub(crate) fn begin(
    cx: &mut Context<'_>,
    el: &Subject,
    key: Key,
    event: Intent,
    value: &UserTaskValue,
) {
    cx.event(key, event, value);
    go_on(cx, el, key);
}

/// Runs the next listener; after the last one the transition ends. Also used to retry after an incident.
pub(crate) fn go_on(cx: &mut Context<'_>, el: &Subject, key: Key) {
    match listener::next(cx, el, key) {
        Ok(Some(next)) => listener::start(cx, el, key, next),
        Ok(None) => end(cx, el, key),
        Err(problem) => incidents::raise(cx, el, problem),
    }
}

/// The answer to the command that has begun a transition: immediate, or after its listeners have run.
pub(crate) fn outcome(cx: &mut Context<'_>, key: Key, answer: Response) -> Outcome {
    let task = cx.state.user_tasks.get(key);
    if task.is_none_or(|task| task.transition.is_none()) {
        return Ok(Some(answer));
    }
    if let Some(request) = cx.request {
        cx.volatile.awaiting_user_tasks.insert(key, request);
    }
    Ok(None)
}

fn answer(cx: &mut Context<'_>, key: Key, answer: Result<Response, Rejection>) {
    if let Some(request) = cx.volatile.awaiting_user_tasks.remove(&key) {
        cx.respond(request, answer);
    }
}

fn end(cx: &mut Context<'_>, el: &Subject, key: Key) {
    let Some(task) = cx.state.user_tasks.get(key) else {
        return;
    };
    let (state, document) = (task.state, task.document);
    let value = value_in_transition(task);
    match state {
        UserTaskState::Creating => {
            let assignee = created(cx, key);
            assign(cx, el, key, assignee);
        }
        UserTaskState::Assigning | UserTaskState::Claiming => {
            cx.event(key, Intent::Assigned, &value);
            answer(cx, key, Ok(Response::Empty));
        }
        UserTaskState::Updating => updated(cx, key, &value, document),
        UserTaskState::Completing => {
            cx.event(key, Intent::Completed, &value);
            answer(cx, key, Ok(Response::Empty));
            lifecycle::complete_with(cx, el, &value.variables, None);
        }
        UserTaskState::Canceling => {
            cx.event(key, Intent::Canceled, &value);
            cx.steps.push(Step::Terminated(el.key));
        }
        UserTaskState::Created => {}
    }
}

/// Finishes the creation of the task. Returns the assignee of the model, unless a listener has set another one.
pub(crate) fn created(cx: &mut Context<'_>, key: Key) -> Option<Arc<str>> {
    let task = cx.state.user_tasks.get(key)?;
    let assigns = task.transition.as_ref().is_some_and(|t| t.assigns);
    let mut value = value_in_transition(task);
    let assignee = assigns.then(|| std::mem::take(&mut value.attributes.assignee));
    cx.event(key, Intent::Created, &value);
    assignee
}

/// Assigns the new task as the model says.
pub(crate) fn assign(cx: &mut Context<'_>, el: &Subject, key: Key, assignee: Option<Arc<str>>) {
    if let Some(assignee) = assignee
        && let Some(task) = cx.state.user_tasks.get(key)
    {
        let mut value = value_of(task);
        value.attributes.assignee = assignee;
        value.changed.push(UserTaskAttribute::Assignee);
        begin(cx, el, key, Intent::Assigning, &value);
    }
}

fn updated(
    cx: &mut Context<'_>,
    key: Key,
    value: &UserTaskValue,
    document: Option<DocumentUpdate>,
) {
    let Some(DocumentUpdate {
        key: document_key,
        local,
    }) = document
    else {
        cx.event(key, Intent::Updated, value);
        return answer(cx, key, Ok(Response::Empty));
    };
    let scope_key = value.element_instance_key;
    variable::set(cx, scope_key, &value.variables, local);
    cx.event(key, Intent::Updated, value);
    let document = VariableDocumentValue {
        scope_key,
        local,
        variables: value.variables.clone(),
    };
    cx.event(document_key, VariableDocumentIntent::Updated, &document);
    answer(cx, key, Ok(Response::VariablesSet { key: document_key }));
}

/// Denies the transition on behalf of a listener: nothing changes.
pub(crate) fn deny(cx: &mut Context<'_>, key: Key, reason: &str) {
    let Some(task) = cx.state.user_tasks.get(key) else {
        return;
    };
    let (state, document) = (task.state, task.document);
    let variables = task.transition.as_ref().map(|t| t.variables.clone());
    let value = UserTaskValue {
        denied_reason: reason.into(),
        ..value_of(task)
    };
    let (event, intent, what) = match state {
        UserTaskState::Assigning => (Intent::AssignmentDenied, "ASSIGN", "Assignment"),
        UserTaskState::Claiming => (Intent::AssignmentDenied, "CLAIM", "Assignment"),
        UserTaskState::Updating => (Intent::UpdateDenied, "UPDATE", "Update"),
        UserTaskState::Completing => (Intent::CompletionDenied, "COMPLETE", "Completion"),
        // Refused when the listener's answer arrived.
        UserTaskState::Creating | UserTaskState::Created | UserTaskState::Canceling => return,
    };
    cx.event(key, event, &value);
    if let Some(document) = document {
        let denied = VariableDocumentValue {
            scope_key: value.element_instance_key,
            local: document.local,
            variables: variables.unwrap_or_default(),
        };
        cx.event(document.key, VariableDocumentIntent::UpdateDenied, &denied);
    }
    let refusal = reject(
        RejectionType::InvalidState,
        intent,
        format!(
            "{what} of the User Task with key '{key}' was denied by Task Listener. Reason to deny: '{reason}'"
        ),
    );
    answer(cx, key, Err(refusal));
}

/// Cancels the task when its element terminates. Listeners run, but cannot prevent it.
pub(crate) fn cancel(cx: &mut Context<'_>, el: &Subject, key: Key) -> Ending {
    // The jobs of a banned instance are no longer handed out.
    let banned = cx.state.banned.contains(el.value.process_instance_key);
    let task = cx.state.user_tasks.get(key);
    let is_canceling = task.is_some_and(|task| task.state == UserTaskState::Canceling);
    if is_canceling && !banned {
        // The element is terminated again, because the engine failed on another one: the listener is still at work.
        return Ending::Waits;
    }
    let Some(value) = canceling(cx, key) else {
        return Ending::Now;
    };
    let next = if banned {
        Ok(None)
    } else {
        listener::next(cx, el, key)
    };
    match next {
        Ok(Some(next)) => {
            listener::start(cx, el, key, next);
            Ending::Waits
        }
        Ok(None) => {
            canceled(cx, el, key, &value);
            Ending::Now
        }
        Err(problem) => {
            incidents::raise(cx, el, problem);
            Ending::Waits
        }
    }
}

/// Like [`cancel`], without listeners: a modification ends the element.
pub(crate) fn cancel_at_once(cx: &mut Context<'_>, el: &Subject, key: Key) {
    if let Some(value) = canceling(cx, key) {
        canceled(cx, el, key, &value);
    }
}

/// Ends the current transition and begins the cancellation.
fn canceling(cx: &mut Context<'_>, key: Key) -> Option<UserTaskValue> {
    let task = cx.state.user_tasks.get(key)?;
    let (state, value) = (task.state, value_of(task));
    let refusal = reject(
        RejectionType::InvalidState,
        intent_of(state),
        format!("The user task with key '{key}' was canceled before its listeners had completed"),
    );
    answer(cx, key, Err(refusal));
    if state != UserTaskState::Canceling {
        cx.event(key, Intent::Canceling, &value);
    }
    Some(value)
}

fn canceled(cx: &mut Context<'_>, el: &Subject, key: Key, value: &UserTaskValue) {
    let row = cx.state.elements.get(el.key);
    if let Some(job_key) = row.and_then(|row| row.job_key.some()) {
        job::cancel(cx, job_key, false);
    }
    cx.event(key, Intent::Canceled, value);
}

/// The intent of the command that brought a task into this state.
fn intent_of(state: UserTaskState) -> &'static str {
    match state {
        UserTaskState::Assigning => "ASSIGN",
        UserTaskState::Claiming => "CLAIM",
        UserTaskState::Completing => "COMPLETE",
        _ => "UPDATE",
    }
}
