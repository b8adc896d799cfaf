//! A table of rows in memory over a store on disk.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::record::{decode, encode};

/// A row of state. A stored row begins with the version of its encoding. A shape that has been released does not change: a new
/// one gets the next version, and [`Row::read_earlier`] goes on reading the old one.
pub trait Row: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Number of its table in the store; fixed for ever.
    const TABLE: u8;
    /// Version of the encoding that is written now.
    const VERSION: u8 = 1;

    /// Reads a row that an earlier version has written, `bytes` without the version in front. `None`: there is no such version.
    fn read_earlier(_version: u8, _bytes: &[u8]) -> Option<Result<Self, String>> {
        None
    }

    /// Estimated bytes in memory, with all texts and lists that the row owns.
    fn weight(&self) -> usize;
}

/// The stored form of a row.
pub fn write_row<V: Row>(row: &V) -> Vec<u8> {
    encode(&(V::VERSION, row))
}

/// Reads a stored row, also one that an earlier version has written.
pub fn read_row<V: Row>(stored: &[u8]) -> Result<V, String> {
    let Some((version, bytes)) = stored.split_first() else {
        return Err("it is empty".to_string());
    };
    if *version == V::VERSION {
        return decode(bytes);
    }
    V::read_earlier(*version, bytes).unwrap_or_else(|| {
        Err(format!(
            "it has version {version}, and this release of Skep knows none but those up to {}. Run the release that wrote it, \
             or a newer one",
            V::VERSION
        ))
    })
}

/// Estimated bytes of variables in memory, beside the list itself.
pub(crate) fn weight_of(variables: &[(Arc<str>, JsonText)]) -> usize {
    const ENTRY: usize = size_of::<(Arc<str>, JsonText)>() + 32;
    let texts = variables.iter();
    texts
        .map(|(name, value)| ENTRY + name.len() + value.len())
        .sum()
}

/// What the store answers with when it fails; the partition stops with this text.
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

/// Encodes a row when it is needed.
pub type EncodeLater = Arc<dyn Fn() -> Vec<u8> + Send + Sync>;

/// Rows of this weight (bytes) and more are encoded off the partition's thread: copying hundreds of megabytes takes seconds.
const LARGE: usize = 64 << 10;

/// Receives the changed rows of a checkpoint.
pub trait CheckpointWriter {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>);
    /// A large row: to be encoded off the partition's thread. It shares its values with the state, and is what it was when it
    /// was handed out, whatever becomes of the state.
    fn put_later(&mut self, table: u8, key: &[u8], row: EncodeLater) {
        self.put(table, key, row());
    }
    fn delete(&mut self, table: u8, key: &[u8]);
}

/// A store without rows: for tests and for a partition that begins.
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

/// The store as all tables of a partition share it. Remembers the first failure.
pub struct Tables {
    store: Arc<dyn RowStore>,
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

    pub fn scan<V: Row>(&self, visit: &mut dyn FnMut(&[u8], V)) -> Result<(), StoreError> {
        self.store.scan(V::TABLE, &mut |key, bytes| {
            let row = read_row::<V>(bytes).map_err(|e| unreadable(V::TABLE, key, &e))?;
            visit(key, row);
            Ok(())
        })
    }

