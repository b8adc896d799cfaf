//! End events: none, error, terminate.

use skep_model::{ElementKind, ThrowEvent as Definition};
use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceBatchIntent;
use skep_protocol::value::{ErrorType, ProcessInstanceBatchValue};

use super::{ElementBehavior, Next, Problem, Step, Subject, error, lifecycle, triggers};
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
        let code = expression::text(cx, code, el.key)?;
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
        triggers::interrupt(
            cx,
            &catcher.activity,
            catcher.boundary_event,
            Variables::new(),
        );
        Ok(Next::Wait)
    }

    fn completed(&self, cx: &mut Context<'_>, el: &Subject, _: Variables) {
        if let ElementKind::EndEvent(Definition::Terminate) = &el.element().kind {
            terminate_scope(cx, el);
        }
    }
}

/// Ends everything else in the flow scope; the scope itself then completes. Tokens that are on their way end when their
/// turn comes (see [`lifecycle::activating`]).
fn terminate_scope(cx: &mut Context<'_>, el: &Subject) {
    let scope = el.flow_scope();
    let value = ProcessInstanceBatchValue {
        process_instance_key: el.value.process_instance_key,
        batch_element_instance_key: scope,
        index: Key::NONE,
    };
    let key = cx.next_key();
    cx.event(key, ProcessInstanceBatchIntent::Terminated, &value);
    let extra = cx.state.elements.get(scope).map(|row| row.extra.as_ref());
    let joins = extra.flatten().map(|extra| extra.joins.clone());
    for (_, flow, count) in joins.unwrap_or_default() {
        for _ in 0..count {
            lifecycle::delete_flow(cx, &el.value, flow);
        }
    }
    let next = Key::NONE;
    cx.steps.push(Step::TerminateChildren { scope, next });
}
