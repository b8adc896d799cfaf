//! Commands on their way to all partitions, kept until each has acknowledged.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use super::table::{Row, StoreError, Table, Tables};
use crate::remote::Distributed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The encoded [`Distributed`] command.
    pub command: Vec<u8>,
    /// Partitions that have not acknowledged.
    pub pending: Vec<u32>,
}

impl Distribution {
    pub fn command(&self) -> Option<Distributed> {
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
    /// Keys of all unfinished distributions.
    open: BTreeMap<Key, ()>,
}

impl Distributions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut open = BTreeMap::new();
        let table = Table::open_with(tables, |key, _| {
            open.insert(key, ());
        })?;
        Ok(Distributions { table, open })
    }

    pub(in crate::appliers) fn start(&mut self, key: Key, command: Vec<u8>) {
        self.open.insert(key, ());
        self.table.insert(
            key,
            Distribution {
                command,
                pending: Vec::new(),
            },
        );
    }

    pub(in crate::appliers) fn add_pending(&mut self, key: Key, partition: u32) {
        if let Some(row) = self.table.get_mut(key) {
            row.pending.push(partition);
        }
    }

    pub(in crate::appliers) fn acknowledge(&mut self, key: Key, partition: u32) {
        if let Some(row) = self.table.get_mut(key) {
            row.pending.retain(|p| *p != partition);
        }
    }

    pub(in crate::appliers) fn finish(&mut self, key: Key) {
        self.open.remove(&key);
        self.table.remove(key);
    }

    pub fn unfinished(&self) -> impl Iterator<Item = Key> + '_ {
        self.open.keys().copied()
    }
}
