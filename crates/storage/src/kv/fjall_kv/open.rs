//! The open database, shared by its owner and its readers, and reopening it.
//!
//! A database whose background thread met an error (such as a full disk) serves reads but accepts no more commits. Leftovers of the failed
//! work are only cleaned up by reopening it, which needs every handle to it to be closed. So nobody keeps a handle: everybody asks for it
//! here, uses it and gives it back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fjall::config::PartitioningPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use parking_lot::RwLock;

use super::{FjallConfig, OPENING, READING, TREE, failed};
use crate::StorageError;
use crate::kv::{Rows, Table};

/// Handles to one open database.
pub(super) struct Open {
    pub(super) database: Database,
    pub(super) tree: Keyspace,
}

impl Open {
    pub(super) fn new(path: &Path, config: &FjallConfig) -> Result<Self, StorageError> {
        let open = || {
            let database = Database::builder(path)
                .cache_size(config.cache_bytes)
                .worker_threads(config.worker_threads.max(1))
                .manual_journal_persist(true)
                .open()?;
            let tree = database.keyspace(TREE, || {
                // Partitioned at every level: a filter in one piece takes megabytes in a store of millions of rows, does not stay in the
                // cache, and would be read and checksummed for every row that is looked up.
                KeyspaceCreateOptions::default()
                    .manual_journal_persist(true)
                    .filter_block_partitioning_policy(PartitioningPolicy::all(true))
                    .index_block_partitioning_policy(PartitioningPolicy::all(true))
            })?;
            Ok(Open { database, tree })
        };
        open().map_err(|error| failed(OPENING, path, &error))
    }

    /// Whether a background thread has failed: the database accepts no more writes.
    pub(super) fn is_broken(&self) -> bool {
        matches!(
            self.database.persist(PersistMode::Buffer),
            Err(fjall::Error::Poisoned)
        )
    }
}

/// The database that is currently open. Clones share it.
#[derive(Clone)]
pub(super) struct Slot {
    directory: PathBuf,
    open: Arc<RwLock<Option<Arc<Open>>>>,
}

impl Slot {
    pub(super) fn new(directory: &Path, open: Open) -> Self {
        Self {
            directory: directory.to_path_buf(),
            open: Arc::new(RwLock::new(Some(Arc::new(open)))),
        }
    }

    /// A handle, to be dropped soon.
    pub(super) fn get(&self) -> Result<Arc<Open>, StorageError> {
        self.open.read().clone().ok_or_else(|| StorageError::Kv {
            directory: self.directory.clone(),
            message: "it could not be opened again after a write had failed; restart the node"
                .into(),
        })
    }

    /// Replaces the open database by another one.
    pub(super) fn replace(&self, open: Open) {
        *self.open.write() = Some(Arc::new(open));
    }

    /// Closes the database and opens it again. While a view or an iterator still uses it, nothing happens and the result is false. If it
    /// cannot be opened, every use fails until a later attempt succeeds.
    pub(super) fn reopen(&self, path: &Path, config: &FjallConfig) -> Result<bool, StorageError> {
        let mut slot = self.open.write();
        if let Some(open) = slot.take() {
            match Arc::try_unwrap(open) {
                Ok(open) => drop(open),
                Err(shared) => {
                    *slot = Some(shared);
                    return Ok(false);
                }
            }
        }
        *slot = Some(Arc::new(Open::new(path, config)?));
        Ok(true)
    }

    pub(super) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let value = self.get()?.tree.get(key);
        let value = value.map_err(|error| failed(READING, &self.directory, &error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    /// Rows of a table from `from` (inclusive) to `to` (exclusive).
    pub(super) fn scan(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'static> {
        if to.is_some_and(|to| to <= from) {
            return Box::new(std::iter::empty());
        }
        let end = match to {
            Some(to) => super::full_key(table, to),
            None => vec![table.saturating_add(1)],
        };
        let open = match self.get() {
            Ok(open) => open,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let rows = open.tree.range(super::full_key(table, from)..end);
        let directory = self.directory.clone();
        Box::new(rows.map(move |guard| {
            // The handle lives as long as the iterator: the database must not be reopened meanwhile.
            let _used = &open;
            let (key, value) = guard
                .into_inner()
                .map_err(|error| failed(READING, &directory, &error))?;
            Ok((key.get(1..).unwrap_or_default().to_vec(), value.to_vec()))
        }))
    }
}
