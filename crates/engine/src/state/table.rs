//! A table of rows in memory over a store on disk.

mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::record::{decode, encode};

use super::cells::{Cell, Cells};
use super::index::Index;
use super::undo::Undo;

use self::store::unreadable;
pub use self::store::{CheckpointWriter, EmptyStore, EncodeLater, RowStore, StoreError, Tables};

/// A row of state. A stored row begins with the version of its encoding. A released format does not change: a new one gets
/// the next version, and [`Row::read_earlier`] continues to read the old one.
pub trait Row: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Number of its table in the store. It never changes.
    const TABLE: u8;
    /// Version of the current encoding.
    const VERSION: u8 = 1;

    /// The version with which this row is written: an earlier one if that can express the row.
    fn version(&self) -> u8 {
        Self::VERSION
    }

    /// Reads a row written by an earlier version; `bytes` excludes the version prefix. `None`: there is no such version.
    fn read_earlier(_version: u8, _bytes: &[u8]) -> ReadEarlier<Self> {
        None
    }

    /// The row as nodes know it that speak this version of the protocol between nodes. `None`: they know it as it is. It says less, so a
    /// row is written like this only while the cluster has such a node, which would not open a checkpoint or a snapshot with the whole row.
    fn known_to(&self, _protocol: u32) -> Option<Self> {
        None
    }

    /// Estimated bytes in memory, including all texts and lists that the row owns.
    fn weight(&self) -> usize;

    /// The image from which [`Row::restore`] reverts changes: a copy without parts that may be large and whose changes are
    /// noted one by one ([`Table::changes_part`]).
    fn image(&self) -> Self {
        self.clone()
    }

    /// Restores the row to the state captured by this image.
    fn restore(&mut self, image: Self) {
        *self = image;
    }
}

/// Result of [`Row::read_earlier`].
pub type ReadEarlier<V> = Option<Result<V, String>>;

/// Reads a row whose second version added a list at its end; version 1 had none. For [`Row::read_earlier`].
pub fn read_without_list<V: Row>(version: u8, bytes: &[u8]) -> ReadEarlier<V> {
    // An empty list is encoded as one byte.
    (version == 1).then(|| decode(&[bytes, &[0]].concat()))
}

/// Encodes a row for the store.
pub fn write_row<V: Row>(row: &V) -> Vec<u8> {
    encode(&(row.version(), row))
}

/// Reads a stored row, including rows written by an earlier version.
pub fn read_row<V: Row>(stored: &[u8]) -> Result<V, String> {
    let Some((version, bytes)) = stored.split_first() else {
        return Err("it is empty".to_string());
    };
    if *version == V::VERSION {
        return decode(bytes);
    }
    V::read_earlier(*version, bytes).unwrap_or_else(|| {
        Err(format!(
            "it has version {version}, and this release of Skep knows only versions up to {}. Run the release that wrote it, or a newer \
             one",
            V::VERSION
        ))
    })
}

/// Estimated bytes of variables in memory, without the list itself.
pub(crate) fn weight_of(variables: &[(Arc<str>, JsonText)]) -> usize {
    const ENTRY: usize = size_of::<(Arc<str>, JsonText)>() + 32;
    let texts = variables.iter();
    texts
        .map(|(name, value)| ENTRY + name.len() + value.len())
        .sum()
}

/// Rows of at least this weight (bytes) are encoded off the partition's thread: copying hundreds of megabytes takes
/// seconds.
const LARGE: usize = 64 << 10;

/// Bytes of a row in the index: 5 per slot, of which between an eighth and nine sixteenths are free.
const INDEXED: usize = 8;

/// Bytes of a row in memory on top of its weight: its cell and its index entry.
const fn overhead<V>() -> usize {
    size_of::<Cell<V>>() - size_of::<V>() + INDEXED
}

/// Number of slots for rows that are found without the index, unless another key with the same lowest bits was requested
/// since.
const RECENT: usize = 64;

/// Rows by key.
pub struct Table<V> {
    index: Index,
    cells: Cells<V>,
    /// Positions of recently requested rows, by the lowest bits of their keys.
    recent: [u32; RECENT],
    /// Cells changed since the last checkpoint, each once.
    changed: Vec<u32>,
    tables: Arc<Tables>,
    /// Number of rows in the store, resident or not. While it is 0, a miss in memory is a miss.
    stored: usize,
    /// The highest key that the store may contain: newer keys need not be read from it. Keys are assigned in ascending
    /// order.
    highest_stored: Key,
    /// The highest key that a row has ever had: newer keys need not be searched at all.
    highest: Key,
    len: usize,
    /// Weight of the rows in memory at their last weighing.
    weight: usize,
    /// Bytes by which rows have grown since.
    grown: usize,
    /// Weight of the rows changed since the last checkpoint.
    dirty_weight: usize,
    /// Cells of rows deleted by the last checkpoints.
    deleted: Vec<u32>,
    /// Notes for undoing changes, if undo is enabled.
    pub(super) undo: Option<Box<Undo<V>>>,
}

