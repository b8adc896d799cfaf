//! End events: none, error, terminate.

use skep_model::{ElementKind, TextValue, ThrowEvent as Definition};
use skep_protocol::value::ErrorType;

use crate::processing::bpmn::catching::{self, Thrown};
use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, lifecycle, triggers};
use crate::processing::{Context, expression};
use crate::remote::Variables;

pub(crate) struct EndEvent;

impl ElementBehavior for EndEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::EndEvent(definition) = &el.element().kind else {
            return Err(crate::processing::bpmn::wrong_kind(cx, el));
        };
        match definition {
            Definition::Error { code } => throw_error(cx, el, code),
            _ => {
                lifecycle::activated(cx, el);
                Ok(Next::Complete)
            }
        }
    }
}

fn throw_error(cx: &mut Context<'_>, el: &Subject, code: &TextValue) -> Result<Next, Problem> {
    let code = expression::text(cx, code, el.key)?;
    let Some(catcher) = catching::find(cx, el.flow_scope(), Thrown::Error(&code)) else {
        return Err(Problem::new(
            ErrorType::UnhandledErrorEvent,
            format!(
                "Expected to throw an error event with the code '{code}', but it was not caught. {}",
                catching::how_to_catch(cx, el.flow_scope())
            ),
        ));
    };
    lifecycle::activated(cx, el);
    // This interrupts the scope of the event, and with it the event itself.
    triggers::interrupt(cx, &catcher.element, catcher.event, Variables::new());
    Ok(Next::Wait)
}
