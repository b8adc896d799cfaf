//! The partition that has the slots: it chooses the next ones to move, sends their rows, and drops them once the other partition has them.

use std::collections::BTreeSet;

use skep_protocol::intent::{Intent as _, RoutingIntent as Intent};
use skep_protocol::record::encode;
use skep_protocol::value::{MovedRow, RoutingValue, RowLocation};
use skep_protocol::{Key, Routing, ValueType};

use super::{Place, count_of, locations, place_of_slot, release_held, routing};
use crate::processing::Context;
use crate::remote::{MovedRows, RemoteCommand, RoutingCommand};
use crate::state::State;

/// Rows of a move, unless a single slot has more.
const MOST_ROWS: usize = 1_000;
/// Slots of a move.
const MOST_SLOTS: usize = 512;
/// Bytes and rows after which a part is full.
const PART_BYTES: usize = 1 << 20;
const PART_ROWS: usize = 1_000;
/// Rows that are dropped in one turn.
const DROPPED_ROWS: usize = 250;
/// Milliseconds that clients who wait for a correlation get to have their answer before its slot moves.
const PATIENCE: i64 = 1_000;

/// Slots that are to move as soon as no client waits for a correlation in them. No other correlation begins there meanwhile.
#[derive(Debug)]
pub(super) struct Door {
    pub slots: BTreeSet<u32>,
    to: u32,
    /// As [`crate::EngineConfig::passed`].
    since: i64,
}

/// Repeats what the other partition has not answered, drops what is left to be dropped, or begins the next move.
pub(super) fn retry(cx: &mut Context<'_>) {
    let Some(move_key) = cx.state.slots.departing() else {
        return advance(cx);
    };
    let departure = cx.state.slots.departures.get(move_key);
    if departure.is_some_and(|departure| departure.is_gone) {
        // One drop follows the other, unless one of them was lost.
        if !std::mem::take(&mut cx.volatile.moving.drops) {
            drop_rows(cx, move_key);
        }
    } else {
        // The answer tells which rows the other partition has.
        send_rows(cx, move_key, RowLocation::default());
    }
}

/// Begins the next move if none is under way, or reports that there is none. Moves begin only while the cluster asks for them.
pub(crate) fn advance(cx: &mut Context<'_>) {
    let routing = routing(cx);
    if cx.state.slots.departing().is_some() {
        return;
    }
    if routing.targets().is_none() {
        cx.volatile.moving.door = None;
        return;
    }
    let now = cx.config.passed(cx.now);
    let door = cx.volatile.moving.door.take();
    let door = door.or_else(|| next_door(&routing, cx.state, now));
    let Some(door) = door else {
        let report = RoutingCommand::Report {
            partition: cx.state.partition,
            version: routing.version(),
        };
        return cx.send(Routing::FIRST, RemoteCommand::Routing(report));
    };
    let mut waiting = cx.volatile.awaiting_correlation.values();
    let is_awaited = waiting.any(|(_, slot)| door.slots.contains(slot));
    if is_awaited && (0..PATIENCE).contains(&now.saturating_sub(door.since)) {
        cx.volatile.moving.door = Some(door);
    } else {
        leave(cx, door);
    }
}

/// Whether slots wait for clients to have their answers: call [`advance`] when they may have them.
pub(crate) fn is_at_door(cx: &Context<'_>) -> bool {
    cx.volatile.moving.door.is_some()
}

/// The slots of this partition that other partitions are to have, with these partitions.
pub(crate) fn to_move(routing: &Routing, state: &mut State) -> impl Iterator<Item = (u32, u32)> {
    let targets = routing.targets().into_iter().flatten();
    targets.filter(move |(slot, target)| {
        *target != state.partition && place_of_slot(routing, state, *slot) == Place::Here
    })
}

/// The next slots that another partition is to have: all for the same one.
fn next_door(routing: &Routing, state: &mut State, since: i64) -> Option<Door> {
    let (mut slots, mut to, mut rows) = (BTreeSet::new(), None, 0);
    let candidates: Vec<(u32, u32)> = to_move(routing, state).collect();
    for (slot, target) in candidates {
        if to.is_some_and(|to| to != target) {
            continue;
        }
        rows += count_of(routing, state, slot);
        if rows > MOST_ROWS && !slots.is_empty() {
            break;
        }
        to = Some(target);
        slots.insert(slot);
        if slots.len() >= MOST_SLOTS {
            break;
        }
    }
    let to = to?;
    Some(Door { slots, to, since })
}

