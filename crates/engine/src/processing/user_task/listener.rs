//! Task listeners: jobs whose workers approve, correct or deny a transition of a user task.

use std::sync::Arc;

use skep_model::{ElementKind, ListenerDefinition, TaskListenerEvent};
use skep_protocol::intent::{JobIntent, UserTaskIntent};
use skep_protocol::value::{Corrections, JobKind, JobValue, ListenerEvent};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::{check, headers, transition, value_in_transition};
use crate::processing::bpmn::{Problem, Subject};
use crate::processing::job;
use crate::processing::{Context, Named, Outcome, reject};
use crate::state::element_instances::Visible;
use crate::state::global_listeners::ListenerJob;
use crate::state::{UserTaskState, VariableNames};

/// A listener that is ready for its job.
pub(crate) struct Next {
    pub job_type: Arc<str>,
    pub retries: i32,
    pub event: ListenerEvent,
}

/// The next listener of the task's transition, if any is left: global ones, then those of the model, then global ones that
/// run after these.
pub(crate) fn next(cx: &mut Context<'_>, el: &Subject, key: Key) -> Result<Option<Next>, Problem> {
    let task = cx.state.user_tasks.get(key);
    let Some((event, transition)) = task.and_then(|task| {
        let transition = task.transition.as_deref()?;
        Some((task.state.listener_event()?, transition))
    }) else {
        return Ok(None);
    };
    let done = transition.listeners_done as usize;
    let [before, behind] = transition.global_listeners.clone();
    find(cx, el, event, (&before, &behind), done)
}

/// The first listener of the creation.
pub(crate) fn first(cx: &mut Context<'_>, el: &Subject) -> Result<Option<Next>, Problem> {
    let event = ListenerEvent::Creating;
    let [before, behind] = [false, true].map(|behind| cx.state.global_listeners.of(event, behind));
    find(cx, el, event, (&before, &behind), 0)
}

/// The listener after `done` others; global ones run before and after those of the model.
fn find(
    cx: &mut Context<'_>,
    el: &Subject,
    event: ListenerEvent,
    (before, behind): (&[ListenerJob], &[ListenerJob]),
    done: usize,
) -> Result<Option<Next>, Problem> {
    let global = |job: &ListenerJob| Next {
        job_type: job.job_type.clone(),
        retries: job.retries,
        event,
    };
    let Some(done) = done.checked_sub(before.len()) else {
        return Ok(before.get(done).map(global));
    };
    let of_model = of_model(el, event);
    let Some(done) = done.checked_sub(of_model.len()) else {
        let Some(listener) = of_model.get(done) else {
            return Ok(None);
        };
        let (job_type, retries) =
            job::create::type_and_retries(cx, el, &listener.job_type, &listener.retries)?;
        return Ok(Some(Next {
            job_type,
            retries,
            event,
        }));
    };
    Ok(behind.get(done).map(global))
}

/// The listeners of the model, in model order.
fn of_model(el: &Subject, event: ListenerEvent) -> Vec<&ListenerDefinition> {
    let ElementKind::UserTask(definition) = &el.element().kind else {
        return Vec::new();
    };
    let listeners = definition.native.iter();
    let listeners = listeners.flat_map(|native| &native.listeners);
    let listening = listeners.filter(|listener| recorded(listener.event) == event);
    listening.map(|listener| &listener.listener).collect()
}

pub(crate) fn start(cx: &mut Context<'_>, el: &Subject, key: Key, next: Next) {
    let Some(task) = cx.state.user_tasks.get(key) else {
        return;
    };
    let headers = headers::of_listener(key, &value_in_transition(task));
    let own = headers::of_element(el);
    let mut job = job::create::value(el, next.job_type, next.retries);
    let extra = job.extra();
    extra.kind = JobKind::TaskListener(next.event);
    extra.headers = Some(headers::json(own, &headers));
    job::create::create(cx, &job);
}

/// JOB COMPLETE for the job of a listener.
pub(crate) fn complete(cx: &mut Context<'_>, job_key: Key, job: &JobValue) -> Outcome {
    let row = cx.state.elements.get(job.element_instance_key);
    let task = row.and_then(|row| row.user_task());
    let state = task.and_then(|key| cx.state.user_tasks.get(key));
    let state = state.map(|task| task.state);
    let el = Subject::load(cx, job.element_instance_key);
    let (Some(key), Some(state), Some(el)) = (task, state, el) else {
        cx.broken(format_args!("the listener {job_key} has no user task"));
        return Err(job::not_found("COMPLETE", "complete", job_key));
    };
    check_answer(job_key, state, job)?;
    if let Some(result) = job.result() {
        check("COMPLETE", "correct", key, &result.corrections)?;
    }
    cx.event(job_key, JobIntent::Completed, job);
    match job.result() {
        Some(result) if result.denied => transition::deny(cx, key, &result.denied_reason),
        result => {
            if let Some(result) = result {
                correct(cx, key, &result.corrections);
            }
            transition::go_on(cx, &el, key);
        }
    }
    Ok(Some(Response::Empty))
}

/// Refuses answers that a listener may not give.
fn check_answer(job_key: Key, state: UserTaskState, job: &JobValue) -> Result<(), Rejection> {
    let refuse = |why: String| {
        let reason =
            format!("Expected to complete task listener job with key '{job_key}', but {why}");
        Err(reject(RejectionType::InvalidArgument, "COMPLETE", reason))
    };
    if !job.variables.is_empty() {
        return refuse(
            "it has variables. Task listeners cannot set any: complete the job without them".into(),
        );
    }
    let denied = job.result().is_some_and(|result| result.denied);
    if denied && matches!(state, UserTaskState::Creating | UserTaskState::Canceling) {
        return refuse(format!(
            "it denies a change that cannot be denied: the user task is in state '{}'",
            state.name()
        ));
    }
    Ok(())
}

fn correct(cx: &mut Context<'_>, key: Key, corrections: &Corrections) {
    let Some(task) = cx.state.user_tasks.get(key) else {
        return;
    };
    let mut value = value_in_transition(task);
    value.changed = value.attributes.correct(corrections);
    if !value.changed.is_empty() {
        cx.event(key, UserTaskIntent::Corrected, &value);
    }
}

/// Makes the variables of the transition visible to a listener, as if they were set.
pub(crate) fn show_variables(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    names: &VariableNames,
    shown: &mut Visible,
) {
    let row = cx.state.elements.get(element_instance_key);
    let task = row.and_then(|row| row.user_task());
    let task = task.and_then(|key| cx.state.user_tasks.get(key));
    let transition = task.and_then(|task| task.transition.as_ref());
    let variables = transition.map_or(&[][..], |transition| &transition.variables);
    let asked: Named = variables
        .iter()
        .filter(|(name, _)| names.include(name))
        .cloned()
        .collect();
    if asked.entries().is_empty() {
        return;
    }
    shown.retain(|(name, _)| asked.value(name).is_none());
    shown.extend(asked.entries().iter().cloned());
}

fn recorded(event: TaskListenerEvent) -> ListenerEvent {
    match event {
        TaskListenerEvent::Creating => ListenerEvent::Creating,
        TaskListenerEvent::Assigning => ListenerEvent::Assigning,
        TaskListenerEvent::Updating => ListenerEvent::Updating,
        TaskListenerEvent::Completing => ListenerEvent::Completing,
        TaskListenerEvent::Canceling => ListenerEvent::Canceling,
    }
}
