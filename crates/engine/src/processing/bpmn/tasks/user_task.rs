//! User task: work for a person. A Camunda user task has its own record and life cycle (see
//! [`crate::processing::user_task`]); without the extension it is a job.

use std::sync::Arc;

use skep_model::timer_value::parse_date;
use skep_model::{ElementKind, FormReference, NativeUserTask, TextValue, UserTask as Definition};
use skep_protocol::Key;
use skep_protocol::intent::UserTaskIntent;
use skep_protocol::value::{ErrorType, Step, UserTaskAttributes, UserTaskValue};

use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, binding, lifecycle, subscriptions, wrong_kind,
};
use crate::processing::job::create;
use crate::processing::user_task::{headers, listener, transition};
use crate::processing::{Context, expression};

/// The job type of a user task implemented as a job.
const JOB_TYPE: &str = "io.camunda.zeebe:userTask";

pub(crate) struct UserTask;

impl ElementBehavior for UserTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::UserTask(definition) = &el.element().kind else {
            return Err(wrong_kind(cx, el));
        };
        match &definition.native {
            Some(native) => create_task(cx, el, definition, native)?,
            None => create_job(cx, el, definition)?,
        }
        Ok(Next::Wait)
    }

    /// Retries creating a listener's job, or resumes a deferred completion, as for any other element.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        match task_of(cx, el) {
            Some(task) => transition::go_on(cx, el, task),
            None => cx.steps.push(Step::Complete(el.key)),
        }
    }

    fn resume_termination(&self, cx: &mut Context<'_>, el: &Subject) {
        if let Some(task) = task_of(cx, el) {
            transition::go_on(cx, el, task);
        }
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        terminate_task(cx, el)
    }

    fn terminate_at_once(&self, cx: &mut Context<'_>, el: &Subject) {
        cancel_task(cx, el);
    }
}

/// Cancels the task of an element that a modification terminates, if it has one. Its listeners do not run.
pub(crate) fn cancel_task(cx: &mut Context<'_>, el: &Subject) {
    if let Some(task) = task_of(cx, el) {
        transition::cancel_at_once(cx, el, task);
    }
}

/// Cancels the task of a terminating element, if it has one.
pub(crate) fn terminate_task(cx: &mut Context<'_>, el: &Subject) -> Ending {
    match task_of(cx, el) {
        Some(task) => transition::cancel(cx, el, task),
        None => Ending::Now,
    }
}

fn task_of(cx: &mut Context<'_>, el: &Subject) -> Option<Key> {
    cx.state.elements.get(el.key)?.user_task()
}

fn create_task(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &Definition,
    native: &NativeUserTask,
) -> Result<(), Problem> {
    let mut attributes = attributes(cx, el, definition)?;
    attributes.priority = priority(cx, el, &native.priority)?;
    let (form_key, external_form_reference) = form(cx, el, definition.form.as_ref())?;
    let first = listener::first(cx, el)?;
    subscriptions::subscribe_boundary_events(cx, el)?;
    let value = UserTaskValue {
        process_definition_key: el.process.key,
        process_instance_key: el.value.process_instance_key,
        root_process_instance_key: el.value.root_process_instance_key,
        element: el.value.element,
        element_instance_key: el.key,
        creation_timestamp: cx.now,
        form_key,
        external_form_reference,
        attributes,
        changed: Vec::new(),
        action: Arc::default(),
        variables: Vec::new(),
        denied_reason: Arc::default(),
    };
    let key = cx.next_key();
    cx.event(key, UserTaskIntent::Creating, &value);
    // The element is activated before the task moves from one transition to the next.
    match first {
        Some(first) => {
            listener::start(cx, el, key, first);
            lifecycle::activated(cx, el);
        }
        None => {
            let assignee = transition::created(cx, key);
            lifecycle::activated(cx, el);
            transition::assign(cx, el, key, assignee);
        }
    }
    Ok(())
}

