//! How many partitions there are to be, as this partition has learnt it: one row, if it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use super::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What all partitions carry out goes to so many. 0: nobody has said anything.
    pub partitions: u32,
    /// Those of the new ones that have what every partition has. The first partition knows all of them, the others themselves.
    pub bootstrapped: BTreeSet<u32>,
    /// The distribution by which all partitions learn that the new ones are whole; [`Key::NONE`]: they are not yet.
    pub finished: Key,
}

impl Row for Scaling {
    const TABLE: u8 = 68;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.bootstrapped.len() * size_of::<u32>()
    }
}

/// The key of the one row.
const ROW: Key = Key(0);

pub struct ScalingRow {
    pub table: Table<Scaling>,
    value: Scaling,
}

impl ScalingRow {
    pub fn open(tables: &Arc<Tables>) -> Result<ScalingRow, StoreError> {
        let mut value = Scaling::default();
        let table = Table::open_with(tables, |_, row: Scaling| value = row)?;
        Ok(ScalingRow { table, value })
    }

    pub fn get(&self) -> &Scaling {
        &self.value
    }

    pub(super) fn undo(&mut self, position: u64) {
        self.table.undo(position, |_, _| {});
        self.value = self.table.get(ROW).cloned().unwrap_or_default();
    }

    pub(in crate::appliers) fn change(&mut self, change: impl FnOnce(&mut Scaling)) {
        change(&mut self.value);
        self.table.insert(ROW, self.value.clone());
    }
}
