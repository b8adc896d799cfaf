//! Decision evaluations.

use std::fmt::Write as _;
use std::sync::Arc;

use skep_protocol::intent::DecisionEvaluationIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{DecisionEvaluationValue, EvaluatedDecision, EvaluatedValue};
use skep_query::entities::{self, DECISION_INSTANCE};
use skep_query::{Value, answer};

use super::{Projection, intent_of, key, usage, word};
use crate::changes::{Completion, set};

pub fn evaluated(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<DecisionEvaluationValue>(record)?;
    if !matches!(intent, Intent::Evaluated | Intent::Failed) {
        return Ok(());
    }
    let value: DecisionEvaluationValue = record.value()?;
    let tenant = Value::text(value.tenant.as_str());
    usage::decisions(to, record, &tenant, value.evaluated_decisions.len());
    for (at, decision) in value.evaluated_decisions.iter().enumerate() {
        instance(to, record, &value, (at, decision));
    }
    Ok(())
}

fn instance(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &DecisionEvaluationValue,
    (at, decision): (usize, &EvaluatedDecision),
) {
    let id: Arc<str> = decision.instance_key(record.key, at).into();
    let (row, _) = to
        .changes
        .text_row(const { entities::number(&DECISION_INSTANCE) }, &id);
    if value.process_instance_key.some().is_some() {
        let completions = &mut to.changes.completions;
        completions.push(Completion::DecisionInstance(row));
    }
    // All decisions before the failed one were evaluated.
    let is_last = at + 1 == value.evaluated_decisions.len();
    let failure = value.failure.as_ref();
    let failure = failure.filter(|failure| is_last && failure.decision_id == decision.id);
    set!(to.changes, DECISION_INSTANCE, row, {
        "decisionEvaluationInstanceKey": Value::Text(id),
        "state": word(if failure.is_some() { "FAILED" } else { "EVALUATED" }),
        "evaluationFailure": failure.map_or(Value::Null, |failure| Value::text(&failure.message)),
        "evaluationDate": Value::Int(record.timestamp),
        "decisionDefinitionId": Value::Text(decision.id.clone()),
        "decisionDefinitionName": Value::Text(decision.name.clone()),
        "decisionDefinitionVersion": Value::Int(decision.version.into()),
        "decisionDefinitionType": Value::Text(decision.decision_type.clone()),
        "tenantId": Value::text(value.tenant.as_str()),
        "decisionEvaluationKey": key(record.key),
        "processDefinitionKey": key(value.process_definition_key),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "decisionDefinitionKey": key(decision.key),
        "elementInstanceKey": key(value.element_instance_key),
        "rootDecisionDefinitionKey": key(value.decision_key),
        "decisionRequirementsKey": key(value.decision_requirements_key),
        "result": Value::Text(decision.output.clone()),
        "evaluatedInputs": inputs(&decision.inputs),
        "matchedRules": rules(decision),
    });
}

fn inputs(inputs: &[EvaluatedValue]) -> Value {
    let mut out = String::from("[");
    for (n, input) in inputs.iter().enumerate() {
        out.push_str(if n > 0 { ",{" } else { "{" });
        named("input", input, &mut out);
        out.push('}');
    }
    out.push(']');
    Value::text(&out)
}

fn rules(decision: &EvaluatedDecision) -> Value {
    let mut out = String::from("[");
    for (n, rule) in decision.matched_rules.iter().enumerate() {
        let mut id = String::new();
        answer::write_text(&rule.id, &mut id);
        let of_rule = format!("\"ruleId\":{id},\"ruleIndex\":{}", rule.index);
        let _ = write!(
            out,
            "{}{{{of_rule},\"evaluatedOutputs\":[",
            if n > 0 { "," } else { "" }
        );
        for (n, output) in rule.outputs.iter().enumerate() {
            out.push_str(if n > 0 { ",{" } else { "{" });
            named("output", output, &mut out);
            let _ = write!(out, ",{of_rule}}}");
        }
        out.push_str("]}");
    }
    out.push(']');
    Value::text(&out)
}

/// Writes `"inputId":…,"inputName":…,"inputValue":…`; the value is JSON text.
fn named(kind: &str, value: &EvaluatedValue, out: &mut String) {
    for (n, (part, text)) in [
        ("Id", &value.id),
        ("Name", &value.name),
        ("Value", &value.value),
    ]
    .into_iter()
    .enumerate()
    {
        let _ = write!(out, "{}\"{kind}{part}\":", if n > 0 { "," } else { "" });
        answer::write_text(text, out);
    }
}
