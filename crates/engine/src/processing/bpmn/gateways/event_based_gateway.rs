//! Event-based gateway: waits for the events behind it. The token continues at the first one that happens.

use skep_model::{Element, ElementKind, Process};
use skep_protocol::Key;

use crate::processing::Context;
use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, container, lifecycle, step, subscriptions, triggers,
};
use crate::remote::Variables;
use crate::state::Trigger;

pub(crate) struct EventBasedGateway;

impl ElementBehavior for EventBasedGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        subscriptions::subscribe_gateway(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }

    /// No sequence flow is taken: the event itself is activated by its trigger.
    fn takes_flows(&self) -> bool {
        false
    }

    fn completed(&self, cx: &mut Context<'_>, el: &Subject, _: Variables) {
        // In a terminating scope nothing follows.
        let mut is_first = !container::is_terminating(cx, el.flow_scope());
        for (key, trigger) in happened(cx, el) {
            // Only the first event counts. Others that happened before the gateway completed are too late.
            if std::mem::replace(&mut is_first, false) {
                step::activate_triggered(cx, key)
            } else {
                triggers::used(cx, key, &trigger)
            }
        }
    }

    /// Uses up events that happened while the completion was deferred: the scope may continue and would otherwise wait for
    /// them forever.
    fn terminated(&self, cx: &mut Context<'_>, el: &Subject) {
        for (key, trigger) in happened(cx, el) {
            triggers::used(cx, key, &trigger);
        }
    }
}

/// The events of this gateway that have happened and wait to be activated behind it.
fn happened(cx: &mut Context<'_>, el: &Subject) -> Vec<(Key, Trigger)> {
    let row = cx.state.elements.get(el.flow_scope());
    let triggers = row.and_then(|row| row.extra.as_ref());
    let triggers = triggers.map_or(Vec::new(), |extra| extra.triggers.clone());
    let found = triggers.into_iter().filter_map(|key| {
        let trigger = cx.state.triggers.get(key)?;
        (trigger.scope_key == el.key).then(|| (key, trigger.clone()))
    });
    found.collect()
}

/// Whether the event follows an event-based gateway, which waits for it: such an event has already happened when it is
/// activated.
pub(crate) fn is_before(process: &Process, event: &Element) -> bool {
    event.incoming.iter().any(|flow| {
        let source = match &process.element(*flow).kind {
            ElementKind::SequenceFlow(flow) => process.element(flow.source),
            _ => return false,
        };
        matches!(source.kind, ElementKind::EventBasedGateway { .. })
    })
}
