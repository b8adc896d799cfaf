//! Intermediate throw events: signal, escalation.

use skep_model::{ElementKind, ThrowEvent as Definition};

use super::{ElementBehavior, Next, Problem, Subject, throwing};
use crate::processing::Context;

pub(crate) struct ThrowEvent;

impl ElementBehavior for ThrowEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        match &el.element().kind {
            ElementKind::IntermediateThrowEvent(Definition::Signal(signal)) => {
                throwing::signal(cx, el, signal)
            }
            ElementKind::IntermediateThrowEvent(Definition::Escalation { code }) => {
                throwing::escalation(cx, el, code)
            }
            _ => Err(super::wrong_kind(cx, el)),
        }
    }

    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        throwing::resume(cx, el);
    }
}
