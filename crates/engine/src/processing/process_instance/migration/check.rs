//! Checks that the active elements can continue at the elements they are mapped to.

use std::collections::HashSet;

use skep_model::{Element, ElementIndex, ElementKind};
use skep_protocol::{Key, Rejection, RejectionType};

use super::events::Events;
use super::plan::Plan;
use super::{refuse, user_task};
use crate::processing::Context;
use crate::processing::bpmn::{Subject, subscriptions};

/// Checks one active element of the instance.
pub(super) fn element(cx: &mut Context<'_>, plan: &Plan, key: Key) -> Result<(), Rejection> {
    let Some(el) = Subject::load(cx, key) else {
        return Ok(());
    };
    let Some(target) = plan.to(el.index()) else {
        return Err(plan.impossible(format_args!(
            "the active element '{}' is mapped to no element. Add a mapping instruction for it",
            el.element().id
        )));
    };
    kinds(plan, el.index(), target)?;
    scopes(plan, el.index(), target)?;
    nothing_under_way(cx, plan, &el)?;
    joins(cx, plan, &el, target)?;
    let events = Events::of(plan, el.index(), target)?;
    let after = plan.subject(&el, target);
    user_task::check(cx, plan, &el, &after)?;
    new_events(cx, plan, &after, &events)
}

/// Checks that an element keeps its type and its implementation.
fn kinds(plan: &Plan, source: ElementIndex, target: ElementIndex) -> Result<(), Rejection> {
    let source = plan.source.graph.element(source);
    let target = plan.target.graph.element(target);
    if let ElementKind::Unusable(reason) = &target.kind {
        return Err(plan.impossible(reason));
    }
    let what = if source.element_type != target.element_type {
        let (from, to) = (source.element_type.as_str(), target.element_type.as_str());
        format!("is of type {from}, and '{}' is of type {to}", target.id)
    } else if source.event_type() != target.event_type() {
        let (from, to) = (source.event_type(), target.event_type());
        format!("has the event type {from}, and '{}' has {to}", target.id)
    } else if let Some(difference) = difference(source, target) {
        format!("{difference} '{}'", target.id)
    } else {
        return Ok(());
    };
    Err(plan.impossible(format_args!(
        "the active element '{}' {what}. Map it to an element of the same kind",
        source.id
    )))
}

/// Describes a difference between elements of one type that prevents the migration, if any.
fn difference(source: &Element, target: &Element) -> Option<&'static str> {
    if source.job().is_some() != target.job().is_some() {
        return Some(match source.job() {
            Some(_) => "is done by a job worker, unlike",
            None => "is done by no job worker, unlike",
        });
    }
    match (&source.kind, &target.kind) {
        (ElementKind::MultiInstanceBody(source), ElementKind::MultiInstanceBody(target)) => {
            match (source.sequential, target.sequential) {
                (true, false) => Some("is repeated sequentially, unlike"),
                (false, true) => Some("is repeated in parallel, unlike"),
                _ => None,
            }
        }
        // The reverse is possible: a job becomes a Camunda user task.
        (ElementKind::UserTask(source), ElementKind::UserTask(target)) => (source.native.is_some()
            && target.native.is_none())
        .then_some("is a Camunda user task, unlike"),
        _ => None,
    }
}

/// Checks that the scope around an element remains its scope.
fn scopes(plan: &Plan, source: ElementIndex, target: ElementIndex) -> Result<(), Rejection> {
    if source == ElementIndex::PROCESS {
        return Ok(());
    }
    let (from, to) = (&plan.source.graph, &plan.target.graph);
    let (inside, into) = (from.element(source), to.element(target));
    match plan.to(inside.parent) {
        Some(scope) if scope == into.parent => Ok(()),
        _ => Err(plan.impossible(format_args!(
            "the active element '{}' is in the scope '{}', and '{}' is in '{}'. Map it to an element in the scope that its \
             scope is mapped to",
            inside.id,
            from.element(inside.parent).id,
            into.id,
            to.element(into.parent).id
        ))),
    }
}

/// Checks that nothing is in progress in the element. Work that has not reached a wait state refers to elements of the
/// source.
fn nothing_under_way(cx: &mut Context<'_>, plan: &Plan, el: &Subject) -> Result<(), Rejection> {
    let row = cx.state.elements.get(el.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let triggers = extra.map(|extra| extra.triggers.clone());
    let mut triggers = triggers.unwrap_or_default().into_iter();
    let is_lost = |cx: &mut Context<'_>, key: Key| {
        let trigger = cx.state.triggers.get(key);
        trigger.is_some_and(|trigger| {
            let target = ElementIndex(trigger.target_element);
            trigger.begins_instance() || plan.to(target).is_none()
        })
    };
    let begins = cx.state.continuations.activate_in(el.key);
    if begins || triggers.any(|key| is_lost(cx, key)) {
        return Err(plan.impossible(format_args!(
            "the element '{}' still has to process an earlier event. Try the migration again",
            el.element().id
        )));
    }
    Ok(())
}

/// Checks that tokens at a gateway keep waiting at the gateway that their mapped sequence flows lead to.
fn joins(
    cx: &mut Context<'_>,
    plan: &Plan,
    scope: &Subject,
    target_scope: ElementIndex,
) -> Result<(), Rejection> {
    let row = cx.state.elements.get(scope.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let waiting = extra.into_iter().flat_map(|extra| extra.joins.iter());
    let waiting: Vec<_> = waiting
        .map(|(gateway, flow, _)| (ElementIndex(gateway), ElementIndex(flow)))
        .collect();
    let mut seen = HashSet::new();
    for (gateway, flow) in waiting {
        let (from, to) = (&plan.source.graph, &plan.target.graph);
        let (at, on) = (from.element(gateway), from.element(flow));
        let target = plan.to(flow).map(|flow| (flow, &to.element(flow).kind));
        let Some((target, ElementKind::SequenceFlow(target_flow))) = target else {
            let why = format_args!(
                "the sequence flow '{}', on which a token waits at the gateway '{}', is mapped to no sequence flow. Add a \
                 mapping instruction for it",
                on.id, at.id
            );
            let kind = RejectionType::InvalidArgument;
            return Err(refuse(kind, plan.instance, why));
        };
        let into = to.element(target_flow.target);
        let fits = into.joins()
            && into.element_type == at.element_type
            && into.incoming.len() >= at.incoming.len()
            && into.parent == target_scope
            && plan
                .to(gateway)
                .is_none_or(|mapped| mapped == target_flow.target);
        if !fits || !seen.insert(target) {
            return Err(plan.impossible(format_args!(
                "the sequence flow '{}', on which a token waits at the gateway '{}', is mapped to '{}'. Map each such flow to \
                 one of its own that leads to the gateway's target, a gateway of the same type with at least as many \
                 incoming sequence flows",
                on.id,
                at.id,
                to.element(target).id
            )));
        }
    }
    Ok(())
}

/// Evaluates the events that only the target has, so that opening them cannot fail later.
fn new_events(
    cx: &mut Context<'_>,
    plan: &Plan,
    target: &Subject,
    events: &Events,
) -> Result<(), Rejection> {
    let new = events.to_open(cx, target);
    match subscriptions::evaluate_all(cx, target, &new) {
        Ok(_) => Ok(()),
        Err(problem) => Err(plan.impossible(format_args!(
            "the subscriptions of the events of the target element '{}' cannot be opened: {} An event that is mapped to one of them \
             stays as it is",
            target.element().id,
            problem.message
        ))),
    }
}
