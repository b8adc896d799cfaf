//! Checkpoints: the changed rows of the state on their way to the store.
//!
//! Rows are captured when the state is evaluated up to some entry, and reach the store once that entry is committed. Until
//! then, and while the store writes them, reads find them in [`PendingRows`].

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_engine::state::{DeployedProcess, Processes, RowStore, StoreError, Tables};
use skep_protocol::record::decode;
use skep_storage::kv::{FjallConfig, FjallKv, FjallReader};

use super::pending_rows::PendingRows;

/// Metadata stored beside the rows: the entry up to which they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMeta {
    pub index: u64,
    pub term: u64,
    /// Position of the record after the last one included in the rows.
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

/// The store as the engine reads it.
pub struct StoredRows {
    pub reader: FjallReader,
    pub pending: PendingRows,
}

impl RowStore for StoredRows {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(row) = self.pending.get(table, key) {
            return Ok(row);
        }
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
/// The directory contains no store, or an unreadable one.
pub fn stored_definitions(directory: &Path) -> Result<Vec<Arc<DeployedProcess>>, StoreError> {
    let kv = FjallKv::open(directory, FjallConfig::default());
    let rows = StoredRows {
        reader: kv.map_err(|e| StoreError(e.to_string()))?.reader(),
        pending: PendingRows::default(),
    };
    let processes = Processes::open(&Arc::new(Tables::new(Arc::new(rows))))?;
    Ok(processes.iter().cloned().collect())
}
