//! Timers by due date.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::TimerValue;

use super::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerRow(pub TimerValue);

impl Row for TimerRow {
    const TABLE: u8 = 4;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.cycle.len()
    }
}

pub struct Timers {
    pub table: Table<TimerRow>,
    due: BTreeSet<(i64, Key)>,
}

impl Timers {
    pub fn open(tables: &Arc<Tables>) -> Result<Timers, StoreError> {
        let mut due = BTreeSet::new();
        let table = Table::open_with(tables, |key, row: TimerRow| {
            due.insert((row.0.due_date, key));
        })?;
        Ok(Timers { table, due })
    }

    pub fn get(&mut self, key: Key) -> Option<&TimerValue> {
        self.table.get(key).map(|row| &row.0)
    }

    pub fn insert(&mut self, key: Key, timer: TimerValue) {
        self.due.insert((timer.due_date, key));
        self.table.insert(key, TimerRow(timer));
    }

    pub fn remove(&mut self, key: Key) -> Option<TimerValue> {
        let row = self.table.remove(key)?;
        self.due.remove(&(row.0.due_date, key));
        Some(row.0)
    }

    /// The timer stays and is not due any more, until the state is opened again.
    pub fn rest(&mut self, key: Key) {
        if let Some(row) = self.table.get(key) {
            self.due.remove(&(row.0.due_date, key));
        }
    }

    /// The timer will never be due.
    pub(super) fn hold(&mut self, key: Key) {
        if let Some(due_date) = self.get(key).map(|timer| timer.due_date) {
            self.due.remove(&(due_date, key));
        }
    }

    /// Timers whose due date has come, the most overdue first.
    pub fn due(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        self.due.range(..=(now, Key(i64::MAX))).map(|(_, key)| *key)
    }

    /// Due date of the next timer, epoch milliseconds.
    pub fn next_due(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }
}
