//! Errors and escalations: the search outwards from the throwing element to the event that catches it.

use std::sync::Arc;

use skep_model::{CatchEvent, Element, ElementIndex, ElementKind};
use skep_protocol::Key;

use crate::processing::Context;
use crate::processing::bpmn::Subject;

/// A thrown error or escalation, with its code.
#[derive(Clone, Copy)]
pub(crate) enum Thrown<'a> {
    Error(&'a str),
    Escalation(&'a str),
}

impl Thrown<'_> {
    fn code(&self) -> &str {
        match self {
            Thrown::Error(code) | Thrown::Escalation(code) => code,
        }
    }

    /// The code that the event catches; an inner `None` means all codes. `None` if it catches something else.
    fn caught_by<'e>(&self, event: &'e CatchEvent) -> Option<Option<&'e Arc<str>>> {
        match (self, event) {
            (Thrown::Error(_), CatchEvent::Error { code })
            | (Thrown::Escalation(_), CatchEvent::Escalation { code }) => Some(code.as_ref()),
            _ => None,
        }
    }
}

/// The catching event: attached to this element, or the start event of an event sub-process in it.
pub(crate) struct Catcher {
    pub element: Subject,
    pub event: ElementIndex,
}

/// Searches from `from` outwards, also through call activities. In each scope, event sub-processes come before boundary
/// events, and the exact code before "all codes". A scope interrupted by an event sub-process catches nothing more.
pub(crate) fn find(cx: &mut Context<'_>, from: Key, thrown: Thrown<'_>) -> Option<Catcher> {
    let mut key = from;
    loop {
        let element = Subject::load(cx, key)?;
        let row = cx.state.elements.get(key)?;
        if !row.is_interrupted_inside() {
            let inside = matching(&element, event_sub_process_starts(&element), thrown);
            let event = inside.or_else(|| matching(&element, boundary_events(&element), thrown));
            if let Some(event) = event {
                return Some(Catcher { element, event });
            }
        }
        key = outer(&element);
    }
}

fn outer(el: &Subject) -> Key {
    if el.index() == ElementIndex::PROCESS {
        el.value.parent_element_instance_key
    } else {
        el.flow_scope()
    }
}

fn boundary_events(el: &Subject) -> impl Iterator<Item = ElementIndex> + '_ {
    el.element().boundary_events.iter().copied()
}

fn event_sub_process_starts(el: &Subject) -> impl Iterator<Item = ElementIndex> + '_ {
    let graph = &el.process.graph;
    let sub_processes = el.element().event_sub_processes.iter();
    sub_processes.filter_map(|index| match graph.element(*index).kind {
        ElementKind::EventSubProcess { start } => Some(start),
        _ => None,
    })
}

fn matching(
    el: &Subject,
    events: impl Iterator<Item = ElementIndex>,
    thrown: Thrown<'_>,
) -> Option<ElementIndex> {
    let mut any = None;
    for index in events {
        let event = el.process.graph.element(index).caught();
        match event.and_then(|event| thrown.caught_by(event)) {
            Some(Some(code)) if **code == *thrown.code() => return Some(index),
            Some(None) => any = any.or(Some(index)),
            _ => {}
        }
    }
    any
}

pub(crate) fn is_error_boundary_event(element: &Element) -> bool {
    matches!(
        &element.kind,
        ElementKind::BoundaryEvent(event) if matches!(event.event, CatchEvent::Error { .. })
    )
}

/// The hint for an uncaught error: the codes that would have been caught.
pub(crate) fn how_to_catch(cx: &mut Context<'_>, from: Key) -> String {
    let mut caught = Vec::new();
    let mut key = from;
    while let Some(el) = Subject::load(cx, key) {
        let graph = &el.process.graph;
        for index in event_sub_process_starts(&el).chain(boundary_events(&el)) {
            if let Some(CatchEvent::Error { code: Some(code) }) = graph.element(index).caught() {
                caught.push(format!("'{code}'"));
            }
        }
        key = outer(&el);
    }
    if caught.is_empty() {
        "No error events are available in the scope.".to_string()
    } else {
        format!("Available error events are [{}]", caught.join(", "))
    }
}
