//! The values of events, one function per value type. Fields that the log does not store have their empty value, so that
//! readers find every field they know.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::names::Names;
use super::{
    Definitions, ElementNames, batch_operations, conditional, decision_evaluation, definitions,
    identity, messages, migration, modification, set, subscriptions,
};
use crate::document::JsonText;
use crate::intent::{Intent as _, MappingRuleIntent, ValueType};
use crate::key::Key;
use crate::record::{DecodeError, Record};
use crate::value::{
    ActivateElement, AdHocSubProcessInstructionValue, ClockValue, ClusterVariableValue,
    CommandDistributionValue, ContinuationValue, ErrorValue, ExportingValue, GlobalListenerValue,
    GroupValue, IncidentValue, JobBatchValue, JobResult, JobValue, KeptValue, MappingRuleValue,
    MultiInstanceValue, NO_CATCH_EVENT, ParentType, ProcessEventValue, ProcessInstanceBatchValue,
    ProcessInstanceCreationValue, ProcessInstanceResultValue, ProcessInstanceValue, ProcessValue,
    ResourceDeletionValue, RoleValue, RoutingValue, RuntimeInstructionValue, ScaleValue,
    SessionValue, TenantValue, TimerValue, UserTaskValue, VariableDocumentValue,
    VariableElementValue, VariableValue,
};

/// Their records belong to no tenant.
const TENANTLESS: [ValueType; 5] = [
    ValueType::ConditionCheck,
    ValueType::Error,
    ValueType::CommandDistribution,
    ValueType::JobBatch,
    ValueType::GlobalListener,
];

pub(super) fn render(
    record: &Record<'_>,
    definitions: &dyn Definitions,
) -> Result<Value, DecodeError> {
    if let Some(value) = render_bare(record)? {
        return Ok(value);
    }
    let names = Names(definitions);
    let mut value = match record.value_type {
        ValueType::Job => job(record.value()?, &names),
        ValueType::Deployment => definitions::deployment(record.value()?),
        ValueType::ProcessInstance => process_instance(record.key, record.value()?, &names),
        ValueType::Incident => incident(record.value()?, &names),
        ValueType::Message => messages::message(record.value()?),
        ValueType::MessageSubscription => messages::message_subscription(record.value()?),
        ValueType::ProcessMessageSubscription => {
            messages::process_message_subscription(record.value()?, &names)
        }
        ValueType::JobBatch => job_batch(record.value()?, &names),
        ValueType::Timer => timer(record.value()?, &names),
        ValueType::MessageStartEventSubscription => {
            subscriptions::message_start(record.value()?, &names)
        }
        ValueType::SignalSubscription => {
            subscriptions::signal_subscription(record.value()?, &names)
        }
        ValueType::Signal => subscriptions::signal(record.value()?),
        ValueType::Escalation => subscriptions::escalation(record.value()?, &names),
        ValueType::ConditionalSubscription => conditional::subscription(record.value()?, &names),
        ValueType::ConditionalEvaluation => conditional::evaluation(record.value()?),
        ValueType::ConditionCheck => conditional::check(record.value()?),
        ValueType::ClusterVariable => cluster_variable(record.value()?),
        ValueType::Variable => variable(record.value()?, &names),
        ValueType::VariableDocument => variable_document(record.value()?, &names),
        ValueType::ProcessInstanceCreation => process_instance_creation(record.value()?, &names),
        ValueType::Error => error(record.value()?),
        ValueType::ProcessInstanceResult => process_instance_result(record.value()?, &names),
        ValueType::Process => process(record.value()?),
        ValueType::ProcessEvent => process_event(record.value()?, &names),
        ValueType::ResourceDeletion => resource_deletion(record.value()?),
        ValueType::CommandDistribution => command_distribution(record.value()?),
        ValueType::MessageCorrelation => messages::message_correlation(record.value()?),
        ValueType::ProcessInstanceBatch => process_instance_batch(record.value()?, &names),
        ValueType::RuntimeInstruction => runtime_instruction(record.value()?, &names),
        ValueType::GlobalListener => global_listener(record.key, record.value()?),
        ValueType::ProcessInstanceMigration => migration::render(record.value()?, &names),
        ValueType::CompensationSubscription => subscriptions::compensation(record.value()?, &names),
        ValueType::Decision => definitions::decision(&record.value()?),
        ValueType::DecisionRequirements => definitions::decision_requirements(&record.value()?),
        ValueType::Form => definitions::form(&record.value()?),
        ValueType::Resource => definitions::resource(&record.value()?),
        ValueType::DecisionEvaluation => {
            decision_evaluation::render(record.key, record.value()?, &names)
        }
        ValueType::UserTask => user_task(record.key, record.value()?, &names),
        ValueType::AdHocSubProcessInstruction => ad_hoc_instruction(record.value()?, &names),
        ValueType::VariableElement => variable_element(record.value()?, &names),
        ValueType::ProcessInstanceModification => modification::render(record.value()?, &names),
        // The other types were handled above; expressions have no events.
        _ => json!({}),
    };
    if !TENANTLESS.contains(&record.value_type) && value.get("tenantId").is_none() {
        // An instance belongs to the tenant of its definition.
        let definition = value.get("processDefinitionKey").and_then(Value::as_i64);
        let tenant = names.tenant(definition.map_or(Key::NONE, Key));
        set(&mut value, "tenantId", json!(tenant.as_str()));
    }
    Ok(value)
}

