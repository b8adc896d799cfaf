//! Start event: of the process, with or without a trigger, and of a sub-process.

use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions};
use crate::processing::{Context, variable};

pub(crate) struct StartEvent;

impl ElementBehavior for StartEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }

    /// The variables of the trigger that started the process are local to the event. Without output mappings they go to the
    /// process. From here on the scope listens.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        if el.element().outputs.is_empty() {
            variable::propagate_own(cx, el);
        }
        subscriptions::subscribe_scope_around(cx, el)
    }
}
