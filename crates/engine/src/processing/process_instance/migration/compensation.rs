//! Completed activities that can be compensated.

use skep_model::{BoundaryEvent, CatchEvent, ElementIndex, ElementKind, Process};
use skep_protocol::intent::CompensationSubscriptionIntent as Intent;
use skep_protocol::value::CompensationSubscriptionValue;
use skep_protocol::{Key, Rejection};

use super::plan::Plan;
use crate::processing::Context;
use crate::state::Compensation;

pub(super) fn check(cx: &mut Context<'_>, plan: &Plan, key: Key) -> Result<(), Rejection> {
    migrated(cx, plan, key).map(|_| ())
}

/// The migrated subscription. `None` if its compensation handler is not mapped, so that it ends.
fn migrated(
    cx: &mut Context<'_>,
    plan: &Plan,
    key: Key,
) -> Result<Option<CompensationSubscriptionValue>, Rejection> {
    let Some(row) = cx.state.compensations.get(key) else {
        return Ok(None);
    };
    let (activity, handler) = match row.handler {
        Some(_) => match by_event(plan, row)? {
            Some((activity, handler)) => (activity, Some(handler.0)),
            None => return Ok(None),
        },
        None => (scope(plan, row)?, None),
    };
    let thrower = row.thrower.map(|thrower| plan.to(ElementIndex(thrower)));
    Ok(Some(CompensationSubscriptionValue {
        process_definition_key: plan.target.key,
        activity: activity.0,
        handler,
        thrower: thrower.flatten().map(|thrower| thrower.0),
        ..row.value()
    }))
}

pub(super) fn migrate(cx: &mut Context<'_>, plan: &Plan, key: Key) {
    match migrated(cx, plan, key) {
        Ok(Some(value)) => cx.event(key, Intent::Migrated, &value),
        Ok(None) => {
            if let Some(value) = cx.state.compensations.get(key).map(Compensation::value) {
                cx.event(key, Intent::Deleted, &value);
            }
        }
        Err(_) => cx.broken(format_args!("the compensation {key} cannot be migrated")),
    }
}

/// Finds the target activity and handler through the boundary event between them.
fn by_event(
    plan: &Plan,
    row: &Compensation,
) -> Result<Option<(ElementIndex, ElementIndex)>, Rejection> {
    let (graph, target) = (&plan.source.graph, &plan.target.graph);
    let activity = ElementIndex(row.activity);
    let id = &graph.element(activity).id;
    let event = graph.element(activity).boundary_events.iter().copied();
    let event = event
        .into_iter()
        .find(|event| handler(graph, *event).is_some());
    let Some(to) = event.and_then(|event| plan.to(event)) else {
        // Compensation in progress has to finish.
        return match row.thrower_instance_key.some() {
            None => Ok(None),
            Some(_) => Err(plan.impossible(format_args!(
                "the activity '{id}' is being compensated, and its boundary event is not mapped. Add a mapping instruction for it"
            ))),
        };
    };
    let scope = plan.to(graph.element(activity).parent);
    let found = handler(target, to).filter(|(attached_to, _)| {
        let is_mapped = plan
            .to(activity)
            .is_none_or(|mapped| mapped == *attached_to);
        is_mapped && Some(target.element(*attached_to).parent) == scope
    });
    found.map(Some).ok_or_else(|| {
        plan.impossible(format_args!(
            "the completed activity '{id}' can be compensated, and its boundary event is mapped to '{}', which is not a compensation \
             event in the scope that the activity's scope is mapped to",
            target.element(to).id
        ))
    })
}

/// The activity that a compensation event is attached to, and its handler.
fn handler(graph: &Process, event: ElementIndex) -> Option<(ElementIndex, ElementIndex)> {
    match &graph.element(event).kind {
        ElementKind::BoundaryEvent(BoundaryEvent {
            attached_to,
            event: CatchEvent::Compensation { handler },
            ..
        }) => Some((*attached_to, *handler)),
        _ => None,
    }
}

/// Maps a completed scope that is compensated through its content.
fn scope(plan: &Plan, row: &Compensation) -> Result<ElementIndex, Rejection> {
    let source = plan.source.graph.element(ElementIndex(row.activity));
    let target = plan.to(ElementIndex(row.activity));
    let target = target.filter(|target| {
        let target = plan.target.graph.element(*target);
        target.element_type == source.element_type && plan.to(source.parent) == Some(target.parent)
    });
    target.ok_or_else(|| {
        plan.impossible(format_args!(
            "activities that completed in '{}' can be compensated, and '{}' is mapped to no element of its type in the scope that its \
             scope is mapped to. Add a mapping instruction for it",
            source.id, source.id
        ))
    })
}
