//! What the engine does not run yet: refused when it is deployed. Whoever builds it in the engine removes its line here.

use crate::element::not_supported_yet;
use crate::graph::{CatchEvent, Element, ElementIndex, ElementKind as Kind, ThrowEvent};

/// Why the element cannot be deployed, if it cannot.
pub(crate) fn check(element: &Element) -> Option<String> {
    let what = kind(element)?;
    Some(not_supported_yet(what))
}

/// Kinds of elements.
fn kind(element: &Element) -> Option<&'static str> {
    Some(match &element.kind {
        Kind::EventSubProcess { .. } => "An event sub-process",
        Kind::EventBasedGateway { .. } => "An event-based gateway",
        Kind::StartEvent(start) if element.parent == ElementIndex::PROCESS => {
            return start.event.as_ref().and_then(start_event);
        }
        Kind::IntermediateCatchEvent(event) => return catch_event(event),
        Kind::BoundaryEvent(boundary) => return boundary_event(&boundary.event),
        Kind::IntermediateThrowEvent(event) => return throw_event(event),
        Kind::EndEvent(event) => return end_event(event),
        _ => return None,
    })
}

/// On the process itself.
fn start_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Signal(_) => "A signal start event",
        CatchEvent::Conditional(_) => "A conditional start event",
        _ => return None,
    })
}

fn catch_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Signal(_) => "The signal catch event",
        CatchEvent::Conditional(_) => "The conditional catch event",
        _ => return None,
    })
}

fn boundary_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Signal(_) => "The signal boundary event",
        CatchEvent::Conditional(_) => "The conditional boundary event",
        CatchEvent::Escalation { .. } => "The escalation boundary event",
        _ => return None,
    })
}

fn throw_event(event: &ThrowEvent) -> Option<&'static str> {
    Some(match event {
        ThrowEvent::Signal(_) => "The signal throw event",
        ThrowEvent::Escalation { .. } => "The escalation throw event",
        _ => return None,
    })
}

fn end_event(event: &ThrowEvent) -> Option<&'static str> {
    Some(match event {
        ThrowEvent::Signal(_) => "The signal end event",
        ThrowEvent::Escalation { .. } => "The escalation end event",
        _ => return None,
    })
}
