//! Boundary event: created when it has been triggered, so it has nothing to wait for.

use super::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::Context;

pub(crate) struct BoundaryEvent;

impl ElementBehavior for BoundaryEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }
}
