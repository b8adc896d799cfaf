//! Event sub-process: activated in its parent scope by the trigger of its start event.

use skep_protocol::value::ErrorType;

use crate::processing::Context;
use crate::processing::bpmn::container::{self, Container, Rest};
use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, flows, lifecycle, start_instructions,
};

pub(crate) struct EventSubProcess;

impl ElementBehavior for EventSubProcess {
    /// The trigger (or the choice of start instructions) waits here, and continues now.
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let row = cx.state.elements.get(el.key);
        if !row.is_some_and(|row| row.has_triggers()) {
            return Err(Problem::new(
                ErrorType::Unknown,
                "Nothing has triggered the event sub-process, so it cannot start. Cancel the process instance.",
            ));
        }
        lifecycle::activated(cx, el);
        start_instructions::go_on(cx, el.key);
        Ok(Next::Wait)
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&EventSubProcess)
    }
}

impl Container for EventSubProcess {
    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        flows::at_rest(cx, scope)
    }
}
