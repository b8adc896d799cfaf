//! The rows of a checkpoint on their way to the store.
//!
//! There may be millions at once: their bytes are stored consecutively in large pieces, and each row is only a location in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockWriteGuard};
use rustc_hash::FxHashMap;
use skep_engine::state::{CheckpointWriter, EncodeLater};
use skep_protocol::record::encode;
use skep_storage::StorageError;
use skep_storage::kv::{KvBatch, KvStore};

use super::checkpoint::CheckpointMeta;

/// Bytes of one piece; a larger row has a piece of its own.
const PIECE: usize = 1 << 20;

/// The pending change of a row.
#[derive(Clone, Copy, Debug)]
enum Location {
    Deleted,
    At {
        piece: u32,
        at: u32,
        len: u32,
    },
    /// A large row: encoded where it is needed, outside the partition's thread.
    Large(u32),
}

#[derive(Default)]
struct Changes {
    pieces: Vec<Vec<u8>>,
    large: Vec<EncodeLater>,
    /// Nearly all keys are numbers.
    by_key: FxHashMap<(u8, [u8; 8]), Location>,
    by_name: HashMap<(u8, Vec<u8>), Location>,
}

impl Changes {
    fn len(&self) -> usize {
        self.by_key.len() + self.by_name.len()
    }

    fn find(&self, table: u8, key: &[u8]) -> Option<Location> {
        match <[u8; 8]>::try_from(key) {
            Ok(key) => self.by_key.get(&(table, key)).copied(),
            Err(_) => self.by_name.get(&(table, key.to_vec())).copied(),
        }
    }

    fn set(&mut self, table: u8, key: &[u8], location: Location) {
        match <[u8; 8]>::try_from(key) {
            Ok(key) => self.by_key.insert((table, key), location),
            Err(_) => self.by_name.insert((table, key.to_vec()), location),
        };
    }

    fn put(&mut self, row: &[u8]) -> Location {
        let room = self.pieces.last();
        if room.is_none_or(|piece| piece.capacity() - piece.len() < row.len()) {
            self.pieces.push(Vec::with_capacity(PIECE.max(row.len())));
        }
        let piece = self.pieces.len().saturating_sub(1);
        // There is a last one: it was created above if there was none.
        let at = self.pieces.last_mut().map_or(0, |bytes| {
            let at = bytes.len();
            debug_assert!(
                bytes.capacity() - at >= row.len(),
                "a piece never grows: it would be copied"
            );
            bytes.extend_from_slice(row);
            at
        });
        debug_assert!(
            u32::try_from(at + row.len()).is_ok(),
            "places are numbers of 32 bits"
        );
        Location::At {
            piece: piece as u32,
            at: at as u32,
            len: row.len() as u32,
        }
    }

    /// `None`: the row is deleted.
    fn bytes(&self, location: Location) -> Option<Cow<'_, [u8]>> {
        match location {
            Location::Deleted => None,
            Location::At { piece, at, len } => {
                let (at, len) = (at as usize, len as usize);
                debug_assert!(
                    (self.pieces.get(piece as usize)).is_some_and(|piece| at + len <= piece.len()),
                    "a row lies within its piece"
                );
                let bytes = self.pieces.get(piece as usize)?.get(at..at + len)?;
                Some(Cow::Borrowed(bytes))
            }
            Location::Large(number) => {
                debug_assert!((number as usize) < self.large.len());
                let encode = self.large.get(number as usize)?;
                Some(Cow::Owned(encode()))
            }
        }
    }
}

/// Changed rows that the store does not have yet.
#[derive(Clone, Default)]
pub struct PendingRows(Arc<RwLock<Changes>>);

impl PendingRows {
    pub fn clear(&self) {
        *self.0.write() = Changes::default();
    }

    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pending row; `Some(None)`: deleted. `None`: there is no change of it here.
    pub fn get(&self, table: u8, key: &[u8]) -> Option<Option<Vec<u8>>> {
        let changes = self.0.read();
        let location = changes.find(table, key)?;
        Some(changes.bytes(location).map(Cow::into_owned))
    }

    /// Collects the rows of one checkpoint, in a form that nodes of this version of the protocol know. There are no reads meanwhile.
    pub fn capture(&self, oldest_node: u32) -> Capture<'_> {
        Capture {
            changes: self.0.write(),
            oldest_node,
        }
    }

    /// Brings the store up to date. The rows are not copied: they stay readable here until they are cleared.
    pub fn store(&self, kv: &mut dyn KvStore, meta: CheckpointMeta) -> Result<(), StorageError> {
        let changes = self.0.read();
        let mut batch = KvBatch::new();
        for ((table, key), location) in &changes.by_key {
            let row = changes.bytes(*location);
            batch.change(*table, Cow::Borrowed(key.as_slice()), row);
        }
        for ((table, key), location) in &changes.by_name {
            let row = changes.bytes(*location);
            batch.change(*table, Cow::Borrowed(key.as_slice()), row);
        }
        batch.set_meta(encode(&meta));
        kv.commit(batch)
    }
}

pub struct Capture<'a> {
    changes: RwLockWriteGuard<'a, Changes>,
    oldest_node: u32,
}

impl CheckpointWriter for Capture<'_> {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        let location = self.changes.put(&row);
        self.changes.set(table, key, location);
    }

    fn put_later(&mut self, table: u8, key: &[u8], row: EncodeLater) {
        let location = Location::Large(self.changes.large.len() as u32);
        self.changes.large.push(row);
        self.changes.set(table, key, location);
    }

    fn delete(&mut self, table: u8, key: &[u8]) {
        self.changes.set(table, key, Location::Deleted);
    }

    fn oldest_node(&self) -> u32 {
        self.oldest_node
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, CheckpointWriter, PIECE, PendingRows};

    #[test]
    fn rows_are_read_as_they_were_put() {
        let rows = PendingRows::default();
        let key = |n: u64| n.to_be_bytes();
        let row = |n: u64| vec![n as u8; 3000 * n as usize];
        let mut capture = rows.capture(u32::MAX);
        for n in 0..1000 {
            capture.put(2, &key(n), row(n % 500));
        }
        capture.put(10, b"a name", vec![7; 2 * PIECE]);
        capture.delete(2, &key(3));
        capture.put_later(2, &key(4), Arc::new(|| vec![1, 2]));
        capture.put(2, &key(5), vec![9]);
        drop(capture);
        assert_eq!(rows.len(), 1001);
        assert_eq!(rows.get(2, &key(3)), Some(None));
        assert_eq!(rows.get(2, &key(4)), Some(Some(vec![1, 2])));
        assert_eq!(rows.get(2, &key(5)), Some(Some(vec![9])));
        assert_eq!(rows.get(2, &key(777)), Some(Some(row(277))));
        assert_eq!(rows.get(10, b"a name"), Some(Some(vec![7; 2 * PIECE])));
        assert_eq!((rows.get(3, &key(5)), rows.get(10, b"other")), (None, None));
        rows.clear();
        assert!(rows.is_empty() && rows.get(2, &key(5)).is_none());
    }
}