fn leave(cx: &mut Context<'_>, door: Door) {
    let Door { slots, to, .. } = door;
    let given_up = cx
        .volatile
        .awaiting_correlation
        .extract_if(|_, (_, slot)| slots.contains(slot));
    let given_up = given_up.map(|(_, (request, _))| request);
    cx.effects.aborted.extend(given_up);
    debug_assert!(
        !slots.is_empty() && to != cx.state.partition,
        "slots move to another partition"
    );
    let key = cx.next_key();
    let value = RoutingValue {
        partition: to,
        slots: slots.into_iter().collect(),
        ..RoutingValue::default()
    };
    cx.out
        .command(key, ValueType::Routing, Intent::Leave.id(), &cx.origin);
    cx.event(key, Intent::Leaving, &value);
    send_rows(cx, key, RowLocation::default());
}

/// Sends the next rows of a move. They do not change any more, except that messages expire.
fn send_rows(cx: &mut Context<'_>, move_key: Key, after: RowLocation) {
    let Some(departure) = cx.state.slots.departures.get(move_key).cloned() else {
        return;
    };
    remember_rows(cx, move_key, &departure.slots);
    let Some((_, locations)) = &cx.volatile.moving.rows else {
        return;
    };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let first = locations.partition_point(|row| *row <= after);
    let mut next = locations.range(first..);
    while bytes < PART_BYTES
        && rows.len() < PART_ROWS
        && let Some(location) = next.next()
    {
        if let Some(row) = row_at(cx.state, *location) {
            bytes += encode(&row).len();
            rows.push(row);
        }
    }
    let rows = MovedRows {
        move_key,
        from: cx.state.partition,
        slots: departure.slots,
        after,
        rows,
        is_last: next.next().is_none(),
    };
    let command = RoutingCommand::Arrive(rows);
    cx.send(departure.to, RemoteCommand::Routing(command));
}

/// Collects the rows of the move, unless this leader has done so.
fn remember_rows(cx: &mut Context<'_>, move_key: Key, slots: &[u32]) {
    let known = &cx.volatile.moving.rows;
    if known.as_ref().is_none_or(|(of, _)| *of != move_key) {
        let rows = locations(&cx.config.routing, cx.state, slots);
        cx.volatile.moving.rows = Some((move_key, rows));
    }
}

fn row_at(state: &mut State, location: RowLocation) -> Option<MovedRow> {
    let key = location.key;
    Some(match location.kind {
        RowLocation::START => {
            let started = state.message_starts.started_by(key)?;
            MovedRow::Start {
                process_instance_key: key,
                bpmn_process_id: started.bpmn_process_id,
                correlation_key: started.correlation_key,
                tenant: started.tenant,
            }
        }
        RowLocation::MESSAGE => {
            let message = state.messages.get(key)?;
            MovedRow::Message {
                key,
                value: message.value(),
                correlated: message.correlated.clone(),
                moves: message.moves.saturating_add(1),
            }
        }
        _ => MovedRow::Subscription {
            key,
            value: state.message_subscriptions.get(key)?.value(),
        },
    })
}

/// ROUTING LEAVE: the other partition has taken rows, or the slots.
pub(super) fn go_on(cx: &mut Context<'_>, move_key: Key, up_to: Option<RowLocation>) {
    let departure = cx.state.slots.departures.get(move_key);
    let Some(departure) = departure.filter(|departure| !departure.is_gone).cloned() else {
        return;
    };
    if let Some(up_to) = up_to {
        return send_rows(cx, move_key, up_to);
    }
    let value = RoutingValue {
        partition: departure.to,
        slots: departure.slots,
        ..RoutingValue::default()
    };
    cx.event(move_key, Intent::Gone, &value);
    release_held(cx);
    drop_rows(cx, move_key);
}

/// ROUTING DROP: drops rows that the other partition has. The last ones end the move.
pub(super) fn drop_rows(cx: &mut Context<'_>, move_key: Key) {
    let departure = cx.state.slots.departures.get(move_key);
    let Some(departure) = departure.filter(|departure| departure.is_gone).cloned() else {
        return;
    };
    remember_rows(cx, move_key, &departure.slots);
    let Some((_, rows)) = &mut cx.volatile.moving.rows else {
        return;
    };
    let count = rows.len().min(DROPPED_ROWS);
    let dropped = rows.drain(..count).collect();
    let is_last = rows.is_empty();
    cx.volatile.moving.drops = !is_last;
    let value = RoutingValue {
        partition: departure.to,
        slots: if is_last { departure.slots } else { Vec::new() },
        dropped,
        ..RoutingValue::default()
    };
    cx.event(move_key, Intent::Dropped, &value);
    if is_last {
        cx.volatile.moving.rows = None;
        advance(cx);
    } else {
        let own = cx.state.partition;
        let command = RoutingCommand::Drop { move_key };
        cx.send(own, RemoteCommand::Routing(command));
    }
}
