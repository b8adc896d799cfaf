//! Pass-through elements, such as undefined and manual tasks: they never wait.

use super::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::Context;

pub(crate) struct PassThrough;

impl ElementBehavior for PassThrough {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        super::subscriptions::subscribe_boundary_events(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }
}
