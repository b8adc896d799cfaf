//! The event-based gateway: waits for the first of the events behind it.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::{CatchEvent, Element, ElementIndex, ElementKind};

/// At least two flows, each to an event that can be waited for and that nothing else leads to.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let gateway = draft.element(index);
    let ElementKind::EventBasedGateway { events } = &gateway.kind else {
        return;
    };
    let flows = gateway.outgoing.len();
    if flows < 2 {
        let message = format!(
            "An event-based gateway must have at least two outgoing flows, but has {flows}"
        );
        findings.add(draft.node(index), Rule::ElementMissing, message);
    }
    for event in events.iter().copied() {
        let target = draft.element(event);
        if draft.is_broken(event) {
            continue;
        }
        if !can_follow(target) {
            let message = format!(
                "'{}' cannot follow an event-based gateway. Only intermediate catch events of type message, timer, signal and conditional can",
                target.id
            );
            findings.add(draft.node(index), Rule::FlowNotAllowed, message);
        } else if target.incoming.len() > 1 {
            let message = format!(
                "The event follows the event-based gateway '{}' and has another incoming flow. Remove one of them",
                gateway.id
            );
            findings.add(draft.node(event), Rule::FlowNotAllowed, message);
        }
    }
}

fn can_follow(element: &Element) -> bool {
    matches!(
        &element.kind,
        ElementKind::IntermediateCatchEvent(
            CatchEvent::Message(_)
                | CatchEvent::Timer(_)
                | CatchEvent::Signal(_)
                | CatchEvent::Conditional(_)
        )
    )
}