/// Marks a cell as changed.
fn change<V>(cell: &mut Cell<V>, at: u32, changed: &mut Vec<u32>, dirty_weight: &mut usize) {
    cell.used = true;
    if !cell.dirty {
        cell.dirty = true;
        *dirty_weight += cell.weight() + overhead::<V>();
    }
    if !cell.listed {
        cell.listed = true;
        changed.push(at);
    }
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
            index: Index::new(),
            cells: Cells::new(),
            recent: [0; RECENT],
            changed: Vec::new(),
            tables: tables.clone(),
            stored,
            highest_stored,
            highest: highest_stored.max(Key(0)),
            len: stored,
            weight: 0,
            grown: 0,
            dirty_weight: 0,
            deleted: Vec::new(),
            undo: None,
        })
    }

    /// Number of rows, cold ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Visits every row once, in memory or not, without keeping it.
    pub fn for_each(&self, mut visit: impl FnMut(Key, &V)) -> Result<(), StoreError> {
        if self.stored > 0 {
            let mut last = Ok(());
            self.tables
                .scan::<V>(&mut |key, row| match <[u8; 8]>::try_from(key)
                    .map(|key| Key(i64::from_be_bytes(key)))
                {
                    Ok(key) if self.index.get(key, &self.cells).is_some() => {}
                    Ok(key) => visit(key, &row),
                    Err(_) => last = Err(unreadable(V::TABLE, key, "its key has not 8 bytes")),
                })?;
            last?;
        }
        for cell in self.cells.iter() {
            if let Some(row) = &cell.row {
                visit(cell.key, row);
            }
        }
        Ok(())
    }

    /// The cell of the key, in memory or read into it.
    ///
    /// Half of all requested keys are new ones, or none.
    #[inline]
    fn find(&mut self, key: Key) -> Option<u32> {
        // As an unsigned number, the key of no row is above all others.
        if key.0 as u64 > self.highest.0 as u64 {
            return None;
        }
        let recent = *self.recent.get(key.0 as usize % RECENT)?;
        if self.cells.key(recent) == key {
            Some(recent)
        } else {
            self.find_by_index(key)
        }
    }

    #[inline(never)]
    fn find_by_index(&mut self, key: Key) -> Option<u32> {
        if let Some(at) = self.index.get(key, &self.cells) {
            self.note_recent(key, at);
            return Some(at);
        }
        if self.stored == 0 || key > self.highest_stored {
            return None;
        }
        self.read(key)
    }

    #[inline]
    fn note_recent(&mut self, key: Key, at: u32) {
        if let Some(recent) = self.recent.get_mut(key.0 as usize % RECENT) {
            *recent = at;
        }
    }

    /// Like [`Table::find`], for a row that may exist.
    #[inline]
    fn find_row(&mut self, key: Key) -> Option<u32> {
        match self.len {
            0 => None,
            _ => self.find(key),
        }
    }

    #[cold]
    fn read(&mut self, key: Key) -> Option<u32> {
        let row = self.tables.read::<V>(key)?;
        let weight = row.weight();
        self.weight += weight;
        let at = self.cells.take();
        self.cells.get_mut(at)?.fill(key, row, weight, true);
        self.index.add(key, at, &self.cells);
        Some(at)
    }

    pub fn get(&mut self, key: Key) -> Option<&V> {
        let at = self.find_row(key)?;
        let cell = self.cells.get_mut(at)?;
        cell.used = true;
        cell.row.as_ref()
    }

    /// The row, if it is in memory.
    pub(super) fn resident(&self, key: Key) -> Option<&V> {
        let at = self.index.get(key, &self.cells)?;
        self.cells.get(at)?.row.as_ref()
    }

    pub fn contains(&mut self, key: Key) -> bool {
        self.get(key).is_some()
    }

    /// Reports the growth of a row that was changed in place.
    pub(in crate::appliers) fn add_weight(&mut self, bytes: usize) {
        self.grown += bytes;
    }

    /// The row, for a change of its representation only: its value must stay the same.
    pub(super) fn keep_otherwise(&mut self, key: Key) -> Option<&mut V> {
        let at = self.find_row(key)?;
        self.cells.get_mut(at)?.row.as_mut()
    }

    /// The row, to be changed. Its estimated weight is updated at the next checkpoint; large growth is reported by
    /// [`Table::add_weight`].
    pub(in crate::appliers) fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        let at = self.find_row(key)?;
        self.change_at(key, at)
    }

    fn change_at(&mut self, key: Key, at: u32) -> Option<&mut V> {
        let cell = self.cells.get_mut(at)?;
        change(cell, at, &mut self.changed, &mut self.dirty_weight);
        if let (Some(undo), Some(row)) = (&mut self.undo, &cell.row) {
            undo.changes(key, row);
        }
        cell.row.as_mut()
    }

    /// Like [`Table::get_mut`], for a row that must exist, unless the key is [`Key::NONE`]: a change without it would be
    /// lost silently.
    ///
    /// # Panics
    /// If the row is missing. See `Context::broken`: the broker treats it as a bug in the work of one instance. `None` is
    /// returned if the store failed to return the row: the partition then stops anyway.
    #[track_caller]
    pub(in crate::appliers) fn must_get_mut(&mut self, key: Key) -> Option<&mut V> {
        let at = self.find_row(key);
        let cell = at.and_then(|at| self.cells.get(at));
        if cell.is_none_or(|cell| cell.row.is_none()) {
            self.missed(key);
        }
        self.change_at(key, at?)
    }

    /// Like [`Table::must_get_mut`], where logs of earlier versions have never been checked for it: only debug builds panic, and
    /// so do all tests and simulations.
    #[track_caller]
    pub(in crate::appliers) fn should_get_mut(&mut self, key: Key) -> Option<&mut V> {
        if cfg!(debug_assertions) {
            self.must_get_mut(key)
        } else {
            self.get_mut(key)
        }
    }

    #[cold]
    #[track_caller]
    fn missed(&self, key: Key) {
        if !key.is_none() && self.tables.fault().is_none() {
            panic!(
                "a rule of the engine is broken: table {} has no row {key}",
                V::TABLE
            );
        }
    }

    /// Notes that a part of the row which its image lacks is about to be changed: `part` returns the function that reverts
    /// the change.
    pub(super) fn changes_part<F: FnOnce(&mut V) + Send + Sync + 'static>(
        &mut self,
        key: Key,
        part: impl FnOnce(&V) -> F,
    ) {
        if self.undo.is_none() {
            return;
        }
        if let Some(at) = self.find_row(key)
            && let Some(row) = self.cells.get(at).and_then(|cell| cell.row.as_ref())
            && let Some(undo) = &mut self.undo
        {
            undo.changes_part(key, || Box::new(part(row)));
        }
    }

    #[inline]
    pub(in crate::appliers) fn insert(&mut self, key: Key, row: V) {
        let weight = row.weight();
        self.weight += weight;
        let mut before = None;
        let at = match self.find(key) {
            Some(at) => {
                if let Some(cell) = self.cells.get_mut(at) {
                    self.len += usize::from(cell.row.is_none());
                    self.weight = self.weight.saturating_sub(cell.weight());
                    before = cell.row.replace(row);
                    cell.set_weight(weight);
                }
                at
            }
            None => {
                let at = self.cells.take();
                self.len += 1;
                self.highest = self.highest.max(key);
                self.note_recent(key, at);
                self.index.add(key, at, &self.cells);
                if let Some(cell) = self.cells.get_mut(at) {
                    cell.fill(key, row, weight, false);
                }
                at
            }
        };
        if let Some(cell) = self.cells.get_mut(at) {
            change(cell, at, &mut self.changed, &mut self.dirty_weight);
        }
        if let Some(undo) = &mut self.undo {
            undo.replaces(key, before);
        }
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) -> Option<V> {
        let at = self.find_row(key)?;
        let cell = self.cells.get_mut(at)?;
        let row = cell.row.as_ref()?;
        if let Some(undo) = &mut self.undo {
            undo.removes(key, row);
        }
        let weight = cell.weight();
        cell.set_weight(0);
        let row = if cell.stored {
            let row = cell.row.take();
            change(cell, at, &mut self.changed, &mut self.dirty_weight);
            row
        } else {
            self.dirty_weight = self.dirty_weight.saturating_sub(weight + overhead::<V>());
            self.index.remove(key, at);
            self.cells.remove(at)
        };
        self.len -= 1;
        self.weight = self.weight.saturating_sub(weight);
        row
    }

    /// Releases memory, if there is much to release.
    fn close_up(&mut self) {
        if self.cells.has_holes() {
            let index = &mut self.index;
            self.cells
                .close_up(|key, from, to| index.moved(key, from, to));
            // Cells have moved.
            let cells = &mut self.cells;
            self.changed.clear();
            self.deleted.clear();
            for at in 0..cells.len() as u32 {
                if let Some(cell) = cells.get_mut(at) {
                    cell.listed = cell.dirty;
                    if cell.dirty {
                        self.changed.push(at);
                    } else if cell.is_occupied() && cell.row.is_none() {
                        self.deleted.push(at);
                    }
                }
            }
        }
        self.index.close_up(&self.cells);
    }
}

