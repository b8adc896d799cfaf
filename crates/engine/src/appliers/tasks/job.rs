//! JOB events.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::intent::JobIntent as Intent;
use skep_protocol::value::{JobKind, JobValue};

use crate::appliers::{Apply, user_task};
use crate::state::jobs::Special;
use crate::state::{ElementState, Job, JobState, State};

impl Apply<JobValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &JobValue, _timestamp: i64) {
        match intent {
            Intent::Created => created(self, key, value),
            Intent::Completed => {
                if let JobKind::TaskListener(_) = value.kind() {
                    listener_completed(self, value.element_instance_key);
                }
                removed(self, key, value.element_instance_key);
                if let JobKind::ExecutionListener(_) = value.kind() {
                    listener_has_run(self, value.element_instance_key);
                }
            }
            Intent::Canceled => removed(self, key, value.element_instance_key),
            Intent::TimedOut | Intent::Yielded | Intent::RecurredAfterBackoff => {
                self.jobs.update(key, |job| {
                    job.state = JobState::Activatable;
                    job.due = value.deadline;
                });
            }
            Intent::Failed => self.jobs.update(key, |job| {
                job.retries = value.retries;
                job.set_error_message(&value.error_message);
                (job.state, job.due) = if value.retries <= 0 {
                    (JobState::Incident, value.deadline)
                } else if let Some(end) = end_of_back_off(value) {
                    (JobState::BackingOff, end)
                } else {
                    (JobState::Activatable, value.deadline)
                };
            }),
            Intent::ErrorThrown => self.jobs.update(key, |job| {
                job.state = JobState::ErrorThrown;
            }),
            Intent::RetriesUpdated => self.jobs.update(key, |job| job.retries = value.retries),
            Intent::Migrated => self.jobs.update(key, |job| {
                job.element = value.element;
                job.process_definition_key = value.process_definition_key;
                job.set_special(special_of(value));
            }),
            Intent::TimeoutUpdated => self.jobs.update(key, |job| job.due = value.deadline),
            Intent::Updated => self.jobs.update(key, |job| {
                job.retries = value.retries;
                if job.state == JobState::Activated {
                    job.due = value.deadline;
                }
            }),
            Intent::Complete
            | Intent::TimeOut
            | Intent::Fail
            | Intent::UpdateRetries
            | Intent::ThrowError
            | Intent::RecurAfterBackoff
            | Intent::Yield
            | Intent::UpdateTimeout
            | Intent::Update => {}
        }
    }
}

/// When a failed job becomes activatable again, epoch milliseconds. `None`: immediately.
fn end_of_back_off(failed: &JobValue) -> Option<i64> {
    let extra = failed.extra.as_ref()?;
    (extra.retry_backoff > 0).then_some(extra.recurring_time)
}

fn created(state: &mut State, key: Key, value: &JobValue) {
    let mut job = Job {
        job_type: value.job_type.clone(),
        state: JobState::Activatable,
        element: value.element,
        element_instance_key: value.element_instance_key,
        process_definition_key: value.process_definition_key,
        process_instance_key: value.process_instance_key,
        retries: value.retries,
        worker: Arc::default(),
        due: -1,
        extra: None,
    };
    job.set_root_process_instance_key(value.root_process_instance_key);
    job.set_special(special_of(value));
    insert(state, key, job, false);
}

fn special_of(value: &JobValue) -> Option<Special> {
    let extra = value.extra.as_ref()?;
    Some(Special {
        kind: extra.kind,
        headers: extra.headers.clone(),
        tenant: extra.tenant.clone(),
    })
}

/// Adds a job to its element, and activates the element if `activated`.
pub(in crate::appliers) fn insert(state: &mut State, key: Key, job: Job, activated: bool) {
    if let Some(element) = state.elements.must_get_mut(job.element_instance_key) {
        // Otherwise the older job would outlive its element.
        debug_assert!(
            element.job_key.is_none(),
            "{key} is its element's second job"
        );
        element.job_key = key;
        if activated {
            element.enter(ElementState::Activated);
        }
    }
    state.jobs.insert(key, job);
}

fn listener_has_run(state: &mut State, element_instance_key: Key) {
    if let Some(element) = state.elements.must_get_mut(element_instance_key) {
        element.extra().listeners_run += 1;
    }
}

/// Lets the next listener of a user task process the current transition.
fn listener_completed(state: &mut State, element_instance_key: Key) {
    let element = state.elements.get(element_instance_key);
    let Some(task) = element.and_then(|element| element.user_task()) else {
        return;
    };
    user_task::change(state, task, |task| {
        if let Some(transition) = &mut task.transition {
            transition.listeners_done += 1;
        }
    });
}

pub(in crate::appliers) fn removed(state: &mut State, key: Key, element_instance_key: Key) {
    state.jobs.remove(key);
    if let Some(element) = state.elements.must_get_mut(element_instance_key) {
        element.job_key = Key::NONE;
    }
}
