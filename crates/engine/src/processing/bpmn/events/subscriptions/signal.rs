//! Signals that element instances wait for.

use std::sync::Arc;

use skep_model::{ElementIndex, Signal};
use skep_protocol::Key;
use skep_protocol::intent::SignalSubscriptionIntent as Intent;
use skep_protocol::value::SignalSubscriptionValue;

use super::checked_name;
use crate::processing::bpmn::{Problem, Subject};
use crate::processing::{Context, expression};

pub(crate) fn evaluate(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    definition: &Signal,
) -> Result<SignalSubscriptionValue, Problem> {
    // A boundary event's expressions see the scope around its activity; those of other events see their element or scope.
    let is_attached = el.element().boundary_events.contains(&target);
    let scope = if is_attached { el.flow_scope() } else { el.key };
    Ok(SignalSubscriptionValue {
        process_definition_key: el.process.key,
        bpmn_process_id: el.process.bpmn_process_id.clone(),
        signal_name: name(cx, definition, scope)?,
        catch_event: target.0,
        catch_event_instance_key: el.key,
        tenant: el.process.tenant.clone(),
    })
}

/// Evaluates the name of a signal that is caught or thrown.
pub(crate) fn name(
    cx: &mut Context<'_>,
    definition: &Signal,
    scope: Key,
) -> Result<Arc<str>, Problem> {
    let name = expression::text(cx, &definition.name, scope)?;
    checked_name("signal", name)
}

pub(crate) fn open(cx: &mut Context<'_>, subscription: &SignalSubscriptionValue) {
    let key = cx.next_key();
    cx.event(key, Intent::Created, subscription);
}

pub(crate) fn close(cx: &mut Context<'_>, key: Key) {
    if let Some(subscription) = cx.state.signals.get(key).map(|row| row.value()) {
        cx.event(key, Intent::Deleted, &subscription);
    }
}