/// Operations common to all tables.
pub trait Rows {
    /// Adds the numbers under which the rows are stored.
    fn tables(&self, numbers: &mut Vec<u8>);
    /// Estimated bytes of the rows in memory.
    fn resident_bytes(&self) -> usize;
    /// Estimated bytes of the rows changed since the last checkpoint.
    fn dirty_bytes(&self) -> usize;
    /// Hands the changed rows to `out`. Its duration depends only on those.
    fn checkpoint(&mut self, out: &mut dyn CheckpointWriter);
    /// Drops clean rows while `resident` is above `limit`; rows used since the last call get a second chance. Rows deleted
    /// before the last checkpoint are forgotten.
    fn evict(&mut self, limit: usize, resident: &mut usize) -> usize;
    fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>);
    /// Keeps changes undoable from this position on; `None`: stops that.
    fn keep_undo(&mut self, from: Option<u64>);
    /// Begins a batch at this position, to which the next changes belong.
    fn begin_batch(&mut self, position: u64);
    /// Drops the undo notes of batches before this position.
    fn settle(&mut self, position: u64);
}

impl<V: Row> Rows for Table<V> {
    fn tables(&self, numbers: &mut Vec<u8>) {
        numbers.push(V::TABLE);
    }

    fn resident_bytes(&self) -> usize {
        self.weight + self.grown + self.index.len() * overhead::<V>()
    }

