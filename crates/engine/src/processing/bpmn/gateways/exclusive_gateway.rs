//! Exclusive gateway: the first sequence flow whose condition holds, else the default.

use skep_feel::{Expression, Value};
use skep_model::{ElementIndex, ElementKind};
use skep_protocol::value::ErrorType;

use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::{Context, expression};

pub(crate) struct ExclusiveGateway;

impl ElementBehavior for ExclusiveGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let chosen = choose(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Leave(chosen.map(|flow| [flow].into_iter().collect())))
    }
}

/// The flow to leave by; none when the gateway is the last element.
fn choose(cx: &mut Context<'_>, el: &Subject) -> Result<Option<ElementIndex>, Problem> {
    let element = el.element();
    let ElementKind::ExclusiveGateway { default } = &element.kind else {
        return Err(crate::processing::bpmn::wrong_kind(cx, el));
    };
    for flow in &element.outgoing {
        if Some(*flow) == *default {
            continue;
        }
        let ElementKind::SequenceFlow(sequence_flow) = &el.process.graph.element(*flow).kind else {
            continue;
        };
        let Some(condition) = &sequence_flow.condition else {
            return Ok(Some(*flow));
        };
        if holds(cx, el, condition)? {
            return Ok(Some(*flow));
        }
    }
    match default {
        Some(flow) => Ok(Some(*flow)),
        None if element.outgoing.is_empty() => Ok(None),
        None => Err(no_way()),
    }
}

/// Whether the condition of a sequence flow holds for the gateway `el`.
pub(crate) fn holds(
    cx: &mut Context<'_>,
    el: &Subject,
    condition: &Expression,
) -> Result<bool, Problem> {
    let result = expression::extract(cx, condition, el.key)?;
    match result.value {
        Value::Boolean(holds) => Ok(holds),
        _ => Err(result.is_not("'BOOLEAN'")),
    }
}

/// The problem of a gateway with no sequence flow to take.
pub(crate) fn no_way() -> Problem {
    Problem::new(
        ErrorType::ConditionError,
        "Expected at least one condition to evaluate to true, or to have a default flow.",
    )
}
