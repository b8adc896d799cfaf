//! Parallel gateway: activated when it has a token from each incoming flow, left by all outgoing ones.

use crate::processing::Context;
use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, lifecycle};

pub(crate) struct ParallelGateway;

impl ElementBehavior for ParallelGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Leave(None))
    }
}
