//! Conditions that element instances wait for.

use std::sync::Arc;

use skep_model::{CatchEvent, Condition, Element, ElementIndex};
use skep_protocol::Key;
use skep_protocol::intent::ConditionalSubscriptionIntent as Intent;
use skep_protocol::value::{ConditionalSubscriptionValue, Step};

use crate::processing::Context;
use crate::processing::bpmn::Subject;
use crate::state::DeployedProcess;

/// Builds an element's conditional subscription. The condition sees the scope that waits: the activity that an event is
/// attached to, the scope of an event sub-process, the catch event itself.
pub(crate) fn of_element(
    el: &Subject,
    target: ElementIndex,
    condition: &Condition,
    interrupting: bool,
) -> ConditionalSubscriptionValue {
    ConditionalSubscriptionValue {
        process_instance_key: el.value.process_instance_key,
        element_instance_key: el.key,
        scope_key: el.key,
        ..of_definition(&el.process, target, Some(condition), interrupting)
    }
}

/// The conditional subscription of a start event of the process.
pub(crate) fn of_definition(
    process: &DeployedProcess,
    target: ElementIndex,
    condition: Option<&Condition>,
    interrupting: bool,
) -> ConditionalSubscriptionValue {
    let events: &[&str] = match condition.map(|known| (known.on_create, known.on_update)) {
        Some((true, false)) => &["create"],
        Some((false, true)) => &["update"],
        _ => &[],
    };
    let text = condition.map(|known| known.expression.text());
    let names = condition.map(|known| known.variable_names.clone());
    ConditionalSubscriptionValue {
        process_definition_key: process.key,
        bpmn_process_id: process.bpmn_process_id.clone(),
        process_instance_key: Key::NONE,
        element_instance_key: Key::NONE,
        scope_key: Key::NONE,
        catch_event: target.0,
        interrupting,
        condition: text.unwrap_or_default().into(),
        variable_names: names.unwrap_or_default(),
        variable_events: events.iter().map(|event| Arc::from(*event)).collect(),
        tenant: process.tenant.clone(),
    }
}

/// Opens the subscription. If an element's condition already holds, it triggers its event immediately, regardless of the
/// filter.
pub(crate) fn open(cx: &mut Context<'_>, subscription: &ConditionalSubscriptionValue) {
    let key = cx.next_key();
    cx.event(key, Intent::Created, subscription);
    if subscription.element_instance_key.some().is_some() {
        cx.steps.push(Step::EvaluateCondition(key));
    }
}

pub(crate) fn close(cx: &mut Context<'_>, key: Key) {
    if let Some(subscription) = value_of(cx, key) {
        cx.event(key, Intent::Deleted, &subscription);
    }
}

/// The record value of an open subscription.
pub(crate) fn value_of(cx: &mut Context<'_>, key: Key) -> Option<ConditionalSubscriptionValue> {
    let row = cx.state.conditions.get(key)?.clone();
    let process = cx.process(row.process_definition_key)?;
    let target = ElementIndex(row.catch_event);
    let element = process.graph.elements.get(target.get())?;
    let interrupting = super::Awaited::of(target, element).is_none_or(|event| event.interrupting);
    // A definition that this release cannot run has no condition to report.
    let condition = condition_of(element);
    Some(ConditionalSubscriptionValue {
        process_instance_key: row.process_instance_key,
        element_instance_key: row.element_instance_key,
        scope_key: row.scope(),
        ..of_definition(&process, target, condition, interrupting)
    })
}

/// The condition of the event, if it has one.
pub(crate) fn condition_of(event: &Element) -> Option<&Condition> {
    match event.caught()? {
        CatchEvent::Conditional(condition) => Some(condition),
        _ => None,
    }
}
