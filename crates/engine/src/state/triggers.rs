//! Triggers: an event has happened, and its target is still to be activated.
//!
//! A trigger is a row until it is used, so that it survives incidents, restarts and work that is put off. The scope in which
//! the target is activated counts it (see `Extra::triggers`) and does not complete before it is used.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use super::table::{Row, StoreError, Table, Tables, weight_of};
use crate::remote::Variables;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The activity that the event is attached to, or the scope of a start instruction.
    pub scope_key: Key,
    /// Where the target is activated.
    pub flow_scope_key: Key,
    pub interrupting: bool,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    /// An element within the flow scope, or deeper (a start instruction whose scopes could not be made yet).
    pub target_element: u32,
    pub variables: Variables,
}

impl Row for Trigger {
    const TABLE: u8 = 12;

    fn weight(&self) -> usize {
        size_of::<Self>() + weight_of(&self.variables)
    }
}

pub struct Triggers {
    pub table: Table<Trigger>,
}

impl Triggers {
    pub fn open(tables: &Arc<Tables>) -> Result<Triggers, StoreError> {
        Ok(Triggers {
            table: Table::open(tables)?,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&Trigger> {
        self.table.get(key)
    }
}
