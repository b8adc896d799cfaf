//! RESOURCE_DELETION DELETE: makes a deployed resource unusable.
//!
//! A process definition is kept until its last instance has ended: each partition deletes it independently.

use std::sync::Arc;

use skep_protocol::command::CreateBatchOperation;
use skep_protocol::intent::{
    DecisionIntent, DecisionRequirementsIntent, FormIntent, ProcessIntent, ResourceDeletionIntent,
    ResourceIntent,
};
use skep_protocol::value::{
    BatchOperationType, BatchPlan, HistoryDeletionType, HistoryDeletionValue, ProcessValue,
    ResourceDeletionValue, ResourceType,
};
use skep_protocol::{Key, Rejection, RejectionType, Response, TenantId};

use super::{distribution, starts};
use crate::processing::batch_operation::{self, history};
use crate::processing::bpmn::subscriptions::{start, timer};
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;
use crate::state::{DeployedProcess, Pin};

pub(crate) fn process(cx: &mut Context<'_>, resource_key: Key, delete_history: bool) -> Outcome {
    let Some(found) = find(cx, resource_key) else {
        return Err(not_found(cx, resource_key));
    };
    let timers = match cx.process(resource_key) {
        Some(process) => starts::timers_again(cx, &process)?,
        None => Vec::new(),
    };
    let history = history_of(&found, resource_key).filter(|_| delete_history);
    let batch_operation = match history {
        Some(history) => Some((batch_operation::begin(cx, &history)?, history.kind)),
        None => None,
    };
    delete(cx, resource_key, delete_history, batch_operation);
    for timer in &timers {
        timer::open(cx, timer);
    }
    let command = Distributed::ResourceDeletion {
        resource_key,
        delete_history,
        batch_operation,
    };
    let answer = match batch_operation {
        Some((key, kind)) => Response::BatchOperationCreated { key, kind },
        None => Response::Empty,
    };
    let distribution_key = cx.next_key();
    Ok(distribution::start(cx, distribution_key, command, answer))
}

