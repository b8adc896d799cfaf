//! Events that are awaited in one place must be distinguishable: no two of them wait for the same message, signal, error or
//! escalation. (Names given by expressions are only known when the place is reached.)

use std::collections::HashSet;

use crate::compile::Draft;
use crate::error::{Findings, Rule, abbreviate};
use crate::graph::{CatchEvent, Element, ElementIndex, ElementKind, TextValue};

pub(crate) fn check(draft: &Draft<'_>, place: ElementIndex, findings: &mut Findings) {
    let element = draft.element(place);
    check_boundary_events(draft, element, findings);
    check_gateway(draft, element, findings);
    let starts = element.event_sub_processes.iter();
    let starts = starts.filter_map(|index| match draft.element(*index).kind {
        ElementKind::EventSubProcess { start } => Some(start),
        _ => None,
    });
    check_starts(
        draft,
        starts,
        "event sub-process of the same scope",
        findings,
    );
    if place == ElementIndex::PROCESS {
        let starts = draft.start_events(place).iter().copied();
        check_starts(draft, starts, "start event of the process", findings);
    }
}

fn check_boundary_events(draft: &Draft<'_>, element: &Element, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let activity = match &element.kind {
        ElementKind::MultiInstanceBody(body) => draft.element(body.inner),
        _ => element,
    };
    if let ElementKind::ReceiveTask(message) = &activity.kind {
        seen.extend(message.name.as_static().map(|name| ("message", Some(name))));
    }
    for index in element.boundary_events.iter().copied() {
        let Some(waits_for) = draft.element(index).caught().and_then(waits_for) else {
            continue;
        };
        if waits_for.0 != CONDITION && !seen.insert(waits_for) {
            let message = format!(
                "{} is already awaited by '{}' or another of its boundary events. Keep one of them, or use different names",
                called(waits_for),
                element.id
            );
            findings.add(draft.node(index), Rule::DuplicateEvent, message);
        }
    }
}

/// Behind an event-based gateway also names given by the same expression are the same.
fn check_gateway(draft: &Draft<'_>, gateway: &Element, findings: &mut Findings) {
    let ElementKind::EventBasedGateway { events } = &gateway.kind else {
        return;
    };
    let mut seen = HashSet::new();
    for index in events.iter().copied() {
        let (kind, name) = match draft.element(index).caught() {
            Some(CatchEvent::Message(message)) => ("message", &message.name),
            Some(CatchEvent::Signal(signal)) => ("signal", &signal.name),
            _ => continue,
        };
        let (is_expression, text) = match name {
            TextValue::Static(text) => (false, &**text),
            TextValue::Expression(expression) => (true, expression.text()),
        };
        if !seen.insert((kind, is_expression, text)) {
            let message = format!(
                "The {kind} '{}' is already awaited by another event behind the event-based gateway '{}'. Keep one of them, or use different names",
                abbreviate(text),
                gateway.id
            );
            findings.add(draft.node(index), Rule::DuplicateEvent, message);
        }
    }
}

fn check_starts(
    draft: &Draft<'_>,
    starts: impl Iterator<Item = ElementIndex>,
    other: &str,
    findings: &mut Findings,
) {
    let mut seen = HashSet::new();
    for start in starts {
        let Some(waits_for) = draft.element(start).caught().and_then(waits_for) else {
            continue;
        };
        if !seen.insert(waits_for) {
            let message = format!(
                "{} is already awaited by another {other}. Keep one of them, or use different names",
                called(waits_for)
            );
            findings.add(draft.node(start), Rule::DuplicateEvent, message);
        }
    }
}

const CONDITION: &str = "condition";

/// A name of a kind; `None` for all names of the kind.
type WaitsFor<'d> = (&'static str, Option<&'d str>);

fn waits_for(event: &CatchEvent) -> Option<WaitsFor<'_>> {
    match event {
        CatchEvent::Message(message) => Some(("message", Some(message.name.as_static()?))),
        CatchEvent::MessageStart(name) => Some(("message", Some(name))),
        CatchEvent::Signal(signal) => Some(("signal", Some(signal.name.as_static()?))),
        CatchEvent::Conditional(condition) => Some((CONDITION, Some(condition.expression.text()))),
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
