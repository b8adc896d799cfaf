//! ROUTING events: slots of correlation keys move, with their rows.

use skep_protocol::Key;
use skep_protocol::intent::RoutingIntent as Intent;
use skep_protocol::value::{MovedRow, RoutingValue, RowLocation};

use crate::appliers::Apply;
use crate::state::subscriptions::StartedByMessage;
use crate::state::{Arrival, Departure, Holder, State};

impl Apply<RoutingValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &RoutingValue, _timestamp: i64) {
        match intent {
            Intent::Leaving => {
                debug_assert!(
                    self.slots.departing().is_none(),
                    "one move leaves the partition at a time"
                );
                let departure = Departure {
                    to: value.partition,
                    slots: value.slots.clone(),
                    is_gone: false,
                };
                self.slots.depart(key, departure);
                self.slots.hold(&value.slots, Holder::Leaving);
            }
            Intent::Arrived => {
                for row in &value.rows {
                    arrive(self, row);
                }
                self.slots
                    .arrive(value.partition, arrival(key, value, false));
            }
            Intent::Taken => {
                debug_assert!(
                    self.slots
                        .arrival(value.partition)
                        .is_none_or(|last| last.move_key <= key),
                    "moves from a partition arrive in their order"
                );
                self.slots.hold(&value.slots, Holder::Here);
                self.slots
                    .arrive(value.partition, arrival(key, value, true));
            }
            Intent::Gone => {
                debug_assert_eq!(
                    self.slots.departing(),
                    Some(key),
                    "what goes has been leaving"
                );
                let to = value.partition;
                self.slots.is_gone(key);
                self.slots.hold(&value.slots, Holder::Gone { to });
            }
            Intent::Dropped => {
                for row in &value.dropped {
                    drop_row(self, *row);
                }
                // The last ones of the move.
                if !value.slots.is_empty() {
                    self.slots.end_departure(key);
                }
            }
            Intent::Adopted => self.slots.hold(&value.slots, Holder::Here),
            Intent::StartLeft => start_left(self, key),
            Intent::StartReleased => self.slots.end_start(key),
            Intent::StartEnded => self.message_starts.end(key),
            Intent::StartSettled => self.slots.settle_start(key),
            Intent::Arrive
            | Intent::Leave
            | Intent::Drop
            | Intent::Report
            | Intent::EndStart
            | Intent::SettleStart
            | Intent::Adopt => {}
        }
    }
}

fn arrival(move_key: Key, value: &RoutingValue, is_taken: bool) -> Arrival {
    Arrival {
        move_key,
        up_to: value.up_to,
        is_taken,
    }
}

fn arrive(state: &mut State, row: &MovedRow) {
    match row {
        MovedRow::Start {
            process_instance_key,
            bpmn_process_id,
            correlation_key,
            tenant,
        } => {
            let started = StartedByMessage {
                tenant: tenant.clone(),
                bpmn_process_id: bpmn_process_id.clone(),
                correlation_key: correlation_key.clone(),
            };
            let instance = *process_instance_key;
            state.message_starts.begin(instance, started);
            // The key has come back to the partition of the instance. If that is over, it is about to say so.
            let left = state.slots.started.get(instance);
            if left.is_some_and(|left| !left.is_over) {
                state.slots.settle_start(instance);
            }
        }
        MovedRow::Message {
            key,
            value,
            correlated,
            moves,
        } => {
            let taken = (correlated.clone(), *moves);
            state.messages.arrive(*key, value, taken);
        }
        MovedRow::Subscription { key, value } => state.message_subscriptions.arrive(*key, value),
    }
}

fn drop_row(state: &mut State, row: RowLocation) {
    match row.kind {
        RowLocation::START => start_left(state, row.key),
        RowLocation::MESSAGE => state.messages.remove(row.key),
        RowLocation::SUBSCRIPTION => state.message_subscriptions.remove(row.key),
        kind => debug_assert!(false, "rows of kind {kind} do not move"),
    }
}

/// The instance keeps others from starting on another partition from now on. If it lives here, its end is to be reported there.
fn start_left(state: &mut State, instance: Key) {
    if let Some(started) = state.message_starts.started_by(instance) {
        state.message_starts.end(instance);
        if instance.partition() == Some(state.partition) {
            state.slots.start(instance, started);
        }
    }
}
