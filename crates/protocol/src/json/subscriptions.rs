//! The values of subscriptions of definitions, and of compensation.

use serde_json::{Value, json};

use super::names::Names;
use super::values::object;
use crate::value::{
    CompensationSubscriptionValue, EscalationValue, MessageStartEventSubscriptionValue,
    SignalSubscriptionValue, SignalValue,
};

pub(super) fn message_start(v: MessageStartEventSubscriptionValue, names: &Names<'_>) -> Value {
    let start_event = names.of(v.process_definition_key, v.start_event);
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "correlationKey": v.correlation_key,
        "messageKey": v.message_key,
        "messageName": v.message_name,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "startEventId": start_event.element_id,
        "variables": object(&v.variables),
        "tenantId": v.tenant.as_str(),
    })
}

pub(super) fn signal_subscription(v: SignalSubscriptionValue, names: &Names<'_>) -> Value {
    let catch_event = names.of(v.process_definition_key, v.catch_event);
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "catchEventId": catch_event.element_id,
        "catchEventInstanceKey": v.catch_event_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "signalName": v.signal_name,
        "tenantId": v.tenant.as_str(),
    })
}

pub(super) fn signal(v: SignalValue) -> Value {
    json!({
        "signalName": v.signal_name,
        "tenantId": v.tenant.as_str(),
        "variables": object(&v.variables),
    })
}

pub(super) fn escalation(v: EscalationValue, names: &Names<'_>) -> Value {
    let throw = names.of(v.process_definition_key, v.throw_element);
    let catch = v.catch_element.map(|(key, element)| names.of(key, element));
    json!({
        "processInstanceKey": v.process_instance_key,
        "escalationCode": v.escalation_code,
        "throwElementId": throw.element_id,
        "catchElementId": catch.unwrap_or_default().element_id,
        "tenantId": names.tenant(v.process_definition_key).as_str(),
    })
}

pub(super) fn compensation(v: CompensationSubscriptionValue, names: &Names<'_>) -> Value {
    let id = |element: Option<u32>| match element {
        Some(element) => names.of(v.process_definition_key, element).element_id,
        None => String::new(),
    };
    json!({
        "compensableActivityId": id(Some(v.activity)),
        "compensableActivityInstanceKey": v.activity_instance_key,
        "compensableActivityScopeKey": v.scope_key,
        "compensationHandlerId": id(v.handler),
        "compensationHandlerInstanceKey": v.handler_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "throwEventId": id(v.thrower),
        "throwEventInstanceKey": v.thrower_instance_key,
        "variables": {},
    })
}
