//! Open incidents.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{ErrorType, IncidentValue};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentRow {
    pub error_type: ErrorType,
    pub error_message: Arc<str>,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    pub element: u32,
    pub element_instance_key: Key,
    /// None unless a job is the cause.
    pub job_key: Key,
    pub variable_scope_key: Key,
}

impl IncidentRow {
    fn of(value: &IncidentValue) -> IncidentRow {
        IncidentRow {
            error_type: value.error_type,
            error_message: value.error_message.clone(),
            process_definition_key: value.process_definition_key,
            process_instance_key: value.process_instance_key,
            root_process_instance_key: value.root_process_instance_key,
            element: value.element,
            element_instance_key: value.element_instance_key,
            job_key: value.job_key,
            variable_scope_key: value.variable_scope_key,
        }
    }

    /// The record value.
    pub fn value(&self) -> IncidentValue {
        IncidentValue {
            error_type: self.error_type,
            error_message: self.error_message.clone(),
            process_definition_key: self.process_definition_key,
            process_instance_key: self.process_instance_key,
            root_process_instance_key: self.root_process_instance_key,
            element: self.element,
            element_instance_key: self.element_instance_key,
            job_key: self.job_key,
            variable_scope_key: self.variable_scope_key,
        }
    }
}

impl Row for IncidentRow {
    const TABLE: u8 = 5;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.error_message.len()
    }
}

pub struct Incidents {
    pub table: Table<IncidentRow>,
    /// Keys of all rows, resident or not.
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

    pub fn get(&mut self, key: Key) -> Option<&IncidentRow> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, value: &IncidentValue) {
        self.keys.insert(key);
        self.table.insert(key, IncidentRow::of(value));
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

impl Indexed<IncidentRow> for Incidents {
    fn rows(&mut self) -> &mut Table<IncidentRow> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, _row: &IncidentRow) {
        self.keys.insert(key);
    }

    fn take_from_index(&mut self, key: Key, _row: &IncidentRow) {
        self.keys.remove(&key);
    }
}
