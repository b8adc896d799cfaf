//! JOB UPDATE_RETRIES, UPDATE_TIMEOUT and UPDATE (both).

use skep_protocol::command::UpdateJobKind;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::JobValue;
use skep_protocol::{Key, RejectionType, Response};

use super::{not_found, value_of};
use crate::processing::{Context, Outcome, reject};
use crate::state::JobState;

pub(crate) fn process(
    cx: &mut Context<'_>,
    key: Key,
    retries: Option<i32>,
    timeout: Option<i64>,
    kind: UpdateJobKind,
) -> Outcome {
    let (intent, verb) = words_of(kind);
    let job = cx
        .state
        .jobs
        .get(key)
        .ok_or_else(|| not_found(intent, verb, key))?;
    let (activated, old) = (job.state == JobState::Activated, value_of(job));
    if let Some(retries) = retries
        && retries < 1
    {
        return Err(reject(
            RejectionType::InvalidArgument,
            intent,
            format!(
                "Expected to update retries for job with key '{key}' with a positive amount of retries, but the amount given was '{retries}'"
            ),
        ));
    }
    if timeout.is_some() && !activated {
        return Err(reject(
            RejectionType::InvalidState,
            intent,
            format!(
                "Expected to update the timeout of job with key '{key}', but it is not active: no worker has it"
            ),
        ));
    }
    let value = JobValue {
        retries: retries.unwrap_or(old.retries),
        deadline: timeout.map_or(old.deadline, |t| cx.now.saturating_add(t)),
        ..old
    };
    let event = match (retries, timeout) {
        (Some(_), None) => JobIntent::RetriesUpdated,
        (None, Some(_)) => JobIntent::TimeoutUpdated,
        _ => JobIntent::Updated,
    };
    cx.event(key, event, &value);
    Ok(Some(Response::Empty))
}

/// The intent, and the verb for its messages.
pub(crate) fn words_of(kind: UpdateJobKind) -> (&'static str, &'static str) {
    match kind {
        UpdateJobKind::Retries => ("UPDATE_RETRIES", "update retries for"),
        UpdateJobKind::Timeout => ("UPDATE_TIMEOUT", "update the timeout of"),
        UpdateJobKind::Both => ("UPDATE", "update"),
    }
}