/// Values of no process and no tenant: they have their own fields alone.
fn render_bare(record: &Record<'_>) -> Result<Option<Value>, DecodeError> {
    Ok(Some(match record.value_type {
        ValueType::Clock => {
            let value: ClockValue = record.value()?;
            json!({"time": value.time})
        }
        ValueType::Exporting => {
            let value: ExportingValue = record.value()?;
            serde_json::to_value(value).unwrap_or_default()
        }
        ValueType::Scale => {
            let value: ScaleValue = record.value()?;
            json!({
                "desiredPartitionCount": value.desired_partition_count,
                "messageCorrelationPartitions": value.message_correlation_partitions,
                "redistributedPartitions": value.redistributed_partitions,
                // Correlation keys stay where they are.
                "relocatedPartitions": [],
                "scalingPosition": -1,
            })
        }
        ValueType::Session => {
            let value: SessionValue = record.value()?;
            // Its secrets are not exported.
            json!({"username": value.user, "began": value.began, "used": value.used, "revision": value.revision})
        }
        ValueType::Kept => {
            let KeptValue {
                id,
                title,
                shared,
                changed,
                ..
            }: KeptValue = record.value()?;
            json!({"kind": id.kind.name(), "owner": id.owner.name(), "name": id.name, "title": title, "shared": shared, "changed": changed})
        }
        ValueType::Routing => routing(&record.value()?),
        ValueType::User => identity::user(&record.value()?),
        ValueType::Group => identity::parent(ParentType::Group, &record.value::<GroupValue>()?.0),
        ValueType::Role => identity::parent(ParentType::Role, &record.value::<RoleValue>()?.0),
        ValueType::Tenant => {
            identity::parent(ParentType::Tenant, &record.value::<TenantValue>()?.0)
        }
        ValueType::MappingRule => {
            let mut value: MappingRuleValue = record.value()?;
            // In the reference only the first event names it.
            if record.intent != MappingRuleIntent::Created.id() {
                value.mapping_rule_key = Key::NONE;
            }
            identity::mapping_rule(&value)
        }
        ValueType::Authorization => identity::authorization(&record.value()?),
        ValueType::IdentitySetup => identity::setup(&record.value()?),
        ValueType::MultiInstance => {
            let value: MultiInstanceValue = record.value()?;
            json!({"inputCollection": value.input_collection})
        }
        ValueType::Continuation => {
            let value: ContinuationValue = record.value()?;
            // The record itself has its origin.
            let mut value = serde_json::to_value(value).unwrap_or_default();
            value.as_object_mut().map(|fields| fields.remove("origin"));
            value
        }
        _ => return batch_operations::render(record),
    }))
}

fn routing(value: &RoutingValue) -> Value {
    json!({
        "partition": value.partition,
        "slots": value.slots,
        "rows": value.rows.len(),
        "dropped": value.dropped.len(),
    })
}

