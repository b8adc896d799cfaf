//! Jobs: one file per command.

pub(crate) mod activate;
pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod fail;
pub(crate) mod throw_error;
pub(crate) mod time_out;
pub(crate) mod update;
pub(crate) mod r#yield;

use skep_protocol::intent::JobIntent;
use skep_protocol::value::{JobExtra, JobValue};
use skep_protocol::{Key, Rejection, RejectionType};

use super::{Context, reject};
use crate::state::{Job, JobState};

/// The record value of a job.
pub(crate) fn value_of(job: &Job) -> JobValue {
    JobValue {
        job_type: job.job_type.clone(),
        process_definition_key: job.process_definition_key,
        process_instance_key: job.process_instance_key,
        root_process_instance_key: job.root_process_instance_key(),
        element: job.element,
        element_instance_key: job.element_instance_key,
        retries: job.retries,
        extra: job.special().map(|special| {
            Box::new(JobExtra {
                kind: special.kind,
                headers: special.headers.clone(),
                tenant: special.tenant.clone(),
                ..JobExtra::default()
            })
        }),
        worker: job.worker.clone(),
        deadline: match job.state {
            JobState::BackingOff => -1,
            _ => job.due,
        },
        error_message: job.error_message(),
        variables: Vec::new(),
    }
}

pub(crate) fn not_found(intent: &'static str, verb: &str, key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!("Expected to {verb} job with key '{key}', but no such job was found"),
    )
}

fn wrong_state(intent: &'static str, verb: &str, key: Key, state: &str) -> Rejection {
    reject(
        RejectionType::InvalidState,
        intent,
        format!("Expected to {verb} job with key '{key}', but it is {state}"),
    )
}

/// Returns a job that can be completed or failed, or throw an error. It need not be activated: the work of a slow worker
/// counts until someone else has finished the job.
fn finishable<'a>(
    cx: &'a mut Context<'_>,
    intent: &'static str,
    verb: &str,
    key: Key,
) -> Result<&'a Job, Rejection> {
    let job = cx
        .state
        .jobs
        .get(key)
        .ok_or_else(|| not_found(intent, verb, key))?;
    match job.state {
        JobState::Activated | JobState::Activatable => Ok(job),
        JobState::BackingOff => Err(wrong_state(
            intent,
            verb,
            key,
            "in state 'FAILED' and waits for the end of its back-off",
        )),
        JobState::ErrorThrown => Err(wrong_state(intent, verb, key, "in state 'ERROR_THROWN'")),
        JobState::Incident => Err(wrong_state(
            intent,
            verb,
            key,
            "in state 'FAILED' and waits for an incident; fix its cause (update the retries when there are none left) and resolve the \
             incident first",
        )),
    }
}

/// JOB CANCELED: the element that needs it is ending. A job whose error was caught has already ended.
pub(crate) fn cancel(cx: &mut Context<'_>, key: Key, error_caught: bool) {
    let job = cx.state.jobs.get(key);
    let job = job.filter(|job| !(error_caught && job.state == JobState::ErrorThrown));
    if let Some(value) = job.map(value_of) {
        cx.event(key, JobIntent::Canceled, &value);
    }
}
