//! An in-memory store for checkpoints.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use skep_engine::state::{CheckpointWriter, EncodeLater, RowStore, StoreError};

pub type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

#[derive(Clone, Default)]
pub struct MemoryStore(pub Arc<Mutex<Rows>>);

/// A checkpoint on its way to the store.
#[derive(Default)]
pub struct Pending(Vec<Change>);

/// A row to write or delete. It is encoded only when it is written.
type Change = ((u8, Vec<u8>), Option<EncodeLater>);

impl MemoryStore {
    /// Completes a checkpoint, as if it had reached the disk.
    pub fn write(&self, checkpoint: Pending) {
        let mut rows = self.0.lock().unwrap();
        for (key, row) in checkpoint.0 {
            match row {
                Some(row) => rows.insert(key, row()),
                None => rows.remove(&key),
            };
        }
    }

    /// A copy, like a snapshot.
    pub fn snapshot(&self) -> MemoryStore {
        MemoryStore(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }
}

impl CheckpointWriter for Pending {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        self.put_later(table, key, Arc::new(move || row.clone()));
    }
    fn put_later(&mut self, table: u8, key: &[u8], row: EncodeLater) {
        self.0.push(((table, key.to_vec()), Some(row)));
    }
    fn delete(&mut self, table: u8, key: &[u8]) {
        self.0.push(((table, key.to_vec()), None));
    }
}

impl RowStore for MemoryStore {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.lock().unwrap().get(&(table, key.to_vec())).cloned())
    }
    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let rows = self.0.lock().unwrap();
        for ((_, key), row) in rows
            .range((table, vec![])..)
            .take_while(|((t, _), _)| *t == table)
        {
            visit(key, row)?;
        }
        Ok(())
    }
}
