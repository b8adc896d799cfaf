//! The values of conditional events.

use serde_json::{Value, json};

use super::names::Names;
use super::values::object;
use crate::value::{ConditionCheckValue, ConditionalEvaluationValue, ConditionalSubscriptionValue};

pub(super) fn subscription(v: ConditionalSubscriptionValue, names: &Names<'_>) -> Value {
    let catch_event = names.of(v.process_definition_key, v.catch_event);
    json!({
        "bpmnProcessId": v.bpmn_process_id,
        "catchEventId": catch_event.element_id,
        "condition": v.condition,
        "elementInstanceKey": v.element_instance_key,
        "interrupting": v.interrupting,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "scopeKey": v.scope_key,
        "tenantId": v.tenant.as_str(),
        "variableEvents": v.variable_events,
        "variableNames": v.variable_names,
    })
}

pub(super) fn evaluation(v: ConditionalEvaluationValue) -> Value {
    let started = v.started.iter();
    let started = started.map(|(definition, instance)| {
        json!({"processDefinitionKey": definition, "processInstanceKey": instance})
    });
    json!({
        "processDefinitionKey": v.process_definition_key,
        "startedProcessInstances": started.collect::<Vec<Value>>(),
        "tenantId": v.tenant.as_str(),
        "variables": object(&v.variables),
    })
}

pub(super) fn check(v: ConditionCheckValue) -> Value {
    let changes = v.changes.iter();
    let changes = changes.map(|(name, is_new)| json!({"name": name, "isNew": is_new}));
    json!({
        "changes": changes.collect::<Vec<Value>>(),
        "processInstanceKey": v.process_instance_key,
        "scopeKey": v.scope_key,
    })
}
