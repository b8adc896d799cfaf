//! Error events: from the place where an error is thrown outwards to the boundary event that catches it.

use std::sync::Arc;

use skep_model::{CatchEvent, Element, ElementIndex, ElementKind};
use skep_protocol::Key;

use super::Subject;
use crate::processing::Context;

/// The activity that carries the catching boundary event.
pub(crate) struct Catcher {
    pub activity: Subject,
    pub boundary_event: ElementIndex,
}

/// Looks from `from` outwards, through call activities too. On one activity the exact code goes before "all codes".
pub(crate) fn find_catcher(cx: &mut Context<'_>, from: Key, code: &str) -> Option<Catcher> {
    let mut key = from;
    loop {
        let activity = Subject::load(cx, key)?;
        if let Some(boundary_event) = catching_boundary_event(&activity, code) {
            return Some(Catcher {
                activity,
                boundary_event,
            });
        }
        key = outer(&activity);
    }
}

fn outer(el: &Subject) -> Key {
    if el.index() == ElementIndex::PROCESS {
        el.value.parent_element_instance_key
    } else {
        el.flow_scope()
    }
}

fn catching_boundary_event(activity: &Subject, code: &str) -> Option<ElementIndex> {
    let codes = error_boundary_events(activity);
    let exact = codes
        .iter()
        .find(|(_, caught)| caught.as_deref() == Some(code));
    let any = codes.iter().find(|(_, caught)| caught.is_none());
    exact.or(any).map(|(index, _)| *index)
}

fn error_boundary_events(activity: &Subject) -> Vec<(ElementIndex, Option<Arc<str>>)> {
    let graph = &activity.process.graph;
    let boundary_events = activity.element().boundary_events.iter();
    boundary_events
        .filter_map(|index| match &graph.element(*index).kind {
            ElementKind::BoundaryEvent(event) => match &event.event {
                CatchEvent::Error { code } => Some((*index, code.clone())),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

pub(super) fn is_error_boundary_event(element: &Element) -> bool {
    matches!(
        &element.kind,
        ElementKind::BoundaryEvent(event) if matches!(event.event, CatchEvent::Error { .. })
    )
}

/// The hint of an uncaught error: which codes would have been caught.
pub(crate) fn how_to_catch(cx: &mut Context<'_>, from: Key) -> String {
    let mut caught = Vec::new();
    let mut key = from;
    while let Some(activity) = Subject::load(cx, key) {
        caught.extend(
            error_boundary_events(&activity)
                .into_iter()
                .filter_map(|(_, code)| code),
        );
        key = outer(&activity);
    }
    if caught.is_empty() {
        "No error events are available in the scope.".to_string()
    } else {
        let codes: Vec<String> = caught.iter().map(|c| format!("'{c}'")).collect();
        format!("Available error events are [{}]", codes.join(", "))
    }
}
