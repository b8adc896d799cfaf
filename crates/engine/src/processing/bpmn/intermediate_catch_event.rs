//! Intermediate catch event and receive task: wait for a timer or a message.

use skep_model::{CatchEvent as Definition, ElementKind};

use super::{ElementBehavior, Next, Problem, Subject, events, lifecycle};
use crate::processing::Context;

pub(crate) struct CatchEvent;

impl ElementBehavior for CatchEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let own = match &el.element().kind {
            ElementKind::IntermediateCatchEvent(Definition::Timer(timer)) => {
                events::Wait::Timer(events::timer(cx, el, el.index(), timer)?)
            }
            ElementKind::IntermediateCatchEvent(Definition::Message(message))
            | ElementKind::ReceiveTask(message) => {
                events::Wait::Message(events::message(cx, el, el.index(), message, true)?)
            }
            _ => return Err(super::wrong_kind(cx, el)),
        };
        events::subscribe(cx, el, Some(own))?;
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }
}
