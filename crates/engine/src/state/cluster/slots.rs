//! Slots of correlation keys, as far as they have moved or are moving. A slot without a row is where it was when the cluster began.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::RowLocation;

use crate::state::subscriptions::StartedByMessage;
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

/// Which partition has the slot, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// This one.
    Here,
    /// This one, until the other has all rows: nothing about the slot may change any more.
    Leaving,
    /// The other one, for as long as it does not come back.
    Gone { to: u32 },
}

impl Row for Holder {
    const TABLE: u8 = 71;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

/// A move to another partition, by its key. The row is removed with the last row of the slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Departure {
    pub to: u32,
    pub slots: Vec<u32>,
    /// The other partition has the slots: their rows are dropped.
    pub is_gone: bool,
}

impl Row for Departure {
    const TABLE: u8 = 72;

    fn weight(&self) -> usize {
        size_of::<Self>() + size_of_val(self.slots.as_slice())
    }
}

/// The last move from another partition, by the number of that partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    pub move_key: Key,
    /// The rows up to this location are here.
    pub up_to: RowLocation,
    /// All of them are here, and the slots belong to this partition since.
    pub is_taken: bool,
}

impl Row for Arrival {
    const TABLE: u8 = 73;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

/// An instance of this partition that a message has started, by its key. The slot of its correlation key has moved, and the partition that
/// has it now must be told when the instance ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedElsewhere {
    pub started: StartedByMessage,
    /// It has ended or left its process, and the other partition may not know.
    pub is_over: bool,
}

impl Row for StartedElsewhere {
    const TABLE: u8 = 74;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.started.weight()
    }
}

pub struct Slots {
    pub table: Table<Holder>,
    pub departures: Table<Departure>,
    pub arrivals: Table<Arrival>,
    pub started: Table<StartedElsewhere>,
    /// Moves that are not finished: rarely more than one.
    unfinished: BTreeSet<Key>,
    /// Instances that are over.
    over: BTreeSet<Key>,
}

impl Slots {
    pub fn open(tables: &Arc<Tables>) -> Result<Slots, StoreError> {
        let (mut unfinished, mut over) = (BTreeSet::new(), BTreeSet::new());
        Ok(Slots {
            table: Table::open(tables)?,
            departures: Table::open_with(tables, |key, _: Departure| {
                unfinished.insert(key);
            })?,
            arrivals: Table::open(tables)?,
            started: Table::open_with(tables, |key, row: StartedElsewhere| {
                if row.is_over {
                    over.insert(key);
                }
            })?,
            unfinished,
            over,
        })
    }

    /// `None`: the slot is where it was when the cluster began.
    pub fn holder(&mut self, slot: u32) -> Option<Holder> {
        self.table.get(key_of(slot)).copied()
    }

    /// Whether no slot of this partition has ever moved, in either direction.
    pub fn is_untouched(&self) -> bool {
        self.table.is_empty()
    }

    /// The oldest move that is not finished.
    pub fn departing(&self) -> Option<Key> {
        self.unfinished.first().copied()
    }

    /// Whether the instance was started by a message whose correlation key has moved since.
    pub fn is_started(&mut self, instance: Key) -> bool {
        !self.started.is_empty() && self.started.contains(instance)
    }

    /// Instances that are over, with keys after this one.
    pub fn over_after(&self, instance: Key) -> impl Iterator<Item = Key> + '_ {
        let rest = (Bound::Excluded(instance), Bound::Unbounded);
        self.over.range(rest).copied()
    }

    pub(in crate::appliers) fn hold(&mut self, slots: &[u32], holder: Holder) {
        for slot in slots {
            self.table.insert(key_of(*slot), holder);
        }
    }

    pub(in crate::appliers) fn depart(&mut self, move_key: Key, departure: Departure) {
        self.unfinished.insert(move_key);
        self.departures.insert(move_key, departure);
    }

    pub(in crate::appliers) fn is_gone(&mut self, move_key: Key) {
        if let Some(departure) = self.departures.must_get_mut(move_key) {
            departure.is_gone = true;
        }
    }

    pub(in crate::appliers) fn end_departure(&mut self, move_key: Key) {
        self.unfinished.remove(&move_key);
        self.departures.remove(move_key);
    }

    pub(in crate::appliers) fn arrive(&mut self, from: u32, arrival: Arrival) {
        self.arrivals.insert(key_of(from), arrival);
    }

    /// The last move from this partition.
    pub fn arrival(&mut self, from: u32) -> Option<&Arrival> {
        self.arrivals.get(key_of(from))
    }

    pub(in crate::appliers) fn start(&mut self, instance: Key, started: StartedByMessage) {
        let is_over = false;
        self.started
            .insert(instance, StartedElsewhere { started, is_over });
    }

    pub(in crate::appliers) fn end_start(&mut self, instance: Key) {
        if !self.started.is_empty()
            && let Some(row) = self.started.get_mut(instance)
        {
            row.is_over = true;
            self.over.insert(instance);
        }
    }

    pub(in crate::appliers) fn settle_start(&mut self, instance: Key) {
        self.over.remove(&instance);
        self.started.remove(instance);
    }

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        self.table.undo(position, |_, _| {});
        self.arrivals.undo(position, |_, _| {});
        Indexed::<Departure>::undo(self, position);
        Indexed::<StartedElsewhere>::undo(self, position);
    }
}

fn key_of(number: u32) -> Key {
    Key(i64::from(number))
}

impl Indexed<Departure> for Slots {
    fn rows(&mut self) -> &mut Table<Departure> {
        &mut self.departures
    }

    fn add_to_index(&mut self, key: Key, _: &Departure) {
        self.unfinished.insert(key);
    }

    fn take_from_index(&mut self, key: Key, _: &Departure) {
        self.unfinished.remove(&key);
    }
}

impl Indexed<StartedElsewhere> for Slots {
    fn rows(&mut self) -> &mut Table<StartedElsewhere> {
        &mut self.started
    }

    fn add_to_index(&mut self, key: Key, row: &StartedElsewhere) {
        if row.is_over {
            self.over.insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, _: &StartedElsewhere) {
        self.over.remove(&key);
    }
}
