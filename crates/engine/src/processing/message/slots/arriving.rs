//! The partition that is to have the slots: it takes their rows, and goes on with what was under way.

use std::collections::BTreeSet;

use skep_protocol::Key;
use skep_protocol::intent::RoutingIntent as Intent;
use skep_protocol::value::{MovedRow, RoutingValue, RowLocation, Step};

use super::routing;
use crate::processing::Context;
use crate::processing::message::message_side;
use crate::remote::{MovedRows, RemoteCommand, RoutingCommand};

/// ROUTING ARRIVE. Rows that are here already are not taken again.
pub(super) fn arrive(cx: &mut Context<'_>, command: &MovedRows) {
    let MovedRows { move_key, from, .. } = command;
    let mut up_to = RowLocation::default();
    if let Some(last) = cx.state.slots.arrival(*from) {
        // A late duplicate of an earlier move.
        if last.move_key > *move_key {
            return;
        }
        if last.move_key == *move_key {
            if last.is_taken {
                return answer(cx, command, None);
            }
            up_to = last.up_to;
        }
    }
    if drops_rows_of(cx, &command.slots) {
        return;
    }
    if command.after != up_to {
        // Only the first rows are ever repeated without being asked for.
        if command.after == RowLocation::default() {
            answer(cx, command, Some(up_to));
        }
        return;
    }
    let mut value = RoutingValue {
        partition: *from,
        rows: command.rows.clone(),
        up_to: command.rows.last().map_or(up_to, MovedRow::location),
        ..RoutingValue::default()
    };
    if !value.rows.is_empty() {
        cx.event(*move_key, Intent::Arrived, &value);
        value.rows.clear();
    }
    if !command.is_last {
        return answer(cx, command, Some(value.up_to));
    }
    value.slots.clone_from(&command.slots);
    cx.event(*move_key, Intent::Taken, &value);
    answer(cx, command, None);
    take_over(cx, &command.slots);
}

fn answer(cx: &mut Context<'_>, command: &MovedRows, up_to: Option<RowLocation>) {
    let move_key = command.move_key;
    let answer = RoutingCommand::Leave { move_key, up_to };
    cx.send(command.from, RemoteCommand::Routing(answer));
}

/// Whether rows of these slots are left here from the time when they moved away. New ones have to wait.
fn drops_rows_of(cx: &mut Context<'_>, slots: &[u32]) -> bool {
    let Some(move_key) = cx.state.slots.departing() else {
        return false;
    };
    let departure = cx.state.slots.departures.get(move_key);
    departure.is_some_and(|departure| departure.slots.iter().any(|slot| slots.contains(slot)))
}

/// Goes on with messages that may be taken, and repeats what was sent to instances: they are to answer to this partition.
fn take_over(cx: &mut Context<'_>, slots: &[u32]) {
    let routing = routing(cx);
    let slots: BTreeSet<u32> = slots.iter().copied().collect();
    let mut messages = Vec::new();
    for slot in &slots {
        let of_shards = cx.state.messages.of_shards(routing.shards_of_slot(*slot));
        let of_slot = of_shards.filter(|(key, _)| routing.slot_of(key) == *slot);
        messages.extend(of_slot.map(|(_, key)| key));
    }
    let table = &mut cx.state.messages;
    messages.sort_by_cached_key(|key| table.get(*key).map(|message| message.rank(*key)));
    for message_key in messages {
        if may_be_taken(cx, message_key) {
            cx.steps.push(Step::CorrelateMessage(message_key));
        }
    }
    let correlating = cx.state.message_subscriptions.correlating();
    let of_slots = correlating.filter(|(key, _)| slots.contains(&routing.slot_of(key)));
    // The others follow when unanswered commands are repeated.
    let keys = of_slots.map(|(_, key)| key).take(cx.config.max_due);
    let keys: Vec<Key> = keys.collect();
    message_side::resend(cx, &keys);
}

/// Whether the correlation of the message goes on: something may wait for it, or it is not buffered.
fn may_be_taken(cx: &mut Context<'_>, message_key: Key) -> bool {
    let Some(message) = cx.state.messages.get(message_key).cloned() else {
        return false;
    };
    let (tenant, name, key) = (&message.tenant, &message.name, &message.correlation_key);
    let waiting = &cx.state.message_subscriptions;
    if message.time_to_live <= 0 || waiting.is_awaited(tenant, name, key) {
        return true;
    }
    let starts = &mut cx.state.message_starts;
    starts.named(tenant, name).into_iter().any(|start| {
        let process = starts.get(start).map(|row| row.bpmn_process_id.clone());
        process.is_some_and(|process| {
            !message.correlated.contains(&process)
                && (key.is_empty() || !starts.is_running(tenant, &process, key))
        })
    })
}
