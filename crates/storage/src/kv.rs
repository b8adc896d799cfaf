//! The key-value store that checkpoints go to.
//!
//! Content lives in numbered tables, sorted by key. A commit is atomic over all tables together with a small meta value
//! (for example the position that was applied), so a checkpoint is whole or absent after a crash.

mod fjall_kv;
mod memory;
mod stream;

use std::borrow::Cow;

use crate::StorageError;

pub use fjall_kv::{FjallConfig, FjallKv, FjallReader, Staged, Staging};
pub use memory::MemoryKv;
pub use stream::{StreamReader, StreamWriter};

/// The number of a table. Tables are created when first written. At most [`MAX_TABLES`].
pub type Table = u8;

/// Tables are numbered below this.
pub const MAX_TABLES: u8 = 128;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Rows in key order.
pub type Rows<'a> = Box<dyn Iterator<Item = Result<Row, StorageError>> + Send + 'a>;

/// One change: the row's table and key, and its new value or none.
type Change<'a> = (Table, Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// Changes that become durable together. It may borrow keys and values: a checkpoint of a million rows need not be in
/// memory twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KvBatch<'a> {
    changes: Vec<Change<'a>>,
    meta: Option<Vec<u8>>,
}

impl<'a> KvBatch<'a> {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts or replaces a row.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.change(table, key.into(), Some(value.into()));
    }

    /// Removes a row, if it is there.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.change(table, key.into(), None::<Vec<u8>>);
    }

    /// Inserts or replaces a row, or removes it, as [`KvBatch::put`] and [`KvBatch::delete`].
    pub fn change<T: Into<Cow<'a, [u8]>>>(&mut self, table: Table, key: T, value: Option<T>) {
        self.changes
            .push((table, key.into(), value.map(Into::into)));
    }

    /// Replaces the meta value.
    pub fn set_meta(&mut self, meta: impl Into<Vec<u8>>) {
        self.meta = Some(meta.into());
    }

    /// Number of puts and deletes so far.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// True if there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.meta.is_none()
    }
}

/// A sorted key-value store with atomic, durable commits. One owner writes; [`KvStore::view`] hands out readers.
pub trait KvStore: Send {
    /// The value of a key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// All rows from `from` (inclusive) to `to` (exclusive; `None` = the end), in key order.
    fn scan(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'_>;

    /// All rows whose key begins with `prefix`, in key order.
    fn scan_prefix(&self, table: Table, prefix: &[u8]) -> Rows<'_> {
        self.scan(table, prefix, prefix_end(prefix).as_deref())
    }

    /// The meta value of the last commit that set one.
    fn meta(&self) -> Result<Option<Vec<u8>>, StorageError>;

    /// Applies the batch atomically. Once this returns `Ok`, it survives power loss.
    fn commit(&mut self, batch: KvBatch<'_>) -> Result<(), StorageError>;

    /// A consistent view of everything as it is now, for another thread (snapshots).
    fn view(&self) -> Result<Box<dyn KvView>, StorageError>;

    /// Replaces the whole content by a stream of rows as [`KvView::rows`] gives them, and the meta value. Atomic: after a crash, either the
    /// old or (after a restart) the new content is there, never a mixture.
    fn install(&mut self, rows: TableRows<'_>, meta: Option<Vec<u8>>) -> Result<(), StorageError>;
}

/// All rows of all tables, sorted by table and key.
pub type TableRows<'a> = Box<dyn Iterator<Item = Result<(Table, Row), StorageError>> + Send + 'a>;

/// A frozen view of a store.
pub trait KvView: Send {
    /// Everything, sorted by table and key.
    fn rows(&self) -> TableRows<'_>;
    /// The meta value.
    fn meta(&self) -> Option<&[u8]>;
}

/// Refuses rows that are not in ascending order, as the contract of [`KvStore::install`] requires.
pub(crate) struct Ascending(Option<(Table, Vec<u8>)>);

impl Ascending {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    pub(crate) fn check(&mut self, table: Table, key: &[u8]) -> Result<(), StorageError> {
        let ascends = self
            .0
            .as_ref()
            .is_none_or(|(last_table, last_key)| (*last_table, last_key.as_slice()) < (table, key));
        if !ascends || table >= MAX_TABLES {
            return Err(StorageError::Snapshot("its rows are not in order".into()));
        }
        self.0 = Some((table, key.to_vec()));
        Ok(())
    }
}

/// The least key above all keys with the prefix; `None` if there is none.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix.get(..=kept)?.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    Some(end)
}
