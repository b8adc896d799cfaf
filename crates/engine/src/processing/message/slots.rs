//! ROUTING: slots of correlation keys move to partitions that were added.
//!
//! A slot moves with its rows: the message side of subscriptions, messages, and the instances that keep others of their process from
//! starting. The partition that has the slot ([`leaving`]) freezes it and sends the rows, in parts, to the one that is to have it
//! ([`arriving`]), which owns the slot with the last part. Both repeat what is not answered, and a move that has begun ends. Requests and
//! commands about a frozen slot wait; afterwards the earlier partition sends them on, so it does not matter how up to date the sender's
//! routing is. [`starts`] is about instances whose partition does not have their correlation key any more, and [`adopting`] about slots that
//! no partition has since one of them was recovered from an earlier copy.

pub(crate) mod adopting;
pub(crate) mod arriving;
pub(crate) mod leaving;
pub(crate) mod starts;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use skep_protocol::command::{At, Request};
use skep_protocol::record::encode;
use skep_protocol::value::RowLocation;
use skep_protocol::{Key, Routing, ValueType};

use self::leaving::Door;
use crate::processing::{Context, Volatile};
use crate::remote::{EndedStart, RemoteCommand, RoutingCommand, Sent};
use crate::state::{Holder, State};

/// Limits of the commands of other partitions that wait while their slots are frozen. Beyond them, commands are dropped: their senders
/// repeat them.
const MOST_HELD: usize = 10_000;
const MOST_HELD_BYTES: usize = 16 << 20;

/// Where a command about a correlation key can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this partition.
    Here,
    /// Nowhere for the moment: the correlation key is about to move.
    Waits,
    /// On this other partition, which may have to send it on.
    At(u32),
    /// Nowhere: it has been sent on so often that it is not clear which partition has the key.
    Lost,
}

/// The leader's memory of moves. A new leader begins without.
#[derive(Debug, Default)]
pub(crate) struct Moving {
    /// The slots that are to move next.
    door: Option<Door>,
    /// The rows of a move, ascending: those to be sent, or those that are left to be dropped.
    rows: Option<(Key, VecDeque<RowLocation>)>,
    /// Whether rows were dropped since unanswered commands were repeated last, and the next ones are about to be.
    drops: bool,
    /// Commands of other partitions that wait, and their bytes.
    held: VecDeque<(Sent, usize)>,
    held_bytes: usize,
    /// On the first partition: which version of the routing each partition has brought about.
    reports: BTreeMap<u32, u64>,
}

/// The partition of the slot, as far as this one knows.
fn place_of_slot(routing: &Routing, state: &mut State, slot: u32) -> Place {
    let initial = routing.initial_of_slot(slot);
    match state.slots.holder(slot) {
        Some(Holder::Here) => Place::Here,
        Some(Holder::Leaving) => Place::Waits,
        Some(Holder::Gone { to }) => Place::At(to),
        None if initial == state.partition => Place::Here,
        // It has lost that, in a recovery from an earlier copy.
        None if routing.of_slot(slot) == state.partition => Place::Here,
        None if routing.target_of_slot(slot) == Some(state.partition) => Place::Waits,
        None => Place::At(initial),
    }
}

/// Whether this partition has the correlation keys that it had when the cluster began: nothing needs to be looked up.
fn is_untouched(routing: &Routing, state: &State) -> bool {
    state.slots.is_untouched() && state.partition <= routing.initial()
}

pub(crate) fn place_of_key(routing: &Routing, state: &mut State, correlation_key: &str) -> Place {
    if is_untouched(routing, state) {
        return Place::Here;
    }
    place_of_slot(routing, state, routing.slot_of(correlation_key))
}

/// Whether this partition has the correlation key, and may change what belongs to it.
pub(crate) fn is_here(cx: &mut Context<'_>, correlation_key: &str) -> bool {
    place_of_key(&cx.config.routing, cx.state, correlation_key) == Place::Here
}

/// The place of a client's request.
pub(crate) fn place_of_request(
    routing: &Routing,
    state: &mut State,
    volatile: &Volatile,
    request: &Request,
) -> Place {
    let command = &request.command;
    let At::Correlation(correlation_key) = command.at() else {
        return Place::Here;
    };
    // The client of a correlation waits for the instance. It is to have its answer before the slot moves.
    if command.record().value_type == ValueType::MessageCorrelation
        && let Some(door) = &volatile.moving.door
        && door.slots.contains(&routing.slot_of(correlation_key))
    {
        return Place::Waits;
    }
    let place = place_of_key(routing, state, correlation_key);
    adopting::after_hops(routing, state, (correlation_key, request.hops), place)
}

/// The correlation key that a command of another partition is about. A row that is not here cannot tell its key: such a command is carried
/// out here, where it has no effect.
fn correlation_key_of(cx: &mut Context<'_>, command: &RemoteCommand) -> Option<Arc<str>> {
    match command {
        RemoteCommand::OpenMessageSubscription(value) => Some(value.correlation_key.clone()),
        RemoteCommand::CloseMessageSubscriptionByKey {
            correlation_key, ..
        }
        | RemoteCommand::Routing(RoutingCommand::EndStart(EndedStart {
            correlation_key, ..
        })) => Some(correlation_key.clone()),
        RemoteCommand::MessageCorrelated {
            element_instance_key,
            message_name,
            ..
        }
        | RemoteCommand::RejectCorrelation {
            element_instance_key,
            message_name,
            ..
        }
        | RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            message_name,
            ..
        } => {
            let subscriptions = &mut cx.state.message_subscriptions;
            let key = subscriptions.of_element(*element_instance_key, message_name);
            let row = key.and_then(|key| subscriptions.get(key));
            row.map(|row| row.correlation_key.clone())
        }
        _ => None,
    }
}