/// Names with the JSON texts of their values, as an object.
pub(super) fn object(variables: &[(Arc<str>, JsonText)]) -> Value {
    let pairs = variables
        .iter()
        .map(|(name, text)| (name.to_string(), json_value(text)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// A variable's value. It nests at most [`MAX_DEPTH`] deep, which was checked where it came in; the reader's own limit is lower
/// and would make null of it.
///
/// [`MAX_DEPTH`]: crate::document::MAX_DEPTH
fn json_value(text: &str) -> Value {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).unwrap_or(Value::Null)
}

fn process_instance_batch(v: ProcessInstanceBatchValue, names: &Names<'_>) -> Value {
    json!({
        "processInstanceKey": v.process_instance_key,
        "batchElementInstanceKey": v.batch_element_instance_key,
        "index": v.index,
        "processDefinitionKey": Key::NONE,
        "tenantId": names.tenant_of_instance(v.process_instance_key).as_str(),
    })
}

fn job(v: JobValue, names: &Names<'_>) -> Value {
    let element = match v.element {
        NO_CATCH_EVENT => ElementNames {
            element_id: "NO_CATCH_EVENT_FOUND".to_string(),
            ..names.of(v.process_definition_key, 0)
        },
        element => names.of(v.process_definition_key, element),
    };
    let headers = v.headers().map_or(&*element.custom_headers, |h| h);
    let headers: Value = serde_json::from_str(headers).unwrap_or(json!({}));
    let extra = v.extra.as_deref().cloned().unwrap_or_default();
    json!({
        "type": v.job_type,
        "worker": v.worker,
        "retries": v.retries,
        "retryBackoff": extra.retry_backoff,
        "recurringTime": extra.recurring_time,
        "deadline": v.deadline,
        "timeout": -1,
        "errorCode": extra.error_code,
        "errorMessage": v.error_message,
        "variables": object(&v.variables),
        "customHeaders": headers,
        "elementId": element.element_id,
        "elementInstanceKey": v.element_instance_key,
        "bpmnProcessId": element.bpmn_process_id,
        "processDefinitionKey": v.process_definition_key,
        "processDefinitionVersion": element.version,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "jobKind": extra.kind.name(),
        "jobListenerEventType": extra.kind.listener_event_name(),
        "jobToUserTaskMigration": extra.becomes_user_task,
        "changedAttributes": [],
        "result": job_result(&extra.result.unwrap_or_default()),
        "tags": names.started(v.process_instance_key).tags,
        "tenantId": extra.tenant.as_str(),
    })
}

fn activate_elements(elements: &[ActivateElement]) -> Value {
    let element = |element: &ActivateElement| json!({"elementId": element.element_id, "variables": object(&element.variables)});
    elements.iter().map(element).collect()
}

fn ad_hoc_instruction(v: AdHocSubProcessInstructionValue, names: &Names<'_>) -> Value {
    json!({
        "adHocSubProcessInstanceKey": v.ad_hoc_sub_process_instance_key,
        "activateElements": activate_elements(&v.activate_elements),
        "cancelRemainingInstances": v.cancel_remaining_instances,
        "completionConditionFulfilled": v.completion_condition_fulfilled,
        "tenantId": names.tenant_of_instance(v.ad_hoc_sub_process_instance_key).as_str(),
    })
}

fn job_result(result: &JobResult) -> Value {
    let corrections = &result.corrections;
    json!({
        "type": result.kind,
        "denied": result.denied,
        "deniedReason": result.denied_reason,
        "correctedAttributes": corrections.attributes().collect::<Vec<_>>(),
        "corrections": {
            "assignee": corrections.assignee.as_deref().unwrap_or(""),
            "candidateGroupsList": corrections.candidate_groups.as_deref().unwrap_or_default(),
            "candidateUsersList": corrections.candidate_users.as_deref().unwrap_or_default(),
            "dueDate": corrections.due_date.as_deref().unwrap_or(""),
            "followUpDate": corrections.follow_up_date.as_deref().unwrap_or(""),
            "priority": corrections.priority.unwrap_or(-1),
        },
        "activateElements": activate_elements(&result.activate_elements),
        "cancelRemainingInstances": result.cancel_remaining_instances,
        "completionConditionFulfilled": result.completion_condition_fulfilled,
    })
}

fn process_instance(key: Key, v: ProcessInstanceValue, names: &Names<'_>) -> Value {
    let element = names.of(v.process_definition_key, v.element);
    let started = names.started(v.process_instance_key);
    // A sequence flow is not an element instance: its path is that of its scope.
    let is_flow = element.element_type == "SEQUENCE_FLOW";
    let place = if is_flow { v.flow_scope_key } else { key };
    let value = json!({
        "bpmnElementType": element.element_type,
        "bpmnEventType": element.event_type,
        "bpmnProcessId": element.bpmn_process_id,
        "version": element.version,
        "elementId": element.element_id,
        "elementInstanceKey": key,
        "flowScopeKey": v.flow_scope_key,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "parentProcessInstanceKey": v.parent_process_instance_key,
        "parentElementInstanceKey": v.parent_element_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "businessId": started.business_id,
        "tags": started.tags,
    });
    names.with_path(value, place)
}

fn incident(v: IncidentValue, names: &Names<'_>) -> Value {
    let element = names.of(v.process_definition_key, v.element);
    let value = json!({
        "errorType": v.error_type,
        "errorMessage": v.error_message,
        "bpmnProcessId": element.bpmn_process_id,
        "elementId": element.element_id,
        "elementInstanceKey": v.element_instance_key,
        "jobKey": v.job_key,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "variableScopeKey": v.variable_scope_key,
    });
    names.with_path(value, v.element_instance_key)
}

fn job_batch(v: JobBatchValue, names: &Names<'_>) -> Value {
    let known = v.job_keys.iter().filter_map(|key| {
        let value = JobValue {
            worker: v.worker.clone(),
            deadline: v.deadline,
            ..names.0.lineage().job_value(*key)?.clone()
        };
        Some(job(value, names))
    });
    let jobs: Vec<Value> = known.collect();
    let tenants: Vec<String> = v.tenants.iter().map(|id| id.to_string()).collect();
    json!({
        "type": v.job_type,
        "worker": v.worker,
        "timeout": v.timeout,
        "maxJobsToActivate": v.max_jobs_to_activate,
        "jobKeys": v.job_keys,
        "jobs": jobs,
        "truncated": v.truncated,
        "tenantIds": tenants,
        "tenantFilter": v.tenants.filter.name(),
    })
}

fn timer(v: TimerValue, names: &Names<'_>) -> Value {
    let target = names.of(v.process_definition_key, v.target_element);
    json!({
        "elementInstanceKey": v.element_instance_key,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "targetElementId": target.element_id,
        "dueDate": v.due_date,
        "repetitions": v.repetitions,
    })
}

fn variable_element(v: VariableElementValue, names: &Names<'_>) -> Value {
    let process = names.of(v.process_definition_key, 0);
    json!({
        "name": v.name,
        "index": v.index,
        "value": v.value,
        "scopeKey": v.scope_key,
        "elementInstanceKey": v.scope_key,
        "bpmnProcessId": process.bpmn_process_id,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
    })
}

fn variable(v: VariableValue, names: &Names<'_>) -> Value {
    let process = names.of(v.process_definition_key, 0);
    json!({
        "name": v.name,
        "value": v.value,
        "scopeKey": v.scope_key,
        "elementInstanceKey": v.scope_key,
        "bpmnProcessId": process.bpmn_process_id,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "source": {"type": "UNKNOWN"},
    })
}

fn variable_document(v: VariableDocumentValue, names: &Names<'_>) -> Value {
    json!({
        "scopeKey": v.scope_key,
        "updateSemantics": if v.local { "LOCAL" } else { "PROPAGATE" },
        "variables": object(&v.variables),
        "tenantId": names.tenant_of_instance(v.scope_key).as_str(),
    })
}

fn process_instance_creation(v: ProcessInstanceCreationValue, names: &Names<'_>) -> Value {
    let id = |element: &u32| names.of(v.process_definition_key, *element).element_id;
    let start: Vec<Value> = v
        .start_elements
        .iter()
        .map(|e| json!({"elementId": id(e)}))
        .collect();
    let runtime: Vec<Value> = v
        .terminate_after
        .iter()
        .map(|e| json!({"type": "TERMINATE_PROCESS_INSTANCE", "afterElementId": id(e)}))
        .collect();
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "version": v.version,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "elementInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.process_instance_key,
        "startInstructions": start,
        "runtimeInstructions": runtime,
        "variables": object(names.0.lineage().creation_variables(v.process_instance_key)),
        "tags": v.tags,
        "businessId": v.business_id.unwrap_or_default(),
    })
}

