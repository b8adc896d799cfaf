//! The events for which an active element waits besides itself: those attached to it, those that start its event
//! sub-processes, and those behind an event-based gateway.

use std::collections::HashSet;

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::{Key, Rejection};

use super::plan::Plan;
use crate::processing::Context;
use crate::processing::bpmn::Subject;
use crate::state::ElementState;

/// The outcome for the events of one element.
pub(super) struct Events {
    /// Mapped events, as source and target. All other events of the source are closed.
    mapped: Vec<(ElementIndex, ElementIndex)>,
    /// Events of the target that nothing is mapped to.
    new: Vec<ElementIndex>,
}

impl Events {
    pub fn of(
        plan: &Plan,
        source: ElementIndex,
        target: ElementIndex,
    ) -> Result<Events, Rejection> {
        let mut new = awaited(&plan.target.graph, target);
        let (mut mapped, mut seen) = (Vec::new(), HashSet::new());
        for event in awaited(&plan.source.graph, source) {
            let Some(to) = plan.to(event) else {
                continue;
            };
            check(plan, (event, to), (target, &new))?;
            if !seen.insert(to) {
                let id = &plan.target.graph.element(to).id;
                return Err(plan.impossible(format_args!(
                    "several events of an active element are mapped to the event '{id}'. Map only one of them"
                )));
            }
            mapped.push((event, to));
        }
        new.retain(|event| !seen.contains(event));
        Ok(Events { mapped, new })
    }

    /// The events of the target to be opened. `target`: the element after its migration.
    pub fn to_open(&self, cx: &mut Context<'_>, target: &Subject) -> Vec<ElementIndex> {
        if !are_open(cx, target) {
            return Vec::new();
        }
        let row = cx.state.elements.get(target.key);
        // No other event sub-process of the scope may start any more.
        let only_attached = row.is_some_and(|row| row.is_interrupted_inside());
        let attached = &target.element().boundary_events;
        let new = self.new.iter().copied();
        new.filter(|event| !only_attached || attached.contains(event))
            .collect()
    }

    /// The target of this event of the source.
    pub fn to(&self, event: ElementIndex) -> Option<ElementIndex> {
        let pair = self.mapped.iter().find(|(source, _)| *source == event);
        pair.map(|(_, target)| *target)
    }
}

fn awaited(graph: &Process, index: ElementIndex) -> Vec<ElementIndex> {
    let element = graph.element(index);
    let starts = element.event_sub_processes.iter();
    let starts = starts.filter_map(|sub_process| match graph.element(*sub_process).kind {
        ElementKind::EventSubProcess { start } => Some(start),
        _ => None,
    });
    let behind: &[ElementIndex] = match &element.kind {
        ElementKind::EventBasedGateway { events } => events,
        _ => &[],
    };
    let attached = element.boundary_events.iter().copied();
    attached
        .chain(starts)
        .chain(behind.iter().rev().copied())
        .collect()
}

fn check(
    plan: &Plan,
    (from, to): (ElementIndex, ElementIndex),
    (element, known): (ElementIndex, &[ElementIndex]),
) -> Result<(), Rejection> {
    let (graph, target) = (&plan.source.graph, &plan.target.graph);
    let (source, event) = (graph.element(from), target.element(to));
    if !known.contains(&to) {
        return Err(plan.impossible(format_args!(
            "the event '{}' is mapped to '{}', which does not belong to the element '{}' that the event's element is mapped to",
            source.id,
            event.id,
            target.element(element).id
        )));
    }
    let types = |element: &skep_model::Element| (element.element_type, element.event_type());
    if types(source) != types(event) {
        return Err(plan.impossible(format_args!(
            "the event '{}' ({}, {}) is mapped to '{}' ({}, {}). Map it to an event of the same type",
            source.id,
            source.element_type.as_str(),
            source.event_type(),
            event.id,
            event.element_type.as_str(),
            event.event_type(),
        )));
    }
    Ok(())
}

/// Whether the element has opened its subscriptions and has not closed them again.
fn are_open(cx: &mut Context<'_>, el: &Subject) -> bool {
    let Some(row) = cx.state.elements.get(el.key) else {
        return false;
    };
    let is_ending = row.is_interrupted() && row.interrupted_within().is_none();
    if row.state != ElementState::Activated || is_ending {
        return false;
    }
    match el.element().kind {
        ElementKind::Process | ElementKind::SubProcess | ElementKind::EventSubProcess { .. } => {
            let only = (row.active_children == 1).then_some(row.first_child);
            !only.is_some_and(|child| is_start_event(cx, child))
        }
        _ => true,
    }
}

/// Whether the child is a start event. A scope opens its subscriptions when its start event completes.
fn is_start_event(cx: &mut Context<'_>, child: Key) -> bool {
    let child = Subject::load(cx, child);
    child.is_some_and(|child| matches!(child.element().kind, ElementKind::StartEvent(_)))
}
