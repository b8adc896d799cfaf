//! Event-based gateway: waits for the events behind it, and the first one that happens is where the token goes on.

use skep_model::{Element, ElementKind, Process};

use super::{
    ElementBehavior, Next, Problem, Subject, container, lifecycle, step, subscriptions, triggers,
};
use crate::processing::Context;
use crate::remote::Variables;

pub(crate) struct EventBasedGateway;

impl ElementBehavior for EventBasedGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        subscriptions::subscribe_gateway(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }

    /// No sequence flow is taken: the event itself is activated, by its trigger.
    fn takes_flows(&self) -> bool {
        false
    }

    fn completed(&self, cx: &mut Context<'_>, el: &Subject, _: Variables) {
        let row = cx.state.elements.get(el.flow_scope());
        let triggers = row.and_then(|row| row.extra.as_ref());
        let triggers = triggers.map(|extra| extra.triggers.clone());
        // In a scope that terminates nothing follows.
        let mut is_first = !container::is_terminating(cx, el.flow_scope());
        for key in triggers.unwrap_or_default() {
            let Some(trigger) = cx.state.triggers.get(key).cloned() else {
                continue;
            };
            if trigger.scope_key != el.key {
                continue;
            }
            // What has happened before its completion came is too late.
            match std::mem::replace(&mut is_first, false) {
                true => step::activate_triggered(cx, key),
                false => triggers::used(cx, key, &trigger),
            }
        }
    }
}

/// The event waits at a gateway in front of it, and has happened when it is activated.
pub(super) fn is_before(process: &Process, event: &Element) -> bool {
    event.incoming.iter().any(|flow| {
        let source = match &process.element(*flow).kind {
            ElementKind::SequenceFlow(flow) => process.element(flow.source),
            _ => return false,
        };
        matches!(source.kind, ElementKind::EventBasedGateway { .. })
    })
}
