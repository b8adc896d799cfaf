//! Results of decisions.

use skep_protocol::value::{DecisionEvaluationValue, EvaluatedDecision, MatchedRule};
use skep_protocol::{Key, TenantId};

use crate::rest::json::Object;

pub fn evaluation(out: &mut String, key: Key, evaluation: &DecisionEvaluationValue) {
    let failure = evaluation.failure.as_ref();
    Object::write(out, |o| {
        o.text("decisionDefinitionId", &evaluation.decision_id);
        o.key("decisionDefinitionKey", evaluation.decision_key);
        o.text("decisionDefinitionName", &evaluation.decision_name);
        o.number(
            "decisionDefinitionVersion",
            i64::from(evaluation.decision_version),
        );
        o.key("decisionEvaluationKey", key);
        o.key("decisionInstanceKey", key);
        o.text(
            "decisionRequirementsId",
            &evaluation.decision_requirements_id,
        );
        o.key(
            "decisionRequirementsKey",
            evaluation.decision_requirements_key,
        );
        let evaluated = evaluation.evaluated_decisions.iter().enumerate();
        o.array("evaluatedDecisions", evaluated, |out, (at, decision)| {
            let decision = (decision, &evaluation.tenant);
            Object::write(out, |o| evaluated_decision(o, key, at, decision));
        });
        o.optional_text(
            "failedDecisionDefinitionId",
            failure.map(|failure| &*failure.decision_id),
        );
        o.optional_text(
            "failureMessage",
            failure.map(|failure| failure.message.as_str()),
        );
        o.text("output", &evaluation.output);
        o.text("tenantId", evaluation.tenant.as_str());
    });
}

fn evaluated_decision(
    o: &mut Object,
    evaluation: Key,
    at: usize,
    (decision, tenant): (&EvaluatedDecision, &TenantId),
) {
    o.text("decisionDefinitionId", &decision.id);
    o.text("decisionDefinitionName", &decision.name);
    o.number("decisionDefinitionVersion", i64::from(decision.version));
    o.text("decisionDefinitionType", &decision.decision_type);
    o.text("output", &decision.output);
    o.text("tenantId", tenant.as_str());
    o.array("matchedRules", &decision.matched_rules, |out, rule| {
        Object::write(out, |o| matched_rule(o, rule));
    });
    o.array("evaluatedInputs", &decision.inputs, |out, input| {
        Object::write(out, |o| {
            o.text("inputId", &input.id);
            o.text("inputName", &input.name);
            o.text("inputValue", &input.value);
        });
    });
    o.key("decisionDefinitionKey", decision.key);
    o.text(
        "decisionEvaluationInstanceKey",
        &decision.instance_key(evaluation, at),
    );
}

fn matched_rule(o: &mut Object, rule: &MatchedRule) {
    o.text("ruleId", &rule.id);
    o.number("ruleIndex", i64::from(rule.index));
    o.array("evaluatedOutputs", &rule.outputs, |out, output| {
        Object::write(out, |o| {
            o.text("outputId", &output.id);
            o.text("outputName", &output.name);
            o.text("outputValue", &output.value);
            o.text("ruleId", &rule.id);
            o.number("ruleIndex", i64::from(rule.index));
        });
    });
}
