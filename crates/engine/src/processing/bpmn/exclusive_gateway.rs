//! Exclusive gateway: the first sequence flow whose condition holds, else the default.

use skep_feel::Value;
use skep_model::{ElementIndex, ElementKind};
use skep_protocol::value::ErrorType;

use super::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::{Context, expression};

pub(crate) struct ExclusiveGateway;

impl ElementBehavior for ExclusiveGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let chosen = choose(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Leave(chosen))
    }
}

/// The flow to leave by; none when the gateway is the last element.
fn choose(cx: &mut Context<'_>, el: &Subject) -> Result<Option<ElementIndex>, Problem> {
    let element = el.element();
    let ElementKind::ExclusiveGateway { default } = &element.kind else {
        return Err(super::wrong_kind(cx, el));
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
        let holds = expression::extract(cx, condition, el.key)?;
        match holds.value {
            Value::Boolean(true) => return Ok(Some(*flow)),
            Value::Boolean(false) => {}
            _ => return Err(holds.is_not("'BOOLEAN'")),
        }
    }
    match default {
        Some(flow) => Ok(Some(*flow)),
        None if element.outgoing.is_empty() => Ok(None),
        None => Err(Problem::new(
            ErrorType::ConditionError,
            "Expected at least one condition to evaluate to true, or to have a default flow.",
        )),
    }
}
