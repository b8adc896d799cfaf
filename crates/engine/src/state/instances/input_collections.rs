//! The items of multi-instance bodies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::document::JsonText;

use crate::state::table::{Row, StoreError, Table, Tables};

/// The items of one body, under its key. They are evaluated once and never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputCollection {
    pub items: Vec<JsonText>,
}

impl Row for InputCollection {
    const TABLE: u8 = 20;

    fn weight(&self) -> usize {
        let texts = self.items.iter();
        size_of::<Self>()
            + texts
                .map(|text| size_of::<JsonText>() + 16 + text.len())
                .sum::<usize>()
    }
}

pub struct InputCollections {
    pub table: Table<InputCollection>,
}

impl InputCollections {
    pub fn open(tables: &Arc<Tables>) -> Result<InputCollections, StoreError> {
        Ok(InputCollections {
            table: Table::open(tables)?,
        })
    }

    /// The item of a body's inner instance, counted from 1.
    pub fn item(&mut self, body: Key, counter: u32) -> Option<JsonText> {
        let index = (counter as usize).checked_sub(1)?;
        self.table.get(body)?.items.get(index).cloned()
    }
}
