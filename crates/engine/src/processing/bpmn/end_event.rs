//! End events: none, error, terminate.

use skep_model::{ElementKind, EndEvent as Definition};
use skep_protocol::intent::ProcessInstanceIntent;
use skep_protocol::value::ErrorType;
use skep_protocol::value::ProcessInstanceValue;

use super::{ElementBehavior, Next, Problem, Step, Subject, error, lifecycle, step};
use crate::processing::{Context, expression};
use crate::remote::Variables;

pub(crate) struct EndEvent;

impl ElementBehavior for EndEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::EndEvent(definition) = &el.element().kind else {
            return Ok(Next::Complete);
        };
        let Definition::Error { code } = definition else {
            lifecycle::activated(cx, el);
            return Ok(Next::Complete);
        };
        let code = expression::text(cx, code, el.key, false)?;
        let Some(catcher) = error::find_catcher(cx, el.flow_scope(), &code) else {
            return Err(Problem::new(
                ErrorType::UnhandledErrorEvent,
                format!(
                    "Expected to throw an error event with the code '{code}', but it was not caught. {}",
                    error::how_to_catch(cx, el.flow_scope())
                ),
            ));
        };
        lifecycle::activated(cx, el);
        // The scope that this event belongs to is interrupted, and with it this event.
        error::interrupt(cx, &catcher, Variables::new());
        Ok(Next::Wait)
    }

    fn completed(&self, cx: &mut Context<'_>, el: &Subject) {
        if let ElementKind::EndEvent(Definition::Terminate) = &el.element().kind {
            terminate_scope(cx, el);
        }
    }
}

/// Ends everything else in the flow scope; the scope itself then completes.
fn terminate_scope(cx: &mut Context<'_>, el: &Subject) {
    let scope = el.flow_scope();
    let waiting = cx
        .state
        .elements
        .get(scope)
        .and_then(|row| row.extra.as_ref())
        .map(|extra| extra.joins.clone())
        .unwrap_or_default();
    for (_, flow, count) in waiting {
        for _ in 0..count {
            let value = ProcessInstanceValue {
                element: flow,
                ..el.value.clone()
            };
            let key = cx.next_key();
            cx.event(key, ProcessInstanceIntent::SequenceFlowDeleted, &value);
        }
    }
    // Tokens on their way to an element of this scope are still queued: they end here too.
    let mut dropped = Vec::new();
    cx.steps.retain(|step| match step {
        Step::Activate(activation) if activation.scope == scope => {
            dropped.extend(activation.via);
            false
        }
        _ => true,
    });
    for flow in dropped {
        let value = ProcessInstanceValue {
            element: flow.0,
            ..el.value.clone()
        };
        let key = cx.next_key();
        cx.event(key, ProcessInstanceIntent::SequenceFlowDeleted, &value);
    }
    let children = cx.state.elements.children(scope);
    step::terminate_first(cx, children.into_iter());
}