fn error(v: ErrorValue) -> Value {
    json!({
        "errorEventPosition": v.error_event_position,
        "exceptionMessage": v.exception_message,
        "processInstanceKey": v.process_instance_key,
        "stacktrace": v.stacktrace,
    })
}

fn runtime_instruction(v: RuntimeInstructionValue, names: &Names<'_>) -> Value {
    let element = names.of(v.process_definition_key, v.element);
    json!({
        "elementId": element.element_id,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": v.process_definition_key,
    })
}

fn cluster_variable(v: ClusterVariableValue) -> Value {
    let (scope, tenant) = match &v.tenant {
        Some(tenant) => ("TENANT", tenant.as_str()),
        None => ("GLOBAL", ""),
    };
    json!({
        "name": v.name,
        "scope": scope,
        "tenantId": tenant,
        "value": v.value,
    })
}

fn global_listener(key: Key, v: GlobalListenerValue) -> Value {
    let events = v.events.iter().map(|event| event.name());
    json!({
        "globalListenerKey": key,
        "id": v.id,
        "type": v.job_type,
        "retries": v.retries,
        "eventTypes": events.collect::<Vec<_>>(),
        "afterNonGlobal": v.after_non_global,
        "priority": v.priority,
        "listenerType": "USER_TASK",
        "source": "API",
        "configKey": Key::NONE,
    })
}

