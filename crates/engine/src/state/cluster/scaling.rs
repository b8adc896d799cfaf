//! How far the cluster is with adding partitions, as this partition has learnt it: one row, if it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::state::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// So many partitions there are to be; known to the first partition. 0: nobody has said anything.
    pub desired: u32,
    /// So many partitions have what every partition has, and all of them are about to learn it. 0: none were ever added.
    pub whole: u32,
    /// New partitions that have asked the first one for what every partition has: from then on it keeps for them what all carry out.
    pub pulling: BTreeSet<u32>,
    /// Those of them that have it. The first partition knows all of them, the others themselves.
    pub bootstrapped: BTreeSet<u32>,
    /// The distribution by which all partitions learn that the new ones are whole; [`Key::NONE`]: they are not yet.
    pub finished: Key,
}

impl Row for Scaling {
    const TABLE: u8 = 68;

    fn weight(&self) -> usize {
        size_of::<Self>() + (self.pulling.len() + self.bootstrapped.len()) * size_of::<u32>()
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

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        self.table.undo(position, |_, _| {});
        self.value = self.table.get(ROW).cloned().unwrap_or_default();
    }

    pub(in crate::appliers) fn change(&mut self, change: impl FnOnce(&mut Scaling)) {
        change(&mut self.value);
        self.table.insert(ROW, self.value.clone());
    }
}
