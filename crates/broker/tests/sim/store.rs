//! The rows of a node's checkpoints, as the partition thread keeps them: captured rows wait in memory until their entry
//! is committed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use skep_broker::partition::checkpoint::CheckpointMeta;
use skep_engine::state::{CheckpointWriter, RowStore, StoreError};
use skep_protocol::record::encode;
use skep_replication::EntryId;
use skep_storage::kv::{KvBatch, KvStore, MemoryKv, StreamReader, StreamWriter};

type Pending = BTreeMap<(u8, Vec<u8>), Option<Vec<u8>>>;

#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    kv: MemoryKv,
    pending: Pending,
}

impl Store {
    pub fn meta(&self) -> CheckpointMeta {
        let meta = self.0.lock().unwrap().kv.meta().unwrap();
        CheckpointMeta::read(meta.as_deref()).unwrap()
    }

    /// The entry up to which the checkpoint goes.
    pub fn checkpoint(&self) -> EntryId {
        let meta = self.meta();
        EntryId {
            index: meta.index,
            term: meta.term,
        }
    }

    /// Forgets captured rows that are not stored.
    pub fn forget(&self) {
        self.0.lock().unwrap().pending.clear();
    }

    /// The chunks of a snapshot of the stored rows.
    pub fn chunks(&self) -> VecDeque<Bytes> {
        let view = self.0.lock().unwrap().kv.view().unwrap();
        let mut stream = StreamWriter::new(&*view, 300).unwrap();
        std::iter::from_fn(|| stream.next_chunk().unwrap()).collect()
    }

    /// Replaces everything by a snapshot.
    pub fn install(&self, chunks: Vec<Bytes>) {
        let mut inner = self.0.lock().unwrap();
        inner.pending.clear();
        let reader = StreamReader::new(chunks.into_iter().map(Ok)).unwrap();
        let meta = reader.meta().map(<[u8]>::to_vec);
        inner.kv.install(Box::new(reader), meta).unwrap();
    }

    /// Stores the captured rows.
    pub fn commit(&self, meta: CheckpointMeta) {
        let mut inner = self.0.lock().unwrap();
        let mut batch = KvBatch::new();
        for ((table, key), row) in std::mem::take(&mut inner.pending) {
            match row {
                Some(row) => batch.put(table, key, row),
                None => batch.delete(table, key),
            }
        }
        batch.set_meta(encode(&meta));
        inner.kv.commit(batch).unwrap();
    }
}

impl CheckpointWriter for Store {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        let mut inner = self.0.lock().unwrap();
        inner.pending.insert((table, key.to_vec()), Some(row));
    }

    fn delete(&mut self, table: u8, key: &[u8]) {
        let mut inner = self.0.lock().unwrap();
        inner.pending.insert((table, key.to_vec()), None);
    }
}

impl RowStore for Store {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.0.lock().unwrap();
        match inner.pending.get(&(table, key.to_vec())) {
            Some(row) => Ok(row.clone()),
            None => Ok(inner.kv.get(table, key).unwrap()),
        }
    }

    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let inner = self.0.lock().unwrap();
        // Captured rows override stored ones.
        let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = inner
            .kv
            .scan(table, &[], None)
            .map(Result::unwrap)
            .collect();
        for ((of, key), row) in &inner.pending {
            if *of == table {
                match row {
                    Some(row) => rows.insert(key.clone(), row.clone()),
                    None => rows.remove(key),
                };
            }
        }
        drop(inner);
        rows.iter().try_for_each(|(key, row)| visit(key, row))
    }
}
