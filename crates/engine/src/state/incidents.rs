//! Open incidents.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::IncidentValue;

use super::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentRow(pub IncidentValue);

impl Row for IncidentRow {
    const TABLE: u8 = 5;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.error_message.len()
    }
}

pub struct Incidents {
    pub table: Table<IncidentRow>,
    /// Of all rows, resident or not.
    keys: BTreeSet<Key>,
}

impl Incidents {
    pub fn open(tables: &Arc<Tables>) -> Result<Incidents, StoreError> {
        let mut keys = BTreeSet::new();
        let table = Table::open_with(tables, |key, _| {
            keys.insert(key);
        })?;
        Ok(Incidents { table, keys })
    }

    pub fn get(&mut self, key: Key) -> Option<&IncidentValue> {
        self.table.get(key).map(|row| &row.0)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, value: IncidentValue) {
        self.keys.insert(key);
        self.table.insert(key, IncidentRow(value));
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        self.keys.remove(&key);
        self.table.remove(key);
    }

    /// Keys of open incidents above `after`, oldest first.
    pub fn after(&self, after: Key) -> impl Iterator<Item = Key> {
        let range = (Bound::Excluded(after), Bound::Unbounded);
        self.keys.range(range).copied()
    }
}
