//! Users and their permissions. All of it stays in memory, because each command needs it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_identity::{Directory, Entry};
use skep_protocol::Key;

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdentityRow(pub Entry);

impl Row for IdentityRow {
    const TABLE: u8 = 67;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

/// Rows use the keys of their entities; memberships, which have none, are numbered ([`Directory::next_membership`]).
pub struct Identity {
    pub table: Table<IdentityRow>,
    pub directory: Directory,
}

impl Identity {
    pub fn open(tables: &Arc<Tables>) -> Result<Identity, StoreError> {
        let mut directory = Directory::default();
        let table = Table::open_with(tables, |key, row: IdentityRow| directory.add(key, &row.0))?;
        Ok(Identity { table, directory })
    }

    /// Adds or updates an entity.
    pub(in crate::appliers) fn set(&mut self, key: Key, entry: Entry) {
        if let Some(IdentityRow(old)) = self.table.get(key) {
            self.directory.remove(key, old);
        }
        debug_assert!(!key.is_none(), "a row has a key");
        self.directory.add(key, &entry);
        self.table.insert(key, IdentityRow(entry));
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(IdentityRow(old)) = self.table.get(key) {
            self.directory.remove(key, old);
            self.table.remove(key);
        }
    }
}

impl Indexed<IdentityRow> for Identity {
    fn rows(&mut self) -> &mut Table<IdentityRow> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &IdentityRow) {
        self.directory.add(key, &row.0);
    }

    fn take_from_index(&mut self, key: Key, row: &IdentityRow) {
        self.directory.remove(key, &row.0);
    }
}
