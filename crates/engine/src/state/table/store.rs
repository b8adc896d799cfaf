//! The store beneath the tables of a partition: the rows of the last checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use skep_protocol::Key;

use super::{Row, read_row};

/// Error of the store. The partition stops with this text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the state store failed: {0}")]
pub struct StoreError(pub String);

/// Read access to the rows of the last checkpoint.
pub trait RowStore: Send + Sync {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    #[allow(clippy::type_complexity)] // A name for it would hide the lifetime that it elides.
    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// A deferred encoding of a row.
pub type EncodeLater = Arc<dyn Fn() -> Vec<u8> + Send + Sync>;

/// Maximum number of tables in a store.
const MOST_TABLES: u8 = 128;

/// Receives the changed rows of a checkpoint.
pub trait CheckpointWriter {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>);
    /// Writes a large row, to be encoded off the partition's thread. It shares its values with the state, and keeps the
    /// values it had when it was handed out, whatever happens to the state.
    fn put_later(&mut self, table: u8, key: &[u8], row: EncodeLater) {
        self.put(table, key, row());
    }
    fn delete(&mut self, table: u8, key: &[u8]);
    /// The oldest version of the protocol between nodes that a node of the cluster speaks: see [`Row::known_to`].
    fn oldest_node(&self) -> u32 {
        u32::MAX
    }
}

/// A store without rows, for tests and for a new partition.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyStore;

impl RowStore for EmptyStore {
    fn get(&self, _table: u8, _key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
    fn scan(
        &self,
        _table: u8,
        _visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The store, shared by all tables of a partition. Remembers the first failure.
pub struct Tables {
    pub(super) store: Arc<dyn RowStore>,
    fault: std::sync::Mutex<Option<StoreError>>,
}

impl Tables {
    pub fn new(store: Arc<dyn RowStore>) -> Tables {
        Tables {
            store,
            fault: Default::default(),
        }
    }

    pub fn fault(&self) -> Option<StoreError> {
        let fault = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        fault.clone()
    }

    pub(crate) fn fail(&self, error: StoreError) {
        let mut fault = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        fault.get_or_insert(error);
    }

    /// Refuses rows in tables other than these: a newer version of Skep has written them. An earlier version that ignored
    /// them would lose their information.
    pub(crate) fn expect_no_others(&self, known: &[u8]) -> Result<(), StoreError> {
        for table in (0..MOST_TABLES).filter(|table| !known.contains(table)) {
            self.store.scan(table, &mut |_, _| {
                Err(StoreError(format!(
                    "table {table} has rows, and this release of Skep does not know it. Run the release that wrote it, or a newer one"
                )))
            })?;
        }
        Ok(())
    }

    pub fn scan<V: Row>(&self, visit: &mut dyn FnMut(&[u8], V)) -> Result<(), StoreError> {
        self.store.scan(V::TABLE, &mut |key, bytes| {
            let row = read_row::<V>(bytes).map_err(|e| unreadable(V::TABLE, key, &e))?;
            visit(key, row);
            Ok(())
        })
    }

    /// Like [`scan`](Tables::scan), for rows whose keys are [`Key`]s.
    pub fn scan_by_key<V: Row>(&self, visit: &mut dyn FnMut(Key, V)) -> Result<(), StoreError> {
        self.store.scan(V::TABLE, &mut |key, bytes| {
            let row = read_row::<V>(bytes).map_err(|e| unreadable(V::TABLE, key, &e))?;
            let Ok(key) = <[u8; 8]>::try_from(key) else {
                return Err(unreadable(V::TABLE, key, "its key has not 8 bytes"));
            };
            visit(Key(i64::from_be_bytes(key)), row);
            Ok(())
        })
    }

    pub(super) fn read<V: Row>(&self, key: Key) -> Option<V> {
        let key = key.0.to_be_bytes();
        let found = self
            .store
            .get(V::TABLE, &key)
            .and_then(|bytes| match bytes {
                None => Ok(None),
                Some(bytes) => read_row::<V>(&bytes)
                    .map(Some)
                    .map_err(|e| unreadable(V::TABLE, &key, &e)),
            });
        found.unwrap_or_else(|error| {
            self.fail(error);
            None
        })
    }

    pub(crate) fn dump(&self) -> BTreeMap<(u8, Vec<u8>), Vec<u8>> {
        let mut all = BTreeMap::new();
        for table in 0..=u8::MAX {
            let result = self.store.scan(table, &mut |key, row| {
                all.insert((table, key.to_vec()), row.to_vec());
                Ok(())
            });
            if let Err(error) = result {
                self.fail(error);
            }
        }
        all
    }
}

pub(super) fn unreadable(table: u8, key: &[u8], reason: &str) -> StoreError {
    StoreError(format!(
        "row {key:02x?} of table {table} cannot be read: {reason}"
    ))
}
