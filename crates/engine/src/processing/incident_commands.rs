//! Client commands about incidents: RESOLVE (the cause is fixed, the element continues where it stopped), and the list of
//! open incidents. Elements raise incidents in `bpmn/incidents.rs`.

use std::sync::Arc;

use skep_protocol::command::MAX_LISTED_INCIDENTS;
use skep_protocol::intent::IncidentIntent;
use skep_protocol::response::OpenIncident;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::bpmn::{Subject, lifecycle};
use super::{Context, Outcome, reject};
use crate::state::DeployedProcess;

/// Lists open incidents. Changes nothing.
pub(crate) fn list(cx: &mut Context<'_>, after: Key, limit: u32) -> Outcome {
    let limit = limit.min(MAX_LISTED_INCIDENTS) as usize;
    let mut keys: Vec<Key> = cx.state.incidents.after(after).take(limit + 1).collect();
    let more = keys.len() > limit;
    keys.truncate(limit);
    let mut incidents = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(incident) = cx.state.incidents.get(key).map(|row| row.value()) else {
            continue;
        };
        let process = cx.process(incident.process_definition_key);
        let element = |process: &Arc<DeployedProcess>| {
            let element = process.graph.elements.get(incident.element as usize)?;
            Some(element.id.clone())
        };
        incidents.push(OpenIncident {
            key,
            element_id: process.as_ref().and_then(element).unwrap_or_default(),
            process_definition_version: process.as_ref().map_or(0, |p| p.version),
            bpmn_process_id: process
                .map(|p| p.bpmn_process_id.clone())
                .unwrap_or_default(),
            incident,
        });
    }
    Ok(Some(Response::IncidentsListed { incidents, more }))
}

pub(crate) fn resolve(cx: &mut Context<'_>, key: Key) -> Outcome {
    let Some(incident) = cx.state.incidents.get(key).map(|row| row.value()) else {
        return Err(not_found(key));
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
    lifecycle::resume(cx, &el);
    Ok(Some(Response::Empty))
}

pub(crate) fn not_found(key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        "RESOLVE",
        format!("Expected to resolve incident with key '{key}', but no such incident was found"),
    )
}
