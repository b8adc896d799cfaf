//! DECISION_EVALUATION: decisions are evaluated for clients and for business rule tasks.

use std::sync::Arc;

use skep_dmn::{DecisionResult, EvaluationFailure};
use skep_feel::Value;
use skep_protocol::command::{DecisionRef, EvaluateDecision};
use skep_protocol::document::JsonText;
use skep_protocol::intent::DecisionEvaluationIntent as Intent;
use skep_protocol::value::{
    DecisionEvaluationValue, DecisionFailure, DecisionValue, EvaluatedDecision, EvaluatedValue,
    MatchedRule,
};
use skep_protocol::{Key, RejectionType, Response};

use crate::evaluation::{AskedDecision, DecisionOutcome, Evaluation, PendingEvaluation};
use crate::prepared::{Kind, Prepared};
use crate::processing::bpmn::Subject;
use crate::processing::{Context, Named, Outcome, expression, reject};
use crate::state::decisions::DeployedDecisions;

/// DECISION_EVALUATION EVALUATE: a client evaluates a decision with the variables that it sends.
pub(crate) fn process(cx: &mut Context<'_>, command: &EvaluateDecision) -> Outcome {
    let decisions = &mut cx.state.decisions.decisions;
    let (key, what) = match &command.decision {
        DecisionRef::Key(key) => (Some(*key), format!("key '{key}'")),
        DecisionRef::Id(id) => (decisions.latest(&cx.tenant, id), format!("id '{id}'")),
    };
    let decision = key.and_then(|key| decisions.get(key));
    let decision = decision.filter(|found| found.tenant == cx.tenant).cloned();
    let Some(decision) = decision else {
        return Err(reject(
            RejectionType::NotFound,
            "EVALUATE",
            format!("Expected to evaluate decision, but no decision found for {what}"),
        ));
    };
    let outcome = match cx.prepared.take() {
        Some(Prepared(Kind::Decision(of, outcome))) if of == decision.key => outcome,
        _ => match evaluate_or_put_off(cx, &decision, command) {
            Some(outcome) => outcome,
            None => return Ok(None),
        },
    };
    let evaluated = outcome.and_then(|result| write_down(cx, &decision, result));
    let (key, evaluation) = record(cx, &decision, None, evaluated);
    Ok(Some(Response::DecisionEvaluated {
        key,
        evaluation: Box::new(evaluation),
    }))
}

/// Evaluates the decision. `None`: it takes long, and is deferred.
fn evaluate_or_put_off(
    cx: &mut Context<'_>,
    decision: &DecisionValue,
    command: &EvaluateDecision,
) -> Option<DecisionOutcome> {
    let deployed = match deployed(cx, decision) {
        Ok(deployed) => deployed,
        Err(reason) => return Some(Err(reason)),
    };
    let asked = AskedDecision {
        key: decision.key,
        id: decision.id.clone(),
        deployed,
        variables: expression::given(cx, command.variables.entries(), &decision.tenant),
        context: expression::eval_context(cx),
    };
    let outcome = asked.result_within(cx.config.short_evaluation);
    if outcome.is_none() {
        cx.volatile.evaluation = Some(Evaluation(PendingEvaluation::Decision(asked)));
    }
    outcome
}

/// Evaluates a decision with the variables visible to an element.
pub(crate) fn evaluate_for_element(
    cx: &mut Context<'_>,
    decision: &DecisionValue,
    el: &Subject,
) -> DecisionEvaluationValue {
    let evaluated = evaluate_with_visible(cx, decision, el.key);
    record(cx, decision, Some(el), evaluated).1
}

fn evaluate_with_visible(
    cx: &mut Context<'_>,
    decision: &DecisionValue,
    scope: Key,
) -> Result<Evaluated, String> {
    let deployed = deployed(cx, decision)?;
    let graph = deployed.graph.as_ref().map_err(String::clone)?;
    let variables = expression::visible(cx, graph.variables(), scope, &Named::default());
    let context = expression::eval_context(cx);
    let result = graph.evaluate(&decision.id, &variables, &context);
    let steps = match &result {
        Ok(result) => result.steps,
        Err(failure) => failure.steps,
    };
    cx.budget.take_evaluation(steps);
    write_down(cx, decision, result)
}

