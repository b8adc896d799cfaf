//! SIGNAL BROADCAST: a signal reaches everything that waits for it, on every partition.

use std::sync::Arc;

use skep_model::{ElementIndex, ElementKind};
use skep_protocol::command::BroadcastSignal;
use skep_protocol::intent::SignalIntent;
use skep_protocol::value::{SignalValue, Step};
use skep_protocol::{Key, RejectionType, Response, TenantId};

use super::bpmn::subscriptions::start;
use super::bpmn::{Subject, triggers};
use super::deployment::distribution;
use super::{Context, Outcome, authorization, reject};
use crate::remote::{BroadcastedSignal, Distributed, Variables};
use crate::state::table::weight_of;

pub(crate) fn process(cx: &mut Context<'_>, command: &BroadcastSignal) -> Outcome {
    if command.signal_name.is_empty() {
        return Err(reject(
            RejectionType::InvalidArgument,
            "BROADCAST",
            "Expected to broadcast a signal with a name, but the name is empty",
        ));
    }
    let signal = BroadcastedSignal {
        tenant: cx.tenant.clone(),
        name: command.signal_name.clone(),
        variables: command.variables.entries().to_vec(),
    };
    let signal_key = arrived(cx, &signal);
    // Each partition checks for itself whether the client may reach what waits there.
    spread(cx, signal, authorization::asks(cx));
    Ok(Some(Response::SignalBroadcast { signal_key }))
}

/// Handles a signal that was broadcast on another partition. A client's signal reaches all subscriptions here, or none if
/// the client may not reach them.
pub(crate) fn distributed(cx: &mut Context<'_>, signal: &BroadcastedSignal, of_client: bool) {
    if !of_client || authorization::may_signal(cx, &signal.tenant, &signal.name) {
        arrived(cx, signal);
    }
}

/// A signal as partitions sent it before signals had tenants.
pub(crate) fn of_default_tenant(name: &Arc<str>, variables: &Variables) -> BroadcastedSignal {
    BroadcastedSignal {
        tenant: TenantId::default(),
        name: name.clone(),
        variables: variables.clone(),
    }
}

/// Broadcasts a signal thrown by an instance. It does not wait for the other partitions: a signal is for current listeners
/// only.
pub(crate) fn broadcast(cx: &mut Context<'_>, signal: BroadcastedSignal) -> Key {
    let key = arrived(cx, &signal);
    spread(cx, signal, false);
    key
}

/// Distributes the signal to the other partitions, in the oldest format that can express it.
fn spread(cx: &mut Context<'_>, signal: BroadcastedSignal, of_client: bool) {
    let is_default = signal.tenant.is_default();
    let BroadcastedSignal {
        name, variables, ..
    } = signal;
    let command = match (is_default, of_client) {
        (true, true) => Distributed::ClientSignal { name, variables },
        (true, false) => Distributed::Signal { name, variables },
        (false, _) => Distributed::TenantSignal {
            signal: BroadcastedSignal {
                name,
                variables,
                tenant: signal.tenant,
            },
            of_client,
        },
    };
    let distribution_key = cx.next_key();
    distribution::spread(cx, distribution_key, command);
}

/// Delivers a signal on this partition.
fn arrived(cx: &mut Context<'_>, signal: &BroadcastedSignal) -> Key {
    let key = cx.next_key();
    let BroadcastedSignal {
        tenant,
        name,
        variables,
    } = signal;
    let value = SignalValue {
        signal_name: name.clone(),
        variables: variables.clone(),
        tenant: tenant.clone(),
    };
    cx.event(key, SignalIntent::Broadcasted, &value);
    let Some(last) = cx.state.signals.newest(tenant, name) else {
        return key;
    };
    if let Some(after) = deliver(cx, (tenant, name), variables, Key::NONE, last) {
        cx.event(key, SignalIntent::Continued, &value);
        cx.steps.push(Step::DeliverSignal { signal: key, after });
    }
    key
}

/// Runs the next turn of a signal with many receivers.
pub(crate) fn deliver_next(cx: &mut Context<'_>, signal: Key, after: Key) {
    let Some(row) = cx.state.signals.on_their_way.get(signal).cloned() else {
        return;
    };
    let named = (&row.tenant, &row.signal_name);
    match deliver(cx, named, &row.variables, after, row.last) {
        Some(after) => cx.steps.push(Step::DeliverSignal { signal, after }),
        None => {
            let value = SignalValue {
                signal_name: row.signal_name,
                variables: Variables::new(),
                tenant: row.tenant,
            };
            cx.event(signal, SignalIntent::Delivered, &value);
        }
    }
}

/// Minimum number of subscriptions that receive a signal in one turn, unless its variables are large ([`LARGE`], in bytes).
/// Those of one instance usually fit, and then nothing comes between them.
const TOGETHER: usize = 10;
const LARGE: usize = 64 << 10;

/// Delivers the signal to subscriptions after `after`, up to `last`, as far as this turn goes. Returns the last one that
/// received it if there are more.
fn deliver(
    cx: &mut Context<'_>,
    (tenant, name): (&TenantId, &Arc<str>),
    variables: &Variables,
    mut after: Key,
    last: Key,
) -> Option<Key> {
    let together = if weight_of(variables) > LARGE {
        1
    } else {
        TOGETHER
    };
    let mut delivered = 0;
    while let Some(next) = cx.state.signals.next(tenant, name, after, last) {
        if delivered >= together && cx.is_spent() {
            return Some(after);
        }
        if let Some(instance) = cx.instance_of_subscription(next)
            && cx.is_migrating(instance)
        {
            return Some(after);
        }
        cx.budget.take_step();
        deliver_to(cx, next, variables);
        after = next;
        delivered += 1;
    }
    None
}

fn deliver_to(cx: &mut Context<'_>, subscription: Key, variables: &Variables) {
    let Some(row) = cx.state.signals.get(subscription).cloned() else {
        return;
    };
    let target = ElementIndex(row.catch_event);
    if row.is_of_definition() {
        let process = cx.state.processes.get(row.process_definition_key);
        let event = process.and_then(|process| process.graph.elements.get(target.get()));
        if event.is_some_and(|event| !matches!(event.kind, ElementKind::Unusable(_))) {
            let instance = cx.new_key();
            let definition = row.process_definition_key;
            start::begin_later(cx, (definition, target), instance, variables.clone());
        }
        return;
    }
    let element = row.element_instance_key;
    let Some(el) = Subject::load(cx, element) else {
        return;
    };
    let begun_by = *cx.working_for;
    if cx.begin_work_of(el.value.process_instance_key)
        && triggers::can_trigger(cx, element, target.0)
    {
        triggers::trigger_in_turn(cx, &el, target, variables.clone());
    }
    *cx.working_for = begun_by;
}
