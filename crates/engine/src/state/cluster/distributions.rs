//! Commands being distributed to all partitions, kept until each has acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::remote::Order;
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The encoded [`Order`].
    pub command: Vec<u8>,
    /// Partitions that have not acknowledged.
    pub pending: Vec<u32>,
}

impl Distribution {
    pub fn order(&self) -> Option<Order> {
        skep_protocol::record::decode(&self.command).ok()
    }
}

impl Row for Distribution {
    const TABLE: u8 = 9;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.command.len() + self.pending.len() * size_of::<u32>()
    }
}

pub struct Distributions {
    pub table: Table<Distribution>,
    /// Unacknowledged commands by partition.
    waiting: BTreeMap<u32, BTreeSet<Key>>,
}

impl Distributions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut waiting = BTreeMap::<u32, BTreeSet<Key>>::new();
        let table = Table::open_with(tables, |key, row: Distribution| {
            for partition in row.pending {
                waiting.entry(partition).or_default().insert(key);
            }
        })?;
        Ok(Distributions { table, waiting })
    }

    pub(in crate::appliers) fn start(&mut self, key: Key, command: Vec<u8>) {
        self.table.insert(
            key,
            Distribution {
                command,
                pending: Vec::new(),
            },
        );
    }

    pub(in crate::appliers) fn add_pending(&mut self, key: Key, partition: u32) {
        if let Some(row) = self.table.must_get_mut(key) {
            row.pending.push(partition);
            self.waiting.entry(partition).or_default().insert(key);
        }
    }

    pub(in crate::appliers) fn acknowledge(&mut self, key: Key, partition: u32) {
        if let Some(row) = self.table.must_get_mut(key) {
            row.pending.retain(|p| *p != partition);
        }
        if let Some(keys) = self.waiting.get_mut(&partition) {
            keys.remove(&key);
        }
    }

    /// Removes a distribution that all partitions have acknowledged.
    pub(in crate::appliers) fn finish(&mut self, key: Key) {
        self.table.remove(key);
    }

    /// Number of unacknowledged commands of each partition.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.waiting
            .iter()
            .map(|(partition, keys)| (*partition, keys.len()))
    }

    /// Whether any partition has not acknowledged it.
    pub fn is_under_way(&self, key: Key) -> bool {
        self.waiting.values().any(|keys| keys.contains(&key))
    }

    /// The oldest command that the partition has not acknowledged.
    pub fn next_for(&self, partition: u32) -> Option<Key> {
        self.waiting.get(&partition)?.first().copied()
    }
}

impl Indexed<Distribution> for Distributions {
    fn rows(&mut self) -> &mut Table<Distribution> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Distribution) {
        for partition in &row.pending {
            self.waiting.entry(*partition).or_default().insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &Distribution) {
        for partition in &row.pending {
            if let Some(keys) = self.waiting.get_mut(partition) {
                keys.remove(&key);
            }
        }
    }
}
