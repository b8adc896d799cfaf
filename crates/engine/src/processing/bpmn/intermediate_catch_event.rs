//! Intermediate catch event and receive task: wait for an event.

use skep_model::CatchEvent as Definition;

use super::{ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions};
use crate::processing::Context;

pub(crate) struct CatchEvent;

impl ElementBehavior for CatchEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        subscriptions::subscribe_own(cx, el)?;
        lifecycle::activated(cx, el);
        // Where a link leads to there is nothing to wait for.
        match el.element().caught() {
            Some(Definition::Link { .. }) => Ok(Next::Complete),
            _ => Ok(Next::Wait),
        }
    }
}