/// Whether the command is to be carried out here and now. Otherwise it has been sent on, or waits, or its sender repeats it.
pub(crate) fn admits(cx: &mut Context<'_>, sent: &Sent) -> bool {
    if is_untouched(&cx.config.routing, cx.state) {
        return true;
    }
    let (hops, command) = sent.command.hops();
    let Some(key) = correlation_key_of(cx, command) else {
        return true;
    };
    let (routing, state) = (&cx.config.routing, &mut *cx.state);
    let place = place_of_key(routing, state, &key);
    match adopting::after_hops(routing, state, (&key, hops), place) {
        Place::Here => {
            adopting::adopt(cx, &key, hops);
            return true;
        }
        Place::At(partition) => {
            let command = Box::new(command.clone());
            let hops = hops.saturating_add(1);
            let sent = Sent {
                origin: sent.origin.clone(),
                command: RemoteCommand::SentOn { hops, command },
            };
            cx.effects.sends.push((partition, sent));
        }
        Place::Lost => {}
        Place::Waits => {
            let bytes = encode(sent).len();
            let moving = &mut cx.volatile.moving;
            if moving.held.len() < MOST_HELD && moving.held_bytes + bytes <= MOST_HELD_BYTES {
                moving.held.push_back((sent.clone(), bytes));
                moving.held_bytes += bytes;
            }
        }
    }
    false
}

/// Sends on the commands that have waited for a slot to move.
fn release_held(cx: &mut Context<'_>) {
    cx.volatile.moving.held_bytes = 0;
    for (sent, _) in std::mem::take(&mut cx.volatile.moving.held) {
        if admits(cx, &sent) {
            let own = cx.state.partition;
            cx.effects.sends.push((own, sent));
        }
    }
}

/// The number of rows of the slot. Those in transit to their instance do not count.
fn count_of(routing: &Routing, state: &State, slot: u32) -> usize {
    locations_of(routing, state, slot).count()
}

/// The rows of the slot, except subscriptions that have a message in transit.
fn locations_of<'a>(
    routing: &'a Routing,
    state: &'a State,
    slot: u32,
) -> impl Iterator<Item = RowLocation> + 'a {
    let shards: RangeInclusive<u16> = routing.shards_of_slot(slot);
    let starts = state.message_starts.of_shards(shards.clone());
    let messages = state.messages.of_shards(shards.clone());
    let waiting = state.message_subscriptions.waiting_of_shards(shards);
    let kinds = (starts.map(|row| (RowLocation::START, row)))
        .chain(messages.map(|row| (RowLocation::MESSAGE, row)))
        .chain(waiting.map(|row| (RowLocation::SUBSCRIPTION, row)));
    kinds.filter_map(move |(kind, (correlation_key, key))| {
        let is_of_slot = routing.slot_of(correlation_key) == slot;
        is_of_slot.then_some(RowLocation { kind, key })
    })
}

/// The rows of these slots, ascending.
fn locations(routing: &Routing, state: &State, slots: &[u32]) -> VecDeque<RowLocation> {
    let rows = slots.iter();
    let mut rows: Vec<RowLocation> = rows
        .flat_map(|slot| locations_of(routing, state, *slot))
        .collect();
    let correlating = state.message_subscriptions.correlating();
    let correlating = correlating.filter(|(key, _)| slots.contains(&routing.slot_of(key)));
    rows.extend(correlating.map(|(_, key)| RowLocation {
        kind: RowLocation::SUBSCRIPTION,
        key,
    }));
    rows.sort_unstable();
    rows.into()
}

/// Repeats unanswered commands, and begins moves.
pub(crate) fn retry(cx: &mut Context<'_>, limit: usize) {
    leaving::retry(cx);
    starts::retry(cx, limit);
}

/// Carries out a command about moves.
pub(crate) fn carry_out(cx: &mut Context<'_>, command: &RoutingCommand) {
    match command {
        RoutingCommand::Arrive(rows) => arriving::arrive(cx, rows),
        RoutingCommand::Leave { move_key, up_to } => leaving::go_on(cx, *move_key, *up_to),
        RoutingCommand::Drop { move_key } => leaving::drop_rows(cx, *move_key),
        RoutingCommand::Report { partition, version } => {
            let reports = &mut cx.volatile.moving.reports;
            reports.insert(*partition, *version);
        }
        RoutingCommand::EndStart(ended) => starts::end(cx, ended),
        RoutingCommand::SettleStart {
            process_instance_key,
        } => starts::settle(cx, *process_instance_key),
    }
}

/// On the first partition: the version of the routing, if it asks for moves and all partitions have made theirs.
pub(crate) fn relocated_at(routing: &Routing, volatile: &Volatile) -> Option<u64> {
    let version = routing.version();
    let reports = &volatile.moving.reports;
    let is_done = |partition| reports.get(&partition) == Some(&version);
    let is_asked = routing.targets().is_some();
    (is_asked && routing.partitions().all(is_done)).then_some(version)
}

/// Whether this partition has something to repeat until it is answered.
pub(crate) fn is_under_way(routing: &Routing, state: &State) -> bool {
    routing.targets().is_some()
        || state.slots.departing().is_some()
        || state.slots.over_after(Key::NONE).next().is_some()
}

/// The routing, for use beside the state.
fn routing(cx: &Context<'_>) -> Arc<Routing> {
    Arc::clone(&cx.config.routing)
}
