//! JOB FAIL, and RECUR_AFTER_BACKOFF when the back-off ends.

use skep_protocol::Response;
use skep_protocol::command::FailJob;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::{ErrorType, JobKind, JobValue};

use super::{finishable, value_of};
use crate::processing::bpmn::{Problem, Subject, incidents};
use crate::processing::{Context, Outcome, variable};
use crate::state::JobState;

pub(crate) fn process(cx: &mut Context<'_>, command: &FailJob) -> Outcome {
    let key = command.job_key;
    let job = value_of(finishable(cx, "FAIL", "fail", key)?);
    let back_off = command.retry_back_off.max(0);
    let mut value = JobValue {
        retries: command.retries,
        error_message: command.error_message.as_str().into(),
        ..job
    };
    if back_off > 0 {
        let extra = value.extra();
        extra.retry_backoff = back_off;
        extra.recurring_time = cx.now.saturating_add(back_off);
    }
    if !command.variables.is_empty()
        && let Some(el) = Subject::load(cx, value.element_instance_key)
    {
        // Visible to the job's next attempt, gone with the element.
        for (name, text) in command.variables.entries() {
            variable::set_local(cx, el.key, name, text);
        }
    }
    cx.event(key, JobIntent::Failed, &value);
    if value.retries <= 0 {
        if let Some(el) = Subject::load(cx, value.element_instance_key) {
            let message = if command.error_message.is_empty() {
                "No more retries left.".to_string()
            } else {
                command.error_message.clone()
            };
            let problem = Problem::new(no_retries(value.kind()), message);
            incidents::raise_for_job(cx, &el, problem, key);
        }
    } else if back_off == 0 {
        cx.new_jobs.push(key);
    }
    Ok(Some(Response::Empty))
}

/// The incident type for a job of this kind without retries.
fn no_retries(kind: JobKind) -> ErrorType {
    match kind {
        JobKind::BpmnElement => ErrorType::JobNoRetries,
        JobKind::ExecutionListener(_) => ErrorType::ExecutionListenerNoRetries,
        JobKind::TaskListener(_) => ErrorType::TaskListenerNoRetries,
        JobKind::AdHocSubProcess => ErrorType::AdHocSubProcessNoRetries,
    }
}

pub(crate) fn recur(cx: &mut Context<'_>, key: skep_protocol::Key) {
    if let Some(job) = cx.state.jobs.get(key)
        && job.state == JobState::BackingOff
    {
        let value = value_of(job);
        cx.event(key, JobIntent::RecurredAfterBackoff, &value);
        cx.new_jobs.push(key);
    }
}
