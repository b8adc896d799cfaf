//! RESOURCE_DELETION DELETE: a process definition can no longer be started. Its running instances go on.

use skep_protocol::intent::{ProcessIntent, ResourceDeletionIntent};
use skep_protocol::value::{ProcessValue, ResourceDeletionValue};
use skep_protocol::{Key, RejectionType, Response};

use super::distribution;
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;

pub(crate) fn process(cx: &mut Context<'_>, resource_key: Key) -> Outcome {
    if cx.state.processes.startable(resource_key).is_none() {
        return Err(reject(
            RejectionType::NotFound,
            "DELETE",
            format!("Expected to delete resource but no resource found with key `{resource_key}`"),
        ));
    }
    delete(cx, resource_key);
    let command = Distributed::ResourceDeletion { resource_key };
    let distribution_key = cx.next_key();
    Ok(distribution::start(
        cx,
        distribution_key,
        command,
        Response::Empty,
    ))
}

pub(crate) fn delete(cx: &mut Context<'_>, resource_key: Key) {
    let Some(process) = cx.state.processes.startable(resource_key).cloned() else {
        return;
    };
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
    };
    let key = cx.next_key();
    cx.event(key, ProcessIntent::Deleting, &value);
    let key = cx.next_key();
    cx.event(key, ProcessIntent::Deleted, &value);
    cx.event(deletion_key, ResourceDeletionIntent::Deleted, &deletion);
}
