//! An element of a stored definition that this release cannot compile. A token that reaches it waits there, with an
//! incident, until a release that can compile it runs again.

use skep_protocol::value::ErrorType;

use super::{ElementBehavior, Ending, Next, Problem, Subject, call_activity, container, user_task};
use crate::processing::Context;

pub(crate) struct Unusable;

impl ElementBehavior for Unusable {
    fn activate(&self, _cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        Err(problem(el))
    }

    fn complete(&self, _cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        Err(problem(el))
    }

    /// It may be a user task, a scope or a call activity: this depends on what the instance has.
    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        if user_task::terminate_task(cx, el) == Ending::Waits {
            return Ending::Waits;
        }
        match call_activity::terminate_called(cx, el.key) {
            Ending::Now => container::terminate_children(cx, el),
            Ending::Waits => Ending::Waits,
        }
    }

    fn terminate_at_once(&self, cx: &mut Context<'_>, el: &Subject) {
        user_task::cancel_task(cx, el);
    }
}

fn problem(el: &Subject) -> Problem {
    let why = match &el.element().kind {
        skep_model::ElementKind::Unusable(reason) => reason,
        _ => "it does not support elements of this kind",
    };
    let message = format!(
        "The element '{}' of process '{}' version {} was deployed with another release, and this one cannot run it: {why}. Run that \
         release again, or cancel the instance and deploy the process again.",
        el.element().id,
        el.process.bpmn_process_id,
        el.process.version
    );
    Problem::new(ErrorType::Unknown, message)
}
