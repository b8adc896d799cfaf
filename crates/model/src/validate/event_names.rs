//! What an activity listens to must be distinguishable: no two of its events wait for the same message or error.

use std::collections::HashSet;

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::{CatchEvent, ElementIndex, ElementKind};

pub(crate) fn check(draft: &Draft<'_>, activity: ElementIndex, findings: &mut Findings) {
    let element = draft.element(activity);
    let (mut messages, mut errors) = (HashSet::new(), HashSet::new());
    if let ElementKind::ReceiveTask(message) = &element.kind {
        messages.extend(message.name.as_static());
    }
    for index in element.boundary_events.iter().copied() {
        let ElementKind::BoundaryEvent(boundary) = &draft.element(index).kind else {
            continue;
        };
        match &boundary.event {
            CatchEvent::Message(message) => {
                if let Some(name) = message.name.as_static()
                    && !messages.insert(name)
                {
                    let message = format!(
                        "The message '{name}' is already awaited by '{}' or another of its boundary events. Use different messages",
                        element.id
                    );
                    findings.add(draft.node(index), message);
                }
            }
            CatchEvent::Error { code } => {
                if !errors.insert(code.as_deref()) {
                    let code = code.as_deref().map_or("all errors".to_string(), |code| {
                        format!("the error code '{code}'")
                    });
                    let message = format!(
                        "Another boundary event of '{}' already catches {code}. Keep one of them",
                        element.id
                    );
                    findings.add(draft.node(index), message);
                }
            }
            _ => {}
        }
    }
}
