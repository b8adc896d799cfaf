//! The positions of the exporters and the instructions of operators, in a single row.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::ExportingValue;

use crate::state::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredExporting(pub ExportingValue);

impl Row for StoredExporting {
    const TABLE: u8 = 65;

    fn weight(&self) -> usize {
        self.0.weight()
    }
}

/// The key of the only row.
const ROW: Key = Key(0);

pub struct Exporting {
    pub table: Table<StoredExporting>,
    value: ExportingValue,
    /// Counts the changes, so that observers can detect them.
    revision: u64,
}

impl Exporting {
    pub fn open(tables: &Arc<Tables>) -> Result<Exporting, StoreError> {
        let mut value = ExportingValue::default();
        let table = Table::open_with(tables, |_, row: StoredExporting| value = row.0)?;
        Ok(Exporting {
            table,
            value,
            revision: 0,
        })
    }

    pub fn value(&self) -> &ExportingValue {
        &self.value
    }

    /// Differs after each change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        self.table.undo(position, |_, _| {});
        let row = self.table.get(ROW);
        self.value = row.map_or_else(ExportingValue::default, |row| row.0.clone());
        self.revision += 1;
    }

    pub(in crate::appliers) fn set(&mut self, value: ExportingValue) {
        self.table.insert(ROW, StoredExporting(value.clone()));
        self.value = value;
        self.revision += 1;
    }
}
