//! Progress of adding partitions, as this partition knows it: one row, if it knows anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::state::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Desired number of partitions; known to the first partition. 0: never set.
    pub desired: u32,
    /// Number of partitions with the complete global state, which all of them know or are about to learn. 0: none were ever
    /// added.
    pub whole: u32,
    /// New partitions that have requested the global state from the first one: from then on it keeps for them the commands
    /// that all partitions carry out.
    pub pulling: BTreeSet<u32>,
    /// New partitions that have the complete global state. The first partition knows all of them, the others only
    /// themselves.
    pub bootstrapped: BTreeSet<u32>,
    /// The distribution that informs all partitions that the new ones are complete. [`Key::NONE`]: not yet.
    pub finished: Key,
}

impl Row for Scaling {
    const TABLE: u8 = 68;

    fn weight(&self) -> usize {
        size_of::<Self>() + (self.pulling.len() + self.bootstrapped.len()) * size_of::<u32>()
    }
}

/// The key of the only row.
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

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        self.table.undo(position, |_, _| {});
        self.value = self.table.get(ROW).cloned().unwrap_or_default();
    }

    pub(in crate::appliers) fn change(&mut self, change: impl FnOnce(&mut Scaling)) {
        change(&mut self.value);
        self.table.insert(ROW, self.value.clone());
    }
}