fn create_job(cx: &mut Context<'_>, el: &Subject, definition: &Definition) -> Result<(), Problem> {
    let attributes = attributes(cx, el, definition)?;
    let (form_key, form_name) = form(cx, el, definition.form.as_ref())?;
    let list = |texts: &[Arc<str>]| headers::list(texts.iter().map(|text| &**text));
    let form = form_key
        .some()
        .map_or(form_name, |key| key.to_string().into());
    let groups = definition.candidate_groups.as_ref();
    let groups = groups.map(|_| list(&attributes.candidate_groups));
    let users = definition.candidate_users.as_ref();
    let users = users.map(|_| list(&attributes.candidate_users));
    let reserved = [
        ("assignee", attributes.assignee),
        ("candidateGroups", groups.unwrap_or_default()),
        ("candidateUsers", users.unwrap_or_default()),
        ("dueDate", attributes.due_date),
        ("followUpDate", attributes.follow_up_date),
        ("formKey", form),
    ];
    let given = reserved.into_iter().filter(|(_, text)| !text.is_empty());
    let headers = headers::json(&definition.headers, &given.collect());
    subscriptions::subscribe_boundary_events(cx, el)?;
    let mut job = create::value(el, JOB_TYPE.into(), 1);
    job.extra().headers = Some(headers);
    create::create(cx, &job);
    lifecycle::activated(cx, el);
    Ok(())
}

/// The attributes except the priority.
fn attributes(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &Definition,
) -> Result<UserTaskAttributes, Problem> {
    let mut attributes = UserTaskAttributes {
        priority: UserTaskAttributes::DEFAULT_PRIORITY,
        ..UserTaskAttributes::default()
    };
    if let Some(assignee) = &definition.assignee {
        attributes.assignee = expression::text(cx, assignee, el.key)?;
    }
    if let Some(groups) = &definition.candidate_groups {
        attributes.candidate_groups = expression::text_list(cx, groups, el.key)?;
    }
    if let Some(users) = &definition.candidate_users {
        attributes.candidate_users = expression::text_list(cx, users, el.key)?;
    }
    attributes.due_date = date(cx, el, definition.due_date.as_ref(), "due date")?;
    attributes.follow_up_date = date(cx, el, definition.follow_up_date.as_ref(), "follow-up date")?;
    Ok(attributes)
}

/// Formats dates as the reference does: it leaves out seconds that are 0.
fn without_zero_seconds(text: Arc<str>) -> Arc<str> {
    let Some((day, time)) = text.split_once('T') else {
        return text;
    };
    let (minutes, seconds) = time.split_at_checked(5).unwrap_or((time, ""));
    match seconds.strip_prefix(":00") {
        Some(zone) if !zone.starts_with('.') => format!("{day}T{minutes}{zone}").into(),
        _ => text,
    }
}

/// A date and time with zone. Null and an empty text mean none.
fn date(
    cx: &mut Context<'_>,
    el: &Subject,
    value: Option<&TextValue>,
    what: &str,
) -> Result<Arc<str>, Problem> {
    let Some(value) = value else {
        return Ok(Arc::default());
    };
    let text = expression::temporal_text_or_null(cx, value, el.key, "a date and time with zone")?;
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(Arc::default());
    };
    match parse_date(&text) {
        Ok(_) => Ok(without_zero_seconds(text)),
        Err(error) => Err(Problem::new(
            ErrorType::ExtractValueError,
            format!("Invalid {what} '{text}': {error}"),
        )),
    }
}

fn priority(cx: &mut Context<'_>, el: &Subject, value: &TextValue) -> Result<i32, Problem> {
    let number = expression::integer(cx, value, el.key)?;
    let in_range = i32::try_from(number).ok().filter(|n| (0..=100).contains(n));
    in_range.ok_or_else(|| {
        Problem::new(
            ErrorType::ExtractValueError,
            format!(
                "Expected the priority of the user task to be from 0 to 100, but it is {number}."
            ),
        )
    })
}

/// The key of a deployed form, or the form name known to the application.
fn form(
    cx: &mut Context<'_>,
    el: &Subject,
    form: Option<&FormReference>,
) -> Result<(Key, Arc<str>), Problem> {
    match form {
        None => Ok((Key::NONE, Arc::default())),
        Some(FormReference::Key(name) | FormReference::External(name)) => {
            Ok((Key::NONE, expression::text(cx, name, el.key)?))
        }
        Some(FormReference::Id { id, binding: bound }) => {
            let id = expression::text(cx, id, el.key)?;
            let (tenant, deployment) = (&el.process.tenant, el.process.deployment_key);
            let found = cx.state.forms.bound(tenant, &id, bound, deployment);
            let key = found.ok_or_else(|| {
                let not_found = binding::not_found(bound, deployment);
                let message = format!("Expected form with id '{id}' {not_found}.");
                Problem::new(ErrorType::FormNotFound, message)
            })?;
            Ok((key, Arc::default()))
        }
    }
}
