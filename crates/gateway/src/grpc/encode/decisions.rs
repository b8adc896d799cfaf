//! Results of decisions.

use skep_proto::gateway_protocol as pb;
use skep_protocol::value::{
    DecisionEvaluationValue, EvaluatedDecision, EvaluatedValue, MatchedRule,
};
use skep_protocol::{Key, TenantId};

pub fn evaluation(key: Key, evaluation: &DecisionEvaluationValue) -> pb::EvaluateDecisionResponse {
    let failure = evaluation.failure.as_ref();
    let evaluated = evaluation.evaluated_decisions.iter().enumerate();
    pb::EvaluateDecisionResponse {
        decision_key: evaluation.decision_key.0,
        decision_id: evaluation.decision_id.to_string(),
        decision_name: evaluation.decision_name.to_string(),
        decision_version: evaluation.decision_version,
        decision_requirements_id: evaluation.decision_requirements_id.to_string(),
        decision_requirements_key: evaluation.decision_requirements_key.0,
        decision_output: evaluation.output.to_string(),
        evaluated_decisions: evaluated
            .map(|(at, decision)| evaluated_decision(key, at, (decision, &evaluation.tenant)))
            .collect(),
        failed_decision_id: failure.map_or_else(String::new, |f| f.decision_id.to_string()),
        failure_message: failure.map_or_else(String::new, |f| f.message.clone()),
        tenant_id: evaluation.tenant.to_string(),
        decision_instance_key: key.0,
        decision_evaluation_key: key.0,
    }
}

fn evaluated_decision(
    evaluation: Key,
    at: usize,
    (decision, tenant): (&EvaluatedDecision, &TenantId),
) -> pb::EvaluatedDecision {
    pb::EvaluatedDecision {
        decision_key: decision.key.0,
        decision_id: decision.id.to_string(),
        decision_name: decision.name.to_string(),
        decision_version: decision.version,
        decision_type: decision.decision_type.to_string(),
        decision_output: decision.output.to_string(),
        matched_rules: decision.matched_rules.iter().map(matched_rule).collect(),
        evaluated_inputs: decision.inputs.iter().map(input).collect(),
        tenant_id: tenant.to_string(),
        decision_evaluation_instance_key: decision.instance_key(evaluation, at),
    }
}

fn input(input: &EvaluatedValue) -> pb::EvaluatedDecisionInput {
    pb::EvaluatedDecisionInput {
        input_id: input.id.to_string(),
        input_name: input.name.to_string(),
        input_value: input.value.to_string(),
    }
}

fn matched_rule(rule: &MatchedRule) -> pb::MatchedDecisionRule {
    let output = |output: &EvaluatedValue| pb::EvaluatedDecisionOutput {
        output_id: output.id.to_string(),
        output_name: output.name.to_string(),
        output_value: output.value.to_string(),
    };
    pb::MatchedDecisionRule {
        rule_id: rule.id.to_string(),
        rule_index: i32::try_from(rule.index).unwrap_or(i32::MAX),
        evaluated_outputs: rule.outputs.iter().map(output).collect(),
    }
}
