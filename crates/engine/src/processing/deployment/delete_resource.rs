//! RESOURCE_DELETION DELETE: a process definition can no longer be started. Its running instances go on.

use skep_protocol::intent::{ProcessIntent, ResourceDeletionIntent};
use skep_protocol::value::{ProcessValue, ResourceDeletionValue, TimerValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::distribution;
use crate::processing::bpmn::subscriptions::{start, timer};
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;
use crate::state::DeployedProcess;

pub(crate) fn process(cx: &mut Context<'_>, resource_key: Key) -> Outcome {
    let Some(process) = cx.state.processes.startable(resource_key).cloned() else {
        return Err(reject(
            RejectionType::NotFound,
            "DELETE",
            format!("Expected to delete resource but no resource found with key `{resource_key}`"),
        ));
    };
    let timers = timers_again(cx, &process)?;
    delete(cx, resource_key);
    for timer in &timers {
        timer::open(cx, timer);
    }
    let command = Distributed::ResourceDeletion { resource_key };
    let distribution_key = cx.next_key();
    Ok(distribution::start(
        cx,
        distribution_key,
        command,
        Response::Empty,
    ))
}

/// The timers of the version that becomes the latest when this one goes.
fn timers_again(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
) -> Result<Vec<TimerValue>, Rejection> {
    let Some(before) = cx
        .state
        .processes
        .successor_of_deleted(process.key)
        .cloned()
    else {
        return Ok(Vec::new());
    };
    start::timers(cx, &before.graph, before.key).map_err(|(_, problem)| {
        let reason = format!(
            "Expected to delete version {} of process '{}', so that version {} starts by its timers again, but: {} Delete that \
             version first.",
            process.version, process.bpmn_process_id, before.version, problem.message
        );
        reject(RejectionType::InvalidState, "DELETE", reason)
    })
}

pub(crate) fn delete(cx: &mut Context<'_>, resource_key: Key) {
    let Some(process) = cx.state.processes.startable(resource_key).cloned() else {
        return;
    };
    let successor = cx
        .state
        .processes
        .successor_of_deleted(resource_key)
        .cloned();
    let deletion = ResourceDeletionValue { resource_key };
    let deletion_key = cx.next_key();
    cx.event(deletion_key, ResourceDeletionIntent::Deleting, &deletion);
    let value = ProcessValue {
        bpmn_process_id: process.bpmn_process_id.clone(),
        version: process.version,
        version_tag: process.version_tag.clone(),
        process_definition_key: process.key,
        deployment_key: process.deployment_key,
        resource_name: process.resource_name.clone(),
        checksum: process.checksum.clone(),
        resource: Default::default(),
        elements: Vec::new(),
        tenant: process.tenant.clone(),
    };
    let key = cx.next_key();
    cx.event(key, ProcessIntent::Deleting, &value);
    let key = cx.next_key();
    cx.event(key, ProcessIntent::Deleted, &value);
    start::close_timers(cx, resource_key);
    start::close_subscriptions(cx, resource_key);
    if let Some(latest) = successor {
        start::open_subscriptions(cx, &latest);
    }
    cx.event(deletion_key, ResourceDeletionIntent::Deleted, &deletion);
}