/// The batch operation that deletes the history of the resource, and then the resource itself, from secondary storage.
/// Running instances are deleted when they end.
fn history_of(found: &DeployedResource, key: Key) -> Option<CreateBatchOperation> {
    let (kind, field, follow_up) = match found.kind {
        ResourceType::ProcessDefinition => (
            BatchOperationType::DeleteProcessInstance,
            "processDefinitionKey",
            HistoryDeletionType::ProcessDefinition,
        ),
        ResourceType::DecisionRequirements => (
            BatchOperationType::DeleteDecisionInstance,
            "decisionRequirementsKey",
            HistoryDeletionType::DecisionRequirements,
        ),
        ResourceType::Form | ResourceType::Unknown => return None,
    };
    Some(CreateBatchOperation {
        kind,
        filter: format!(r#"{{"{field}":"{key}"}}"#).into(),
        plan: BatchPlan::None,
        follow_up: Some(HistoryDeletionValue {
            resource_key: key,
            kind: follow_up,
        }),
    })
}

fn not_found(cx: &Context<'_>, key: Key) -> Rejection {
    if cx.state.processes.is_draining(key) {
        let reason = format!(
            "Expected to delete the process definition with key '{key}', but it is being deleted already: it is removed with the last of \
             its instances. Wait for them, or cancel them."
        );
        return reject(RejectionType::InvalidState, "DELETE", reason);
    }
    let reason = format!("Expected to delete resource but no resource found with key `{key}`");
    reject(RejectionType::NotFound, "DELETE", reason)
}

struct DeployedResource {
    kind: ResourceType,
    pin: Pin,
}

fn find(cx: &Context<'_>, key: Key) -> Option<DeployedResource> {
    let state = &*cx.state;
    let found = |kind, pin: &Pin| DeployedResource {
        kind,
        pin: pin.clone(),
    };
    let process = state.processes.definitions.pin(key);
    let decisions = || state.decisions.requirements.pin(key);
    process
        .map(|pin| found(ResourceType::ProcessDefinition, pin))
        .or_else(|| decisions().map(|pin| found(ResourceType::DecisionRequirements, pin)))
        .or_else(|| {
            state
                .forms
                .pin(key)
                .map(|pin| found(ResourceType::Form, pin))
        })
        .or_else(|| {
            let pin = state.resources.pin(key);
            pin.map(|pin| found(ResourceType::Unknown, pin))
        })
}

/// The type and id of the deletable resource with this key.
pub(crate) fn named(cx: &Context<'_>, key: Key) -> Option<(ResourceType, Arc<str>)> {
    find(cx, key).map(|found| (found.kind, found.pin.id))
}

/// The tenant of the resource, also while it is being deleted.
pub(crate) fn tenant_of(cx: &Context<'_>, key: Key) -> Option<TenantId> {
    let found = find(cx, key).map(|found| found.pin.tenant);
    let draining = || cx.state.processes.get(key);
    found.or_else(|| draining().map(|process| process.tenant.clone()))
}

pub(crate) fn delete(
    cx: &mut Context<'_>,
    resource_key: Key,
    delete_history: bool,
    batch_operation: Option<(Key, BatchOperationType)>,
) {
    let Some(DeployedResource { kind, pin }) = find(cx, resource_key) else {
        return;
    };
    let deletion = ResourceDeletionValue {
        resource_key,
        resource_id: pin.id,
        kind,
        delete_history,
        batch_operation,
        tenant: pin.tenant,
    };
    let deletion_key = cx.next_key();
    cx.event(deletion_key, ResourceDeletionIntent::Deleting, &deletion);
    match kind {
        ResourceType::ProcessDefinition => process_definition(cx, resource_key),
        ResourceType::DecisionRequirements => decision_requirements(cx, resource_key),
        ResourceType::Form => {
            if let Some(mut value) = cx.state.forms.get(resource_key).cloned() {
                value.0.resource.clear();
                let key = cx.next_key();
                cx.event(key, FormIntent::Deleted, &value);
            }
        }
        ResourceType::Unknown => {
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
    // Without running instances, the batch operation alone deletes the history.
    let_go(cx, key);
    start::close_timers(cx, key);
    start::close_subscriptions(cx, key);
    if let Some(latest) = successor {
        start::open_subscriptions(cx, &latest);
    }
}

/// Handles the end of an instance of the definition.
pub(crate) fn instance_ended(cx: &mut Context<'_>, definition: Key, instance: Key) {
    if cx.state.processes.is_forgotten(definition) {
        forget(cx, instance, HistoryDeletionType::ProcessInstance);
    }
    released(cx, definition);
}

/// Handles the end of something that has kept the definition.
pub(crate) fn released(cx: &mut Context<'_>, definition: Key) {
    let forgotten = cx.state.processes.is_forgotten(definition);
    if let_go(cx, definition) && forgotten {
        forget(cx, definition, HistoryDeletionType::ProcessDefinition);
    }
}

fn forget(cx: &mut Context<'_>, resource_key: Key, kind: HistoryDeletionType) {
    history::deleted(cx, &HistoryDeletionValue { resource_key, kind });
}

/// Deletes a definition that is being deleted if nothing keeps it any longer.
fn let_go(cx: &mut Context<'_>, definition: Key) -> bool {
    if !cx.state.processes.is_draining(definition)
        || cx.state.elements.running_of(definition) > 0
        || cx.state.triggers.begin_any_of(definition)
        || cx.state.migrations.lead_to(definition)
    {
        return false;
    }
    let Some(process) = cx.process(definition) else {
        return false;
    };
    let key = cx.next_key();
    cx.event(key, ProcessIntent::Deleted, &value_of(&process));
    true
}

/// The value of DELETING and DELETED: everything except the content.
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
