//! User tasks: a Camunda user task continues unchanged; a user task implemented as a job becomes a Camunda user task.

use std::collections::BTreeMap;
use std::sync::Arc;

use skep_model::ElementKind;
use skep_protocol::intent::{JobIntent, UserTaskIntent as Intent};
use skep_protocol::user_task::{RESERVED_PREFIX, UserTaskProperties};
use skep_protocol::value::{JobKind, UserTaskAttribute, UserTaskAttributes, UserTaskValue};
use skep_protocol::{Key, Rejection, RejectionType};

use super::plan::Plan;
use crate::processing::bpmn::{Subject, incidents};
use crate::processing::user_task::value_of;
use crate::processing::{Context, job, reject};

pub(super) fn migrate(cx: &mut Context<'_>, key: Key, after: &Subject) {
    if let Some(task) = cx.state.user_tasks.get(key) {
        let value = UserTaskValue {
            process_definition_key: after.process.key,
            element: after.value.element,
            ..value_of(task)
        };
        cx.event(key, Intent::Migrated, &value);
    }
}

/// Whether the job is the user task itself, and the target has a Camunda user task.
pub(super) fn is_to_be_made(cx: &mut Context<'_>, job: Key, after: &Subject) -> bool {
    let is_native =
        matches!(&after.element().kind, ElementKind::UserTask(task) if task.native.is_some());
    let job = cx.state.jobs.get(job);
    is_native && job.is_some_and(|job| job.kind() == JobKind::BpmnElement)
}

/// Checks that a job that becomes a Camunda user task has no incident.
pub(super) fn check(
    cx: &mut Context<'_>,
    plan: &Plan,
    before: &Subject,
    after: &Subject,
) -> Result<(), Rejection> {
    let row = cx.state.elements.get(before.key);
    let job = row.and_then(|row| row.job_key.some());
    let Some(job) = job.filter(|job| is_to_be_made(cx, *job, after)) else {
        return Ok(());
    };
    if incidents_of(cx, job, before.key).is_empty() {
        return Ok(());
    }
    Err(reject(
        RejectionType::InvalidState,
        "MIGRATE",
        format!(
            "Expected to migrate process instance '{}' but active element with id '{}' is a job worker user task with an active \
             incident. Please resolve the incident before migrating the user task to a Camunda user task.",
            plan.instance,
            before.element().id
        ),
    ))
}

/// Creates the task from the job's headers. No listeners run, because the task is not new to its users.
pub(super) fn make(cx: &mut Context<'_>, job_key: Key, after: &Subject) {
    let Some(job) = cx.state.jobs.get(job_key) else {
        return;
    };
    let mut canceled = job::value_of(job);
    let headers = job.headers().cloned().unwrap_or_else(|| "{}".into());
    let mut value = task_of(cx, after, &headers);
    let key = cx.next_key();
    cx.event(key, Intent::Creating, &value);
    let assignee = std::mem::take(&mut value.attributes.assignee);
    cx.event(key, Intent::Created, &value);
    value.attributes.assignee = assignee;
    value.changed.push(UserTaskAttribute::Assignee);
    cx.event(key, Intent::Assigning, &value);
    cx.event(key, Intent::Assigned, &value);
    // They no longer have a cause. A migration that began in an earlier version may have some.
    incidents::resolve_of_job(cx, after.key, job_key);
    canceled.extra().becomes_user_task = true;
    cx.event(job_key, JobIntent::Canceled, &canceled);
    migrate(cx, key, after);
}

fn task_of(cx: &mut Context<'_>, after: &Subject, headers: &str) -> UserTaskValue {
    let properties = UserTaskProperties::from_headers(headers);
    let texts = |all: Vec<String>| all.into_iter().map(Arc::from).collect();
    let text = |text: Option<String>| text.map(Arc::from).unwrap_or_default();
    let form_key = properties.form_key.map(Key).unwrap_or(Key::NONE);
    let form_key = match cx.state.forms.pin(form_key) {
        Some(_) => form_key,
        None => Key::NONE,
    };
    UserTaskValue {
        process_definition_key: after.process.key,
        process_instance_key: after.value.process_instance_key,
        root_process_instance_key: after.value.root_process_instance_key,
        element: after.value.element,
        element_instance_key: after.key,
        creation_timestamp: cx.now,
        form_key,
        external_form_reference: match form_key.some() {
            Some(_) => Arc::default(),
            None => form_name(headers),
        },
        attributes: UserTaskAttributes {
            assignee: text(properties.assignee),
            candidate_groups: texts(properties.candidate_groups),
            candidate_users: texts(properties.candidate_users),
            due_date: text(properties.due_date),
            follow_up_date: text(properties.follow_up_date),
            priority: UserTaskAttributes::DEFAULT_PRIORITY,
        },
        changed: Vec::new(),
        action: Arc::default(),
        variables: Vec::new(),
        denied_reason: Arc::default(),
    }
}

/// The name of a form that only the task's application understands.
fn form_name(headers: &str) -> Arc<str> {
    let headers: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(headers).unwrap_or_default();
    let name = headers.get(&format!("{RESERVED_PREFIX}formKey"));
    let name = name.and_then(|name| name.as_str());
    name.map(Arc::from).unwrap_or_default()
}

fn incidents_of(cx: &mut Context<'_>, job: Key, element: Key) -> Vec<Key> {
    let row = cx.state.elements.get(element);
    let extra = row.and_then(|row| row.extra.as_ref());
    let incidents = extra.map(|extra| extra.incidents.clone());
    let incidents = incidents.unwrap_or_default().into_iter();
    let of_job = |key: &Key| {
        let incident = cx.state.incidents.get(*key);
        incident.is_some_and(|incident| incident.job_key == job)
    };
    incidents.filter(of_job).collect()
}
