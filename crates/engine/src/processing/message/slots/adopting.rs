//! Slots that no partition has. A recovery from an earlier copy can lose that a slot has arrived, while the partition that had it knows that
//! it has gone: then the two send whatever is about the slot to each other. Commands count how often they have been sent on, and after more
//! hops than there are partitions one of these adopts the slot.

use skep_protocol::intent::{Intent as _, RoutingIntent as Intent};
use skep_protocol::value::RoutingValue;
use skep_protocol::{Routing, ValueType};

use super::{Place, place_of_key};
use crate::processing::Context;
use crate::state::State;

/// Hops on top of twice the number of partitions. Without a loss a command comes to each partition once, and once more for each move of the
/// slot that it meets with.
const MOVES: u32 = 8;

/// The place of what is about this correlation key and has been sent on so often, where `place` is that of what has just been sent.
///
/// The first to adopt the slot is a partition that has no row for it, although others consider it the owner: it may still have the rows. If
/// all of them have given it away, the partition of the routing adopts it.
pub(super) fn after_hops(
    routing: &Routing,
    state: &mut State,
    (correlation_key, hops): (&str, u32),
    place: Place,
) -> Place {
    let all = routing.count();
    let circles = all.saturating_mul(2).saturating_add(MOVES);
    let Place::At(_) = place else {
        return place;
    };
    if hops < circles {
        return place;
    }
    // All of them may hear of a new routing one after the other.
    let is_over = hops > circles.saturating_add(all).saturating_add(2);
    // The targets of the moves settle it.
    if routing.targets().is_some() {
        return if is_over { Place::Lost } else { place };
    }
    let slot = routing.slot_of(correlation_key);
    if state.slots.holder(slot).is_none() && routing.initial_of_slot(slot) != state.partition {
        return Place::Here;
    }
    if hops < circles.saturating_add(all) {
        return place;
    }
    let owner = routing.of_slot(slot);
    if owner == state.partition && !is_dropping(state, slot) {
        Place::Here
    } else if is_over {
        Place::Lost
    } else {
        Place::At(owner)
    }
}

/// Whether rows of the slot are left here from the time when it went.
fn is_dropping(state: &mut State, slot: u32) -> bool {
    let Some(move_key) = state.slots.departing() else {
        return false;
    };
    let departure = state.slots.departures.get(move_key);
    departure.is_some_and(|departure| departure.slots.contains(&slot))
}

/// Writes that the partition has the slot of this key from now on, if it has it only [because](after_hops) of the hops.
pub(crate) fn adopt(cx: &mut Context<'_>, correlation_key: &str, hops: u32) {
    if hops == 0 || place_of_key(&cx.config.routing, cx.state, correlation_key) == Place::Here {
        return;
    }
    let slot = cx.config.routing.slot_of(correlation_key);
    let key = cx.next_key();
    cx.out
        .command(key, ValueType::Routing, Intent::Adopt.id(), &cx.origin);
    let value = RoutingValue {
        partition: cx.state.partition,
        slots: vec![slot],
        ..RoutingValue::default()
    };
    cx.event(key, Intent::Adopted, &value);
}
