//! Boundary event: created when it was triggered, so there is nothing to wait for.

use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, catching, lifecycle};
use crate::processing::{Context, variable};

pub(crate) struct BoundaryEvent;

impl ElementBehavior for BoundaryEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }

    /// The variables of the trigger are local to the event. Without output mappings they go to the scope around it; those
    /// of an error are dropped.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        let element = el.element();
        if !element.outputs.is_empty() || catching::is_error_boundary_event(element) {
            return Ok(());
        }
        variable::propagate_own(cx, el);
        Ok(())
    }
}
