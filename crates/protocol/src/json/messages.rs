//! Messages, their subscriptions and their correlation.

use serde_json::{Value, json};

use super::names::Names;
use super::values::object;
use crate::value::{
    MessageCorrelationValue, MessageSubscriptionValue, MessageValue,
    ProcessMessageSubscriptionValue,
};

pub(super) fn message(v: MessageValue) -> Value {
    json!({
        "name": v.name,
        "correlationKey": v.correlation_key,
        "timeToLive": v.time_to_live,
        "deadline": v.deadline,
        "messageId": v.message_id,
        "variables": object(&v.variables),
        "tenantId": v.tenant.as_str(),
    })
}

pub(super) fn message_subscription(v: MessageSubscriptionValue) -> Value {
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "correlationKey": v.correlation_key,
        "elementInstanceKey": v.element_instance_key,
        "interrupting": v.interrupting,
        "messageKey": v.message_key,
        "messageName": v.message_name,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "variables": object(&v.variables),
        "tenantId": v.tenant.as_str(),
    })
}

pub(super) fn process_message_subscription(
    v: ProcessMessageSubscriptionValue,
    names: &Names<'_>,
) -> Value {
    let element = names.of(v.process_definition_key, v.element);
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "correlationKey": v.correlation_key,
        "elementId": element.element_id,
        "elementInstanceKey": v.element_instance_key,
        "interrupting": v.interrupting,
        "messageKey": v.message_key,
        "messageName": v.message_name,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": names.0.lineage().root(v.process_instance_key),
        "variables": object(&v.variables),
    })
}

/// The jobs are those that the reader has seen, without the variables that the worker got.
pub(super) fn message_correlation(v: MessageCorrelationValue) -> Value {
    json!({
        "name": v.name,
        "correlationKey": v.correlation_key,
        "messageKey": v.message_key,
        "processInstanceKey": v.process_instance_key,
        "processDefinitionKey": -1,
        "requestId": -1,
        "requestStreamId": -1,
        "variables": object(&v.variables),
        "tenantId": v.tenant.as_str(),
    })
}
