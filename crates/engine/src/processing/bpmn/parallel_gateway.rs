//! Parallel gateway: activated when it has a token from each incoming flow, left by all outgoing ones.

use super::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::Context;

pub(crate) struct ParallelGateway;

impl ElementBehavior for ParallelGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Leave(None))
    }
}
