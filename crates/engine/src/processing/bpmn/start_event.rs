//! Start event: of the process, with or without a trigger, and of a sub-process.

use super::{ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions};
use crate::processing::{Context, variable};

pub(crate) struct StartEvent;

impl ElementBehavior for StartEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }

    /// The variables of what has started the process are the event's own. Without output mappings they go to the process. From
    /// here on the event sub-processes of the scope can start: with all that the start event has brought.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        if el.element().outputs.is_empty() {
            variable::propagate_own(cx, el);
        }
        subscriptions::subscribe_event_sub_processes_around(cx, el)
    }
}
