//! RESOURCE_DELETION DELETE: something that was deployed can no longer be used.
//!
//! A process definition is kept until its last instance has ended: each partition lets go of it for itself.

use skep_protocol::intent::{
    DecisionIntent, DecisionRequirementsIntent, FormIntent, ProcessIntent, ResourceDeletionIntent,
    ResourceIntent,
};
use skep_protocol::value::{ProcessValue, ResourceDeletionValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::{distribution, starts};
use crate::processing::bpmn::subscriptions::{start, timer};
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;
use crate::state::DeployedProcess;

pub(crate) fn process(cx: &mut Context<'_>, resource_key: Key) -> Outcome {
    if find(cx, resource_key).is_none() {
        return Err(not_found(cx, resource_key));
    }
    let timers = match cx.process(resource_key) {
        Some(process) => starts::timers_again(cx, &process)?,
        None => Vec::new(),
    };
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

fn not_found(cx: &Context<'_>, key: Key) -> Rejection {
    if cx.state.processes.is_draining(key) {
        let reason = format!(
            "Expected to delete the process definition with key '{key}', but it is being deleted already: it goes with the last \
             of its instances. Wait for them, or cancel them."
        );
        return reject(RejectionType::InvalidState, "DELETE", reason);
    }
    let reason = format!("Expected to delete resource but no resource found with key `{key}`");
    reject(RejectionType::NotFound, "DELETE", reason)
}

enum Found {
    Process,
    DecisionRequirements,
    Form,
    Resource,
}

fn find(cx: &Context<'_>, key: Key) -> Option<Found> {
    let state = &*cx.state;
    if state.processes.startable(key).is_some() {
        return Some(Found::Process);
    }
    if state.decisions.requirements.pin(key).is_some() {
        return Some(Found::DecisionRequirements);
    }
    if state.forms.pin(key).is_some() {
        return Some(Found::Form);
    }
    state.resources.pin(key).map(|_| Found::Resource)
}

pub(crate) fn delete(cx: &mut Context<'_>, resource_key: Key) {
    let Some(found) = find(cx, resource_key) else {
        return;
    };
    let deletion = ResourceDeletionValue { resource_key };
    let deletion_key = cx.next_key();
    cx.event(deletion_key, ResourceDeletionIntent::Deleting, &deletion);
    match found {
        Found::Process => process_definition(cx, resource_key),
        Found::DecisionRequirements => decision_requirements(cx, resource_key),
        Found::Form => {
            if let Some(mut value) = cx.state.forms.get(resource_key).cloned() {
                value.0.resource.clear();
                let key = cx.next_key();
                cx.event(key, FormIntent::Deleted, &value);
            }
        }
        Found::Resource => {
            if let Some(value) = cx.state.resources.get(resource_key).cloned() {
                let key = cx.next_key();
                cx.event(key, ResourceIntent::Deleted, &value);
            }
        }
    }
    cx.event(deletion_key, ResourceDeletionIntent::Deleted, &deletion);
}

fn decision_requirements(cx: &mut Context<'_>, key: Key) {
    for decision in cx.state.decisions.of(key).to_vec() {
        if let Some(value) = cx.state.decisions.decisions.get(decision).cloned() {
            let key = cx.next_key();
            cx.event(key, DecisionIntent::Deleted, &value);
        }
    }
    if let Some(mut value) = cx.state.decisions.requirements.get(key).cloned() {
        value.resource.clear();
        let key = cx.next_key();
        cx.event(key, DecisionRequirementsIntent::Deleted, &value);
    }
}

fn process_definition(cx: &mut Context<'_>, key: Key) {
    let Some(process) = cx.process(key) else {
        return;
    };
    let successor = cx.state.processes.successor_of_deleted(key).cloned();
    let deleting = cx.next_key();
    cx.event(deleting, ProcessIntent::Deleting, &value_of(&process));
    instance_ended(cx, key);
    start::close_timers(cx, key);
    start::close_subscriptions(cx, key);
    if let Some(latest) = successor {
        start::open_subscriptions(cx, &latest);
    }
}

/// An instance of the definition has ended: if it was the last of one that is being deleted, the definition goes.
pub(crate) fn instance_ended(cx: &mut Context<'_>, definition: Key) {
    if !cx.state.processes.is_draining(definition)
        || cx.state.elements.running_of(definition) > 0
        || cx.state.triggers.begin_any_of(definition)
        || cx.state.migrations.lead_to(definition)
    {
        return;
    }
    if let Some(process) = cx.process(definition) {
        let key = cx.next_key();
        cx.event(key, ProcessIntent::Deleted, &value_of(&process));
    }
}

/// What DELETING and DELETED say: all but the content.
fn value_of(process: &DeployedProcess) -> ProcessValue {
    ProcessValue {
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
    }
}