    fn read<V: Row>(&self, key: Key) -> Option<V> {
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

fn unreadable(table: u8, key: &[u8], reason: &str) -> StoreError {
    StoreError(format!(
        "row {key:02x?} of table {table} cannot be read: {reason}"
    ))
}

struct Slot<V> {
    /// `None`: deleted, but perhaps still in the store. Such a slot stays until the checkpoint that deletes the row is
    /// known to have reached the store, so that a read in between does not find the old row.
    row: Option<V>,
    dirty: bool,
    stored: bool,
    used: bool,
}

/// Rows by key.
pub struct Table<V> {
    rows: FxHashMap<Key, Slot<V>>,
    tables: Arc<Tables>,
    /// Rows of the store, resident or not. While it is 0, a miss in memory is a miss.
    stored: usize,
    /// The highest key that the store may hold: what is newer need not be looked for. Keys are given in rising order.
    highest_stored: Key,
    len: usize,
    weight: usize,
}

impl<V: Row> Table<V> {
    /// Counts the stored rows without reading them.
    pub fn open(tables: &Arc<Tables>) -> Result<Table<V>, StoreError> {
        Table::open_raw(tables, |_, _| Ok(()))
    }

    /// Visits every stored row once, so that the caller can build its indices.
    pub fn open_with(
        tables: &Arc<Tables>,
        mut visit: impl FnMut(Key, V),
    ) -> Result<Table<V>, StoreError> {
        Table::open_raw(tables, |key, bytes| {
            let row =
                read_row::<V>(bytes).map_err(|e| unreadable(V::TABLE, &key.0.to_be_bytes(), &e))?;
            visit(key, row);
            Ok(())
        })
    }

    fn open_raw(
        tables: &Arc<Tables>,
        mut visit: impl FnMut(Key, &[u8]) -> Result<(), StoreError>,
    ) -> Result<Table<V>, StoreError> {
        let mut stored = 0;
        let mut highest_stored = Key::NONE;
        tables.store.scan(V::TABLE, &mut |key, bytes| {
            stored += 1;
            let Ok(key) = <[u8; 8]>::try_from(key) else {
                return Err(unreadable(V::TABLE, key, "its key has not 8 bytes"));
            };
            let key = Key(i64::from_be_bytes(key));
            highest_stored = highest_stored.max(key);
            visit(key, bytes)
        })?;
        Ok(Table {
            rows: FxHashMap::default(),
            tables: tables.clone(),
            stored,
            highest_stored,
            len: stored,
            weight: 0,
        })
    }

    /// Number of rows, cold ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn resident_bytes(&self) -> usize {
        self.weight + self.rows.len() * size_of::<Slot<V>>()
    }

    fn load(&mut self, key: Key) {
        if self.stored > 0
            && !key.is_none()
            && key <= self.highest_stored
            && !self.rows.contains_key(&key)
            && let Some(row) = self.tables.read::<V>(key)
        {
            self.weight += row.weight();
            let slot = Slot {
                row: Some(row),
                dirty: false,
                stored: true,
                used: true,
            };
            self.rows.insert(key, slot);
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&V> {
        self.load(key);
        let slot = self.rows.get_mut(&key)?;
        slot.used = true;
        slot.row.as_ref()
    }

    pub fn contains(&mut self, key: Key) -> bool {
        self.get(key).is_some()
    }

    /// A row that was changed in place weighs more now.
    pub fn add_weight(&mut self, bytes: usize) {
        self.weight += bytes;
    }

    /// The row, to be changed. Its estimated weight is taken again at the next checkpoint; what may grow much is reported
    /// by [`Table::add_weight`].
    pub fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        self.load(key);
        let slot = self.rows.get_mut(&key)?;
        slot.dirty = true;
        slot.used = true;
        slot.row.as_mut()
    }

    pub fn insert(&mut self, key: Key, row: V) {
        self.load(key);
        self.weight += row.weight();
        match self.rows.entry(key) {
            Entry::Occupied(mut slot) => {
                let slot = slot.get_mut();
                match slot.row.replace(row) {
                    Some(old) => self.weight = self.weight.saturating_sub(old.weight()),
                    None => self.len += 1,
                }
                (slot.dirty, slot.used) = (true, true);
            }
            Entry::Vacant(vacant) => {
                self.len += 1;
                vacant.insert(Slot {
                    row: Some(row),
                    dirty: true,
                    stored: false,
                    used: true,
                });
            }
        }
    }

    pub fn remove(&mut self, key: Key) -> Option<V> {
        self.load(key);
        let Entry::Occupied(mut slot) = self.rows.entry(key) else {
            return None;
        };
        let row = if slot.get().stored || slot.get().row.is_none() {
            let slot = slot.get_mut();
            let row = slot.row.take()?;
            slot.dirty = true;
            row
        } else {
            slot.remove().row?
        };
        self.len -= 1;
        self.weight = self.weight.saturating_sub(row.weight());
        Some(row)
    }

    pub fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        let (mut stored, mut weight) = (self.stored, 0);
        for (key, slot) in &mut self.rows {
            let row_weight = slot.row.as_ref().map_or(0, Row::weight);
            weight += row_weight;
            if slot.dirty {
                slot.dirty = false;
                let bytes = key.0.to_be_bytes();
                match &slot.row {
                    Some(row) => {
                        if row_weight >= LARGE {
                            let row = row.clone();
                            out.put_later(V::TABLE, &bytes, Arc::new(move || write_row(&row)));
                        } else {
                            out.put(V::TABLE, &bytes, write_row(row));
                        }
                        stored += usize::from(!slot.stored);
                        slot.stored = true;
                        self.highest_stored = self.highest_stored.max(*key);
                    }
                    None => {
                        out.delete(V::TABLE, &bytes);
                        stored -= usize::from(slot.stored);
                        slot.stored = false;
                    }
                }
            }
        }
        (self.stored, self.weight) = (stored, weight);
    }

    /// Drops clean rows while `resident` is over `limit`; rows used since the last call get a second chance. What was
    /// deleted before the last checkpoint is forgotten.
    pub fn evict(&mut self, limit: usize, resident: &mut usize) -> usize {
        let before = self.rows.len();
        let mut weight = self.weight;
        let mut forgotten = 0;
        self.rows.retain(|_, slot| {
            if slot.row.is_none() && !slot.dirty {
                forgotten += 1;
                return false;
            }
            if *resident <= limit || slot.dirty || std::mem::take(&mut slot.used) {
                return true;
            }
            let row = slot.row.as_ref().map_or(0, Row::weight);
            weight = weight.saturating_sub(row);
            *resident = resident.saturating_sub(row + size_of::<Slot<V>>());
            false
        });
        self.weight = weight;
        if self.rows.len() < self.rows.capacity() / 4 {
            self.rows.shrink_to_fit();
        }
        before - self.rows.len() - forgotten
    }

    pub(crate) fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>) {
        for (key, slot) in &self.rows {
            let key = (V::TABLE, key.0.to_be_bytes().to_vec());
            match &slot.row {
                Some(row) => all.insert(key, write_row(row)),
                None => all.remove(&key),
            };
        }
    }
}
