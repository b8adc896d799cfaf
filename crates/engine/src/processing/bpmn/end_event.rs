//! End events: none, error, terminate.

use skep_model::{ElementKind, ThrowEvent as Definition};
use skep_protocol::value::ErrorType;

use super::{ElementBehavior, Next, Problem, Subject, container, error, lifecycle, triggers};
use crate::processing::{Context, expression};
use crate::remote::Variables;

pub(crate) struct EndEvent;

impl ElementBehavior for EndEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::EndEvent(definition) = &el.element().kind else {
            return Err(super::wrong_kind(cx, el));
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
            // Everything else in the flow scope ends; the scope itself then completes.
            container::end_rest(cx, el, el.flow_scope());
        }
    }
}
