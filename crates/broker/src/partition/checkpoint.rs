//! Checkpoints: the changed rows of the state on their way to the store.
//!
//! Rows are captured when the state is evaluated up to some entry, and reach the store once that entry is committed. Until
//! then, and while the store writes them, reads find them in [`PendingRows`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use skep_engine::state::{
    CheckpointWriter, DeployedProcess, EncodeLater, Processes, RowStore, StoreError, Tables,
};
use skep_protocol::record::{decode, encode};
use skep_storage::StorageError;
use skep_storage::kv::{FjallConfig, FjallKv, FjallReader, KvBatch, KvStore};

/// What stands beside the rows: up to where they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMeta {
    pub index: u64,
    pub term: u64,
    /// Position of the record after the last one that is in the rows.
    pub next_position: u64,
}

impl CheckpointMeta {
    pub fn read(bytes: Option<&[u8]>) -> Result<CheckpointMeta, StoreError> {
        match bytes {
            None => Ok(CheckpointMeta {
                next_position: 1,
                ..CheckpointMeta::default()
            }),
            Some(bytes) => decode(bytes).map_err(|e| {
                StoreError(format!(
                    "the position of the checkpoint cannot be read: {e}"
                ))
            }),
        }
    }
}

type Changes = HashMap<(u8, Vec<u8>), Pending>;

/// What is to become of a row.
enum Pending {
    Deleted,
    Row(Vec<u8>),
    /// A large one: encoded where it is needed, which is not the partition's thread.
    Large(EncodeLater),
}

impl Pending {
    fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Pending::Deleted => None,
            Pending::Row(row) => Some(Cow::Borrowed(row)),
            Pending::Large(encode) => Some(Cow::Owned(encode())),
        }
    }
}

/// Changed rows that the store does not have yet.
#[derive(Clone, Default)]
pub struct PendingRows(Arc<RwLock<Changes>>);

impl PendingRows {
    pub fn clear(&self) {
        let mut changes = self.0.write();
        changes.clear();
        changes.shrink_to_fit();
    }

    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Brings the store up to date. The rows are not copied: they stay here, readable, until they are cleared.
    pub fn store(&self, kv: &mut dyn KvStore, meta: CheckpointMeta) -> Result<(), StorageError> {
        let rows = self.0.read();
        let mut batch = KvBatch::new();
        for ((table, key), row) in rows.iter() {
            batch.change(*table, Cow::Borrowed(key.as_slice()), row.bytes());
        }
        batch.set_meta(encode(&meta));
        kv.commit(batch)
    }
}

/// Collects the rows of one checkpoint.
pub struct Capture<'a>(pub &'a PendingRows);

impl CheckpointWriter for Capture<'_> {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        self.change(table, key, Pending::Row(row));
    }

    fn put_later(&mut self, table: u8, key: &[u8], row: EncodeLater) {
        self.change(table, key, Pending::Large(row));
    }

    fn delete(&mut self, table: u8, key: &[u8]) {
        self.change(table, key, Pending::Deleted);
    }
}

impl Capture<'_> {
    fn change(&mut self, table: u8, key: &[u8], row: Pending) {
        self.0.0.write().insert((table, key.to_vec()), row);
    }
}

/// The store as the engine reads it.
pub struct StoredRows {
    pub reader: FjallReader,
    pub pending: PendingRows,
}

impl RowStore for StoredRows {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let pending = self.pending.0.read();
        if !pending.is_empty()
            && let Some(row) = pending.get(&(table, key.to_vec()))
        {
            return Ok(row.bytes().map(Cow::into_owned));
        }
        drop(pending);
        self.reader
            .get(table, key)
            .map_err(|e| StoreError(e.to_string()))
    }

    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.reader.rows(table) {
            let (key, row) = row.map_err(|e| StoreError(e.to_string()))?;
            visit(&key, &row)?;
        }
        Ok(())
    }
}

/// The process definitions of a checkpoint. Opens the store, so nobody else may have it open.
///
/// # Errors
/// The directory holds no store, or one that cannot be read.
pub fn stored_definitions(directory: &Path) -> Result<Vec<Arc<DeployedProcess>>, StoreError> {
    let kv = FjallKv::open(directory, FjallConfig::default());
    let rows = StoredRows {
        reader: kv.map_err(|e| StoreError(e.to_string()))?.reader(),
        pending: PendingRows::default(),
    };
    let processes = Processes::open(&Arc::new(Tables::new(Arc::new(rows))))?;
    Ok(processes.iter().cloned().collect())
}
