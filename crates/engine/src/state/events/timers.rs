//! Timers by due date: of element instances, and of the start events of definitions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::TimerValue;

use crate::state::subscriptions::remove_from;
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    /// The element instance that owns the timer. None: the definition, for its start event.
    pub element_instance_key: Key,
    /// For a definition's timer: the instance started by the previous timer in the cycle.
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    /// The triggered event.
    pub target_element: u32,
    /// Epoch milliseconds.
    pub due_date: i64,
    /// See [`TimerValue::repetitions`].
    pub repetitions: i32,
    /// See [`TimerValue::cycle`].
    pub cycle: Arc<str>,
}

impl Timer {
    pub fn of(value: &TimerValue) -> Timer {
        Timer {
            element_instance_key: value.element_instance_key,
            process_instance_key: value.process_instance_key,
            process_definition_key: value.process_definition_key,
            target_element: value.target_element,
            due_date: value.due_date,
            repetitions: value.repetitions,
            cycle: value.cycle.clone(),
        }
    }

    /// The record value.
    pub fn value(&self) -> TimerValue {
        TimerValue {
            element_instance_key: self.element_instance_key,
            process_instance_key: self.process_instance_key,
            process_definition_key: self.process_definition_key,
            target_element: self.target_element,
            due_date: self.due_date,
            repetitions: self.repetitions,
            cycle: self.cycle.clone(),
        }
    }

    /// Whether it starts instances.
    pub fn is_of_definition(&self) -> bool {
        self.element_instance_key.is_none()
    }

    /// The instance that waits for it.
    pub fn instance(&self) -> Key {
        if self.is_of_definition() {
            Key::NONE
        } else {
            self.process_instance_key
        }
    }
}

impl Row for Timer {
    const TABLE: u8 = 4;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.cycle.len()
    }
}

pub struct Timers {
    pub table: Table<Timer>,
    due: BTreeSet<(i64, Key)>,
    by_definition: HashMap<Key, BTreeSet<Key>>,
}

impl Timers {
    pub fn open(tables: &Arc<Tables>) -> Result<Timers, StoreError> {
        let mut due = BTreeSet::new();
        let mut by_definition: HashMap<Key, BTreeSet<Key>> = HashMap::new();
        let table = Table::open_with(tables, |key, row: Timer| {
            due.insert((row.due_date, key));
            if row.is_of_definition() {
                let keys = by_definition.entry(row.process_definition_key);
                keys.or_default().insert(key);
            }
        })?;
        Ok(Timers {
            table,
            due,
            by_definition,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&Timer> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, timer: Timer) {
        self.add_to_index(key, &timer);
        self.table.insert(key, timer);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(timer) = self.table.remove(key) {
            self.take_from_index(key, &timer);
        }
    }

    /// Lets the timer trigger an event of another definition. Its due date stays.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, timer: Timer) {
        if let Some(row) = self.table.must_get_mut(key) {
            *row = timer;
        }
    }

    /// Keeps the timer, but it is not due any more until the state is opened again.
    pub fn rest(&mut self, key: Key) {
        self.hold(key);
    }

    /// Takes the timer out of the index: it is never due.
    pub(in crate::appliers::state) fn hold(&mut self, key: Key) {
        if let Some(due_date) = self.get(key).map(|timer| timer.due_date) {
            self.due.remove(&(due_date, key));
        }
    }

    /// Puts a held timer back into the index.
    pub(in crate::appliers::state) fn release(&mut self, key: Key) {
        if let Some(due_date) = self.get(key).map(|timer| timer.due_date) {
            self.due.insert((due_date, key));
        }
    }

    /// Number of timers for start events of definitions.
    pub fn of_definitions(&self) -> usize {
        self.by_definition.values().map(BTreeSet::len).sum()
    }

    /// Timers of the definition's start events, oldest first.
    pub fn of_definition(&self, definition: Key) -> Vec<Key> {
        let keys = self.by_definition.get(&definition);
        keys.into_iter().flatten().copied().collect()
    }

    /// Timers that are due, the most overdue first.
    pub fn due(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        self.due.range(..=(now, Key(i64::MAX))).map(|(_, key)| *key)
    }

    /// Due date of the next timer, epoch milliseconds.
    pub fn next_due(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }
}

impl Indexed<Timer> for Timers {
    fn rows(&mut self) -> &mut Table<Timer> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Timer) {
        self.due.insert((row.due_date, key));
        if row.is_of_definition() {
            let keys = self.by_definition.entry(row.process_definition_key);
            keys.or_default().insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &Timer) {
        self.due.remove(&(row.due_date, key));
        remove_from(&mut self.by_definition, &row.process_definition_key, key);
    }
}
