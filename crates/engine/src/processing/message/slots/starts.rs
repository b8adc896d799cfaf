//! Instances that a message has started, whose correlation key has moved since. The partition that has the key keeps others of the process
//! from starting, and the partition of the instance reports that it is over.

use skep_protocol::Key;
use skep_protocol::intent::RoutingIntent as Intent;
use skep_protocol::value::RoutingValue;

use super::is_here;
use crate::processing::Context;
use crate::processing::bpmn::subscriptions::start;
use crate::remote::{EndedStart, RemoteCommand, RoutingCommand};

/// Whether another partition keeps others of the process from starting while the instance lives, or is about to.
pub(crate) fn is_elsewhere(cx: &mut Context<'_>, instance: Key) -> bool {
    if cx.state.slots.is_untouched() {
        return false;
    }
    if let Some(started) = cx.state.message_starts.started_by(instance)
        && !is_here(cx, &started.correlation_key)
    {
        cx.event(instance, Intent::StartLeft, &RoutingValue::default());
    }
    cx.state.slots.is_started(instance)
}

/// The instance has left its process, so others may start.
pub(crate) fn release(cx: &mut Context<'_>, instance: Key) {
    cx.event(instance, Intent::StartReleased, &RoutingValue::default());
    report(cx, instance);
}

/// Reports that the instance is over.
pub(crate) fn report(cx: &mut Context<'_>, instance: Key) {
    let row = cx.state.slots.started.get(instance);
    let Some(row) = row.filter(|row| row.is_over) else {
        return;
    };
    let ended = EndedStart {
        process_instance_key: instance,
        correlation_key: row.started.correlation_key.clone(),
        reply_to: cx.state.partition,
    };
    let partition = cx.config.routing.of_correlation(&ended.correlation_key);
    let command = RoutingCommand::EndStart(ended);
    cx.send(partition, RemoteCommand::Routing(command));
}

/// ROUTING END_START: the instance keeps no others from starting any more.
pub(super) fn end(cx: &mut Context<'_>, ended: &EndedStart) {
    let instance = ended.process_instance_key;
    if cx.state.message_starts.started_by(instance).is_some() {
        let next = start::next_start_here(cx, instance);
        cx.event(instance, Intent::StartEnded, &RoutingValue::default());
        start::start_next(cx, next);
    }
    let answer = RoutingCommand::SettleStart {
        process_instance_key: instance,
    };
    cx.send(ended.reply_to, RemoteCommand::Routing(answer));
}

/// ROUTING SETTLE_START.
pub(super) fn settle(cx: &mut Context<'_>, instance: Key) {
    let row = cx.state.slots.started.get(instance);
    if row.is_some_and(|row| row.is_over) {
        cx.event(instance, Intent::StartSettled, &RoutingValue::default());
    }
}

/// Repeats reports that are not answered, at most `limit`. The next ones follow once these are.
pub(super) fn retry(cx: &mut Context<'_>, limit: usize) {
    let over = cx.state.slots.over_after(Key::NONE);
    let over: Vec<Key> = over.take(limit).collect();
    for instance in over {
        report(cx, instance);
    }
}
