//! Results of decisions.

use serde_json::{Value, json};

use super::names::Names;
use crate::key::Key;
use crate::tenant::TenantId;
use crate::value::{DecisionEvaluationValue, EvaluatedDecision, EvaluatedValue};

pub(super) fn render(key: Key, v: DecisionEvaluationValue, names: &Names<'_>) -> Value {
    let element = match v.process_definition_key.some() {
        Some(definition) => names.of(definition, v.element),
        None => Default::default(),
    };
    let evaluated = v.evaluated_decisions.iter().enumerate();
    let evaluated: Vec<Value> = evaluated
        .map(|(at, decision)| evaluated_decision((key, at), decision, &v.tenant))
        .collect();
    let failure = v.failure.as_ref();
    json!({
        "decisionKey": v.decision_key,
        "decisionId": v.decision_id,
        "decisionName": v.decision_name,
        "decisionVersion": v.decision_version,
        "decisionRequirementsId": v.decision_requirements_id,
        "decisionRequirementsKey": v.decision_requirements_key,
        "decisionOutput": v.output,
        "evaluatedDecisions": evaluated,
        "failedDecisionId": failure.map_or("", |failure| &failure.decision_id),
        "evaluationFailureMessage": failure.map_or("", |failure| &failure.message),
        "variables": {},
        "bpmnProcessId": element.bpmn_process_id,
        "elementId": element.element_id,
        "elementInstanceKey": v.element_instance_key,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "tenantId": v.tenant.as_str(),
    })
}

fn evaluated_decision(
    (evaluation, at): (Key, usize),
    decision: &EvaluatedDecision,
    tenant: &TenantId,
) -> Value {
    let rules = decision.matched_rules.iter().map(|rule| {
        json!({
            "ruleId": rule.id,
            "ruleIndex": rule.index,
            "evaluatedOutputs": values(&rule.outputs, ["outputId", "outputName", "outputValue"]),
        })
    });
    json!({
        "decisionId": decision.id,
        "decisionName": decision.name,
        "decisionKey": decision.key,
        "decisionVersion": decision.version,
        "decisionType": decision.decision_type,
        "decisionOutput": decision.output,
        "decisionEvaluationInstanceKey": decision.instance_key(evaluation, at),
        "evaluatedInputs": values(&decision.inputs, ["inputId", "inputName", "inputValue"]),
        "matchedRules": rules.collect::<Vec<_>>(),
        "tenantId": tenant.as_str(),
    })
}

fn values(all: &[EvaluatedValue], [id, name, value]: [&str; 3]) -> Vec<Value> {
    let values = all.iter();
    values
        .map(|v| json!({id: v.id, name: v.name, value: v.value}))
        .collect()
}