/// Records the outcome of an evaluation.
fn record(
    cx: &mut Context<'_>,
    decision: &DecisionValue,
    el: Option<&Subject>,
    evaluated: Result<Evaluated, String>,
) -> (Key, DecisionEvaluationValue) {
    let mut value = DecisionEvaluationValue {
        decision_key: decision.key,
        decision_id: decision.id.clone(),
        decision_name: decision.name.clone(),
        decision_version: decision.version,
        decision_requirements_id: decision.decision_requirements_id.clone(),
        decision_requirements_key: decision.decision_requirements_key,
        output: "null".into(),
        evaluated_decisions: Vec::new(),
        failure: None,
        process_definition_key: el.map_or(Key::NONE, |el| el.process.key),
        process_instance_key: el.map_or(Key::NONE, |el| el.value.process_instance_key),
        root_process_instance_key: el.map_or(Key::NONE, |el| el.value.root_process_instance_key),
        element: el.map_or(0, |el| el.value.element),
        element_instance_key: el.map_or(Key::NONE, |el| el.key),
        tenant: decision.tenant.clone(),
    };
    match evaluated {
        Ok(outcome) => {
            value.output = outcome.output;
            value.evaluated_decisions = outcome.evaluated;
            value.failure = outcome.failure;
        }
        Err(message) => {
            value.failure = Some(DecisionFailure {
                decision_id: decision.id.clone(),
                message,
            });
        }
    }
    let intent = match value.failure {
        None => Intent::Evaluated,
        Some(_) => Intent::Failed,
    };
    let key = cx.next_key();
    cx.event(key, intent, &value);
    (key, value)
}

struct Evaluated {
    output: JsonText,
    evaluated: Vec<EvaluatedDecision>,
    failure: Option<DecisionFailure>,
}

fn deployed(cx: &Context<'_>, decision: &DecisionValue) -> Result<Arc<DeployedDecisions>, String> {
    let compiled = cx
        .state
        .decisions
        .compiled(decision.decision_requirements_key);
    compiled.ok_or_else(|| format!("The decision '{}' is being deleted.", decision.id))
}

/// # Errors
/// If the file of the decision cannot be evaluated, with the reason.
fn write_down(
    cx: &mut Context<'_>,
    decision: &DecisionValue,
    result: Result<DecisionResult, EvaluationFailure>,
) -> Result<Evaluated, String> {
    let requirements = decision.decision_requirements_key;
    let deployed = deployed(cx, decision)?;
    let graph = deployed.graph.as_ref().map_err(String::clone)?;
    let (output, audit, failure) = match result {
        Ok(result) => (result.output, result.evaluated, None),
        Err(EvaluationFailure {
            decision_id,
            message,
            evaluated,
            ..
        }) => {
            let failure = DecisionFailure {
                decision_id,
                message,
            };
            (Value::Null, evaluated, Some(failure))
        }
    };
    let mut writer = Writer {
        most: cx.config.max_message_size,
        room: cx.config.max_message_size,
    };
    let output = writer.json(&output)?;
    let mut evaluated = Vec::with_capacity(audit.len());
    for one in &audit {
        let position = graph.position(&one.id);
        let key = position.and_then(|at| cx.state.decisions.of(requirements).get(at).copied());
        let row = key.and_then(|key| cx.state.decisions.decisions.get(key));
        let version = row.map_or(-1, |row| row.version);
        evaluated.push(writer.decision(one, key.unwrap_or(Key::NONE), version)?);
    }
    Ok(Evaluated {
        output,
        evaluated,
        failure,
    })
}

/// Writes values as JSON while there is room: all of an evaluation goes into one record and one answer.
struct Writer {
    most: usize,
    room: usize,
}

impl Writer {
    fn json(&mut self, value: &Value) -> Result<JsonText, String> {
        let json = value.to_json_within(self.room as u64);
        let json = json.ok_or_else(|| self.too_large())?;
        self.take(json.len())?;
        Ok(json.into())
    }

    fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.room = self
            .room
            .checked_sub(bytes)
            .ok_or_else(|| self.too_large())?;
        Ok(())
    }

    fn too_large(&self) -> String {
        format!(
            "The inputs and outputs of the evaluated decisions have more than {} bytes, the size of the largest message. Let \
             the decision read and return less.",
            self.most
        )
    }

    fn decision(
        &mut self,
        one: &skep_dmn::EvaluatedDecision,
        key: Key,
        version: i32,
    ) -> Result<EvaluatedDecision, String> {
        self.take(one.id.len() + one.name.len())?;
        let output = self.json(&one.output)?;
        let inputs = one.inputs.iter();
        let inputs = inputs.map(|input| self.value(&input.id, &input.name, &input.value));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let mut matched_rules = Vec::with_capacity(one.matched_rules.len());
        for rule in &one.matched_rules {
            self.take(rule.id.len() + size_of::<MatchedRule>())?;
            let outputs = rule.outputs.iter();
            let outputs = outputs.map(|output| self.value(&output.id, &output.name, &output.value));
            matched_rules.push(MatchedRule {
                id: rule.id.clone(),
                index: u32::try_from(rule.index).unwrap_or(u32::MAX),
                outputs: outputs.collect::<Result<_, _>>()?,
            });
        }
        Ok(EvaluatedDecision {
            key,
            id: one.id.clone(),
            name: one.name.clone(),
            version,
            decision_type: one.decision_type.as_str().into(),
            output,
            inputs,
            matched_rules,
        })
    }

    fn value(
        &mut self,
        id: &Arc<str>,
        name: &Arc<str>,
        value: &Value,
    ) -> Result<EvaluatedValue, String> {
        self.take(id.len() + name.len())?;
        Ok(EvaluatedValue {
            id: id.clone(),
            name: name.clone(),
            value: self.json(value)?,
        })
    }
}