    fn dirty_bytes(&self) -> usize {
        self.dirty_weight + self.grown
    }

    fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        for at in std::mem::take(&mut self.changed) {
            let Some(cell) = self.cells.get_mut(at) else {
                continue;
            };
            cell.listed = false;
            if !std::mem::take(&mut cell.dirty) {
                continue;
            }
            let bytes = cell.key.0.to_be_bytes();
            let Some(row) = &cell.row else {
                out.delete(V::TABLE, &bytes);
                self.deleted.push(at);
                continue;
            };
            let (before, weight) = (cell.weight(), row.weight());
            self.weight = (self.weight + weight).saturating_sub(before);
            let known = row.known_to(out.oldest_node());
            let row = known.as_ref().unwrap_or(row);
            if weight >= LARGE {
                let row = row.clone();
                out.put_later(V::TABLE, &bytes, Arc::new(move || write_row(&row)));
            } else {
                out.put(V::TABLE, &bytes, write_row(row));
            }
            cell.set_weight(weight);
            self.stored += usize::from(!std::mem::replace(&mut cell.stored, true));
            self.highest_stored = self.highest_stored.max(cell.key);
        }
        (self.grown, self.dirty_weight) = (0, 0);
    }

    fn evict(&mut self, limit: usize, resident: &mut usize) -> usize {
        for at in std::mem::take(&mut self.deleted) {
            let cell = self.cells.get(at);
            let forgotten =
                cell.filter(|cell| cell.is_occupied() && cell.row.is_none() && !cell.dirty);
            if let Some(cell) = forgotten {
                self.stored -= usize::from(cell.stored);
                self.index.remove(cell.key, at);
                self.cells.remove(at);
            }
        }
        let mut evicted = 0;
        if *resident > limit {
            for at in 0..self.cells.len() as u32 {
                let Some(cell) = self.cells.get_mut(at).filter(|cell| cell.row.is_some()) else {
                    continue;
                };
                if *resident <= limit || cell.dirty || std::mem::take(&mut cell.used) {
                    continue;
                }
                evicted += 1;
                self.index.remove(cell.key, at);
                self.weight = self.weight.saturating_sub(cell.weight());
                *resident = resident.saturating_sub(cell.weight() + overhead::<V>());
                self.cells.remove(at);
            }
        }
        self.close_up();
        evicted
    }

    fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>) {
        for cell in self.cells.iter() {
            let key = (V::TABLE, cell.key.0.to_be_bytes().to_vec());
            match &cell.row {
                Some(row) => all.insert(key, write_row(row)),
                None => all.remove(&key),
            };
        }
    }

    fn keep_undo(&mut self, from: Option<u64>) {
        self.undo = from.map(|position| Box::new(Undo::new(position)));
    }

    fn begin_batch(&mut self, position: u64) {
        if let Some(undo) = &mut self.undo {
            undo.begin(position);
        }
    }

    fn settle(&mut self, position: u64) {
        if let Some(undo) = &mut self.undo {
            undo.settle(position);
        }
    }
}