fn user_task(key: Key, v: UserTaskValue, names: &Names<'_>) -> Value {
    let element = names.of(v.process_definition_key, v.element);
    let headers: Value = serde_json::from_str(&element.custom_headers).unwrap_or(json!({}));
    let changed = v.changed.iter().map(|attribute| attribute.name());
    json!({
        "userTaskKey": key,
        "assignee": v.attributes.assignee,
        "candidateGroupsList": v.attributes.candidate_groups,
        "candidateUsersList": v.attributes.candidate_users,
        "dueDate": v.attributes.due_date,
        "followUpDate": v.attributes.follow_up_date,
        "priority": v.attributes.priority,
        "formKey": v.form_key,
        "externalFormReference": v.external_form_reference,
        "changedAttributes": changed.collect::<Vec<_>>(),
        "action": v.action,
        "variables": object(&v.variables),
        "deniedReason": v.denied_reason,
        "customHeaders": headers,
        "creationTimestamp": v.creation_timestamp,
        "elementId": element.element_id,
        "elementInstanceKey": v.element_instance_key,
        "bpmnProcessId": element.bpmn_process_id,
        "processDefinitionKey": v.process_definition_key,
        "processDefinitionVersion": element.version,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "tags": names.started(v.process_instance_key).tags,
    })
}

fn process_instance_result(v: ProcessInstanceResultValue, names: &Names<'_>) -> Value {
    let started = names.started(v.process_instance_key);
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "version": v.version,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "businessId": started.business_id,
        "tags": started.tags,
        "variables": object(&v.variables),
    })
}

fn process(v: ProcessValue) -> Value {
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "version": v.version,
        "versionTag": v.version_tag.as_deref().unwrap_or(""),
        "processDefinitionKey": v.process_definition_key,
        "deploymentKey": v.deployment_key,
        "resourceName": v.resource_name,
        "resource": base64(&v.resource),
        "checksum": base64(&v.checksum),
        "duplicate": false,
        "tenantId": v.tenant.as_str(),
    })
}

fn process_event(v: ProcessEventValue, names: &Names<'_>) -> Value {
    let target = names.of(v.process_definition_key, v.target_element);
    json!({
        "scopeKey": v.scope_key,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "targetElementId": target.element_id,
        "variables": object(&v.variables),
    })
}

fn resource_deletion(v: ResourceDeletionValue) -> Value {
    let mut value = json!({
        "resourceKey": v.resource_key,
        "resourceId": v.resource_id,
        "resourceType": v.kind.as_str(),
        "deleteHistory": v.delete_history,
        "batchOperationKey": v.batch_operation.map_or(Key::NONE, |(key, _)| key),
        "tenantId": v.tenant.as_str(),
    });
    // It has no value for "none".
    if let Some((_, kind)) = v.batch_operation {
        let name = kind.as_str();
        super::set(&mut value, "batchOperationType", name.into());
    }
    value
}

fn command_distribution(v: CommandDistributionValue) -> Value {
    let value_type = ValueType::from_id(v.value_type);
    json!({
        "partitionId": v.partition_id,
        "valueType": value_type.map_or("NULL_VAL", ValueType::name),
        "intent": value_type.map_or("UNKNOWN", |t| t.intent_name(v.intent)),
        "queueId": "",
        "commandValue": {},
    })
}

/// Base64 with padding (RFC 4648).
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0u8; 4];
        for (place, byte) in group.iter_mut().skip(1).zip(chunk) {
            *place = *byte;
        }
        let bits = u32::from_be_bytes(group);
        for i in 0..4 {
            let index = (bits >> (18 - 6 * i)) & 63;
            let digit = ALPHABET.get(index as usize);
            let digit = digit.filter(|_| i <= chunk.len()).unwrap_or(&b'=');
            out.push(char::from(*digit));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_pads() {
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(super::base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn variables_as_deep_as_they_may_be_are_shown() {
        let depth = crate::document::MAX_DEPTH as usize;
        let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let shown = super::object(&[("v".into(), text.as_str().into())]);
        assert_eq!(shown.to_string(), format!("{{\"v\":{text}}}"));
    }
}
