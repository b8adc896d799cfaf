//! INCIDENT RESOLVE: the cause is mended, the element goes on where it stopped.

use skep_protocol::intent::IncidentIntent;
use skep_protocol::value::ErrorType;
use skep_protocol::{Key, RejectionType, Response};

use super::bpmn::{Step, Subject, lifecycle};
use super::{Context, Outcome, reject};
use crate::state::ElementState;

pub(crate) fn resolve(cx: &mut Context<'_>, key: Key) -> Outcome {
    let Some(incident) = cx.state.incidents.get(key).cloned() else {
        return Err(reject(
            RejectionType::NotFound,
            "RESOLVE",
            format!(
                "Expected to resolve incident with key '{key}', but no such incident was found"
            ),
        ));
    };
    let job_key = incident.job_key.some();
    if let Some(job_key) = job_key
        && cx
            .state
            .jobs
            .get(job_key)
            .is_some_and(|job| job.retries <= 0)
    {
        return Err(reject(
            RejectionType::InvalidState,
            "RESOLVE",
            format!(
                "Expected to resolve incident with key '{key}', but job '{job_key}' has no retries left. \
                 Update the job's retries first, then resolve the incident."
            ),
        ));
    }
    cx.event(key, IncidentIntent::Resolved, &incident);
    if let Some(job_key) = job_key {
        cx.new_jobs.push(job_key);
        return Ok(Some(Response::Empty));
    }
    let Some(el) = Subject::load(cx, incident.element_instance_key) else {
        return Ok(Some(Response::Empty));
    };
    match cx.state.elements.get(el.key).map(|row| row.state) {
        Some(ElementState::Activating) => lifecycle::activate(cx, &el, Vec::new()),
        Some(ElementState::Completing) => lifecycle::finish(cx, &el, None),
        // Only a completion that was put off for too many steps leaves an incident on an activated element.
        Some(ElementState::Activated) if incident.error_type == ErrorType::Unknown => {
            cx.steps.push_back(Step::Complete(el.key));
        }
        _ => {}
    }
    Ok(Some(Response::Empty))
}
