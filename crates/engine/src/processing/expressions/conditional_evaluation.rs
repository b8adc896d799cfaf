//! CONDITIONAL_EVALUATION EVALUATE: evaluates the conditions of start events with a client's variables. An instance starts
//! on this partition for each condition that is true: every partition has these subscriptions.

use skep_feel::{Evaluation, Value};
use skep_model::{ElementIndex, ElementKind};
use skep_protocol::command::EvaluateConditionals;
use skep_protocol::intent::ConditionalEvaluationIntent as Intent;
use skep_protocol::value::{ConditionalEvaluationValue, Step};
use skep_protocol::{Key, RejectionType, Response, TenantId};

use crate::processing::bpmn::subscriptions::{conditional, start};
use crate::processing::{Context, Named, Outcome, expression, reject};
use crate::remote::Variables;
use crate::state::subscriptions::StartsEvaluation;
use crate::state::table::weight_of;
use skep_protocol::response::ConditionalsEvaluated;

pub(crate) fn process(cx: &mut Context<'_>, command: &EvaluateConditionals) -> Outcome {
    let tenant = cx.tenant.clone();
    if let Some(key) = command.process_definition_key {
        let process = cx.state.processes.startable(key);
        if process.is_none_or(|process| process.tenant != tenant) {
            return Err(not_found(key, &tenant));
        }
    }
    let definition = command.process_definition_key.unwrap_or(Key::NONE);
    let mut evaluation = StartsEvaluation {
        process_definition_key: definition,
        last: cx.state.conditions.newest_start(&tenant, definition),
        tenant,
        variables: command.variables.entries().to_vec(),
        started: Vec::new(),
    };
    let key = cx.new_key();
    let Some(after) = go_through(cx, &mut evaluation, Key::NONE) else {
        return Ok(Some(end(cx, key, evaluation)));
    };
    let value = value_of(evaluation);
    cx.event(key, Intent::Continued, &value);
    let evaluation = key;
    cx.steps.push(Step::EvaluateStarts { evaluation, after });
    if let Some(request) = cx.request {
        cx.volatile.awaiting_evaluations.insert(key, request);
    }
    Ok(None)
}

fn not_found(key: Key, tenant: &TenantId) -> skep_protocol::Rejection {
    reject(
        RejectionType::NotFound,
        "EVALUATE",
        format!(
            "Expected to evaluate the conditions of the process definition with key '{key}' for tenant '{tenant}', but no \
             such process definition was found"
        ),
    )
}

/// Runs the next turn of an evaluation of very many conditions.
pub(crate) fn go_on(cx: &mut Context<'_>, key: Key, after: Key) {
    let Some(mut evaluation) = cx.state.conditions.evaluations.get(key).cloned() else {
        return;
    };
    let before = std::mem::take(&mut evaluation.started);
    match go_through(cx, &mut evaluation, after) {
        Some(after) => {
            evaluation.variables = Variables::new();
            let value = value_of(evaluation);
            cx.event(key, Intent::Continued, &value);
            let evaluation = key;
            cx.steps.again(Step::EvaluateStarts { evaluation, after });
        }
        None => {
            evaluation.started.splice(0..0, before);
            let answer = end(cx, key, evaluation);
            if let Some(request) = cx.volatile.awaiting_evaluations.remove(&key) {
                cx.respond(request, Ok(answer));
            }
        }
    }
}

fn value_of(evaluation: StartsEvaluation) -> ConditionalEvaluationValue {
    ConditionalEvaluationValue {
        process_definition_key: evaluation.process_definition_key,
        tenant: evaluation.tenant,
        variables: evaluation.variables,
        started: evaluation.started,
        last: evaluation.last,
    }
}

fn end(cx: &mut Context<'_>, key: Key, evaluation: StartsEvaluation) -> Response {
    let value = value_of(evaluation);
    cx.event(key, Intent::Evaluated, &value);
    Response::ConditionalsEvaluated(ConditionalsEvaluated {
        key,
        tenant: value.tenant,
        started: value.started,
    })
}

/// Minimum number of conditions evaluated in one turn, unless the variables are large ([`LARGE`], in bytes): each instance
/// gets a copy of them.
const TOGETHER: usize = 10;
const LARGE: usize = 64 << 10;

/// Evaluates conditions after `after`, as far as this turn goes. Returns the last one evaluated if there are more.
fn go_through(
    cx: &mut Context<'_>,
    evaluation: &mut StartsEvaluation,
    mut after: Key,
) -> Option<Key> {
    let together = if weight_of(&evaluation.variables) > LARGE {
        1
    } else {
        TOGETHER
    };
    let variables = expression::given(cx, &evaluation.variables, &evaluation.tenant);
    let mut evaluated = 0;
    loop {
        let (definition, last) = (evaluation.process_definition_key, evaluation.last);
        let conditions = &cx.state.conditions;
        let next = conditions.next_start(&evaluation.tenant, definition, after, last)?;
        if evaluated >= together && cx.is_spent() {
            return Some(after);
        }
        cx.budget.take_step();
        if let Some(started) = start_by(cx, next, &variables, evaluation) {
            evaluation.started.push(started);
        }
        after = next;
        evaluated += 1;
    }
}

fn start_by(
    cx: &mut Context<'_>,
    subscription: Key,
    variables: &Named,
    evaluation: &StartsEvaluation,
) -> Option<(Key, Key)> {
    let row = cx.state.conditions.get(subscription)?;
    let (definition, target) = (row.process_definition_key, ElementIndex(row.catch_event));
    let process = cx.process(definition)?;
    let event = process.graph.elements.get(target.get())?;
    if matches!(event.kind, ElementKind::Unusable(_)) {
        return None;
    }
    let condition = conditional::condition_of(event)?;
    let context = expression::eval_context(cx);
    let Evaluation { value, steps, .. } = condition.expression.evaluate(variables, &context);
    cx.budget.take_evaluation(steps);
    if !matches!(value, Value::Boolean(true)) {
        return None;
    }
    let instance = cx.new_key();
    let variables = evaluation.variables.clone();
    start::begin_later(cx, (definition, target), instance, variables);
    Some((definition, instance))
}
