//! Open incidents.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::IncidentValue;

use super::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentRow(pub IncidentValue);

impl Row for IncidentRow {
    const TABLE: u8 = 5;
}

pub struct Incidents {
    pub table: Table<IncidentRow>,
}

impl Incidents {
    pub fn open(tables: &Arc<Tables>) -> Result<Incidents, StoreError> {
        Ok(Incidents {
            table: Table::open(tables)?,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&IncidentValue> {
        self.table.get(key).map(|row| &row.0)
    }
}
