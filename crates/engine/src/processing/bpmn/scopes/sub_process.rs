//! Embedded sub-process: a scope within a scope.

use skep_protocol::value::ErrorType;

use crate::processing::Context;
use crate::processing::bpmn::container::{self, Container, Rest};
use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, flows, lifecycle, start_instructions, step,
    subscriptions,
};

pub(crate) struct SubProcess;

impl ElementBehavior for SubProcess {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        // Deployment refuses a sub-process without its start event.
        let start = el.element().none_start.ok_or_else(|| {
            Problem::new(
                ErrorType::Unknown,
                "The sub-process has no none start event.",
            )
        })?;
        // Start instructions that wait for this scope replace its start event.
        if start_instructions::wait_in(cx, el.key) {
            subscriptions::subscribe_scope(cx, el)?;
            lifecycle::activated(cx, el);
            start_instructions::go_on(cx, el.key);
            return Ok(Next::Wait);
        }
        lifecycle::activated(cx, el);
        step::activate(cx, el.key, start);
        Ok(Next::Wait)
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&SubProcess)
    }
}

impl Container for SubProcess {
    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        flows::at_rest(cx, scope)
    }
}
