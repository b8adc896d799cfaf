//! What the engine does not run yet: refused when it is deployed. Whoever builds it in the engine removes its line here.

use crate::element::not_supported_yet;
use crate::graph::{CatchEvent, Element, ElementKind as Kind};

/// Why the element cannot be deployed, if it cannot.
pub(crate) fn check(element: &Element) -> Option<String> {
    let what = kind(element)?;
    Some(not_supported_yet(what))
}

/// Kinds of elements.
fn kind(element: &Element) -> Option<&'static str> {
    match &element.kind {
        Kind::StartEvent(start) => start.event.as_ref().and_then(start_event),
        Kind::IntermediateCatchEvent(event) => catch_event(event),
        Kind::BoundaryEvent(boundary) => boundary_event(&boundary.event),
        _ => None,
    }
}

fn start_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Conditional(_) => "A conditional start event",
        _ => return None,
    })
}

fn catch_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Conditional(_) => "The conditional catch event",
        _ => return None,
    })
}

fn boundary_event(event: &CatchEvent) -> Option<&'static str> {
    Some(match event {
        CatchEvent::Conditional(_) => "The conditional boundary event",
        _ => return None,
    })
}
