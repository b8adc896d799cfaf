//! What listens in one place must be distinguishable: no two of its events wait for the same message, signal, error or
//! escalation. (Names given by expressions are only known when the place is reached.)

use std::collections::HashSet;

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::{CatchEvent, ElementIndex, ElementKind};

pub(crate) fn check(draft: &Draft<'_>, activity: ElementIndex, findings: &mut Findings) {
    let element = draft.element(activity);
    if activity == ElementIndex::PROCESS {
        check_starts(draft, findings);
    }
    let mut heard = HashSet::new();
    if let ElementKind::ReceiveTask(message) = &element.kind {
        heard.extend(message.name.as_static().map(|name| ("message", Some(name))));
    }
    for index in element.boundary_events.iter().copied() {
        let Some(waits_for) = draft.element(index).caught().and_then(waits_for) else {
            continue;
        };
        if !heard.insert(waits_for) {
            let message = format!(
                "{} is already awaited by '{}' or another of its boundary events. Keep one of them, or use different names",
                called(waits_for),
                element.id
            );
            findings.add(draft.node(index), message);
        }
    }
}

/// No two start events of a process have the same message or signal.
fn check_starts(draft: &Draft<'_>, findings: &mut Findings) {
    let mut heard = HashSet::new();
    for start in draft.start_events(ElementIndex::PROCESS).iter().copied() {
        let Some(waits_for) = draft.element(start).caught().and_then(waits_for) else {
            continue;
        };
        if !heard.insert(waits_for) {
            let message = format!(
                "{} starts the process already, by another of its start events. Keep one of them, or use different names",
                called(waits_for)
            );
            findings.add(draft.node(start), message);
        }
    }
}

/// A name within those of its kind; `None` for all of its kind.
type WaitsFor<'d> = (&'static str, Option<&'d str>);

fn waits_for(event: &CatchEvent) -> Option<WaitsFor<'_>> {
    match event {
        CatchEvent::Message(message) => Some(("message", Some(message.name.as_static()?))),
        CatchEvent::MessageStart(name) => Some(("message", Some(name))),
        CatchEvent::Signal(signal) => Some(("signal", Some(signal.name.as_static()?))),
        CatchEvent::Error { code } => Some(("error code", code.as_deref())),
        CatchEvent::Escalation { code } => Some(("escalation code", code.as_deref())),
        _ => None,
    }
}

fn called((kind, name): WaitsFor<'_>) -> String {
    match name {
        Some(name) => format!("The {kind} '{name}'"),
        None => format!("Any {kind}"),
    }
}
