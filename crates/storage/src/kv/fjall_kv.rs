//! The store on disk, on fjall (an LSM tree).
//!
//! All tables share one tree: the first byte of a key is its table. That keeps the number of files and buffers small. The database lives in
//! a numbered sub-directory named by the file `CURRENT`, so that installing a snapshot means building a new database, followed by one
//! rename.
//!
//! A commit is one ingestion: its rows are sorted and written to new table files, which become part of the tree by one
//! atomic, flushed change of its list of files. It needs neither the library's journal nor its write buffers. That costs
//! less memory (a checkpoint of a million rows is not held twice more), and it keeps errors where they can be handled: a
//! journal is in an unknown state after a failed write, and a buffer that is flushed by a background thread ends that
//! thread when the disk is full.

mod open;
mod staging;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fjall::{Readable, Snapshot};

use self::open::{Open, Slot};
pub use self::staging::{Staged, Staging};
use self::staging::{turn_pointer, write_pointer};
use super::{Change, KvBatch, KvStore, KvView, MAX_TABLES, Rows, Table, TableRows};
use crate::StorageError;
use crate::disk::create_dir_durably;
use crate::space::{SpaceProbe, StatvfsProbe};

const META_TABLE: u8 = 0xff;
const META_KEY: &[u8] = &[META_TABLE, b'm', b'e', b't', b'a'];
const CURRENT: &str = "CURRENT";
const TREE: &str = "state";

/// A commit leaves at least this much disk space for the log and other writers.
const ROOM_LEFT: u64 = 1 << 20;

/// Space is reclaimed when at least one in this many rows is garbage.
const RECLAIM_SHARE: u64 = 8;

/// Memory and thread limits of one store.
#[derive(Debug, Clone)]
pub struct FjallConfig {
    /// Bytes of cached blocks. Default 8 MiB.
    pub cache_bytes: u64,
    /// Threads for compaction. Default 1.
    pub worker_threads: usize,
}

impl Default for FjallConfig {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            worker_threads: 1,
        }
    }
}

/// A [`KvStore`] in a directory.
pub struct FjallKv {
    directory: PathBuf,
    config: FjallConfig,
    number: u64,
    slot: Slot,
    /// Rows deleted since the space of deleted rows was last reclaimed; `None` if that is not known.
    deleted: Option<u64>,
    /// There may be files that only reopening the database removes: a commit failed, or space was reclaimed.
    littered: bool,
}

impl FjallKv {
    /// Opens the store in a directory, creating it if it is missing.
    pub fn open(directory: impl AsRef<Path>, config: FjallConfig) -> Result<Self, StorageError> {
        let directory = directory.as_ref().to_path_buf();
        let io = |operation: &'static str| {
            let directory = directory.clone();
            move |error| StorageError::io(operation, &directory, error)
        };
        create_dir_durably(&directory).map_err(io("creating"))?;
        // Nothing was ever deleted in a new store.
        let mut deleted = None;
        let number = match fs::read_to_string(directory.join(CURRENT)) {
            Ok(text) => text.trim().parse().map_err(|_| {
                StorageError::corrupt(&directory.join(CURRENT), 0, "it does not hold a number")
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                point_to(&directory, 1).map_err(io("writing CURRENT in"))?;
                deleted = Some(0);
                1
            }
            Err(error) => return Err(io("reading CURRENT in")(error)),
        };
        // Databases of unfinished or replaced installations are leftovers.
        for entry in fs::read_dir(&directory).map_err(io("listing"))? {
            let entry = entry.map_err(io("listing"))?;
            let name = entry.file_name();
            if let Some(other) = name.to_str().and_then(|name| name.strip_prefix("kv-"))
                && other.parse() != Ok(number)
            {
                fs::remove_dir_all(entry.path()).map_err(io("cleaning"))?;
            }
        }
        let open = Open::new(&database_path(&directory, number), &config)?;
        Ok(Self {
            slot: Slot::new(&directory, open),
            directory,
            config,
            number,
            deleted,
            littered: false,
        })
    }

    /// Bytes of rows on disk, including those that were deleted or replaced and not reclaimed yet.
    pub fn disk_bytes(&self) -> u64 {
        self.slot.get().map_or(0, |open| open.tree.disk_space())
    }

    /// A reader of the committed content for another thread, alongside the commits of the owner.
    pub fn reader(&self) -> FjallReader {
        FjallReader {
            slot: self.slot.clone(),
        }
    }

    /// Returns the space of deleted rows to the disk now, instead of bit by bit as more is committed, which is how the library does it: a
    /// disk that is nearly full cannot wait for that. Does nothing while it would write much and free little.
    ///
    /// # Errors
    /// [`StorageError::DiskFull`] if there is no space for what has to be written before the old files can be removed.
    pub fn reclaim(&mut self) -> Result<(), StorageError> {
        self.mend()?;
        let open = self.slot.get()?;
        let (rows, bytes) = (open.tree.approximate_len() as u64, open.tree.disk_space());
        // A deleted row is there twice: as the old row, and as the tombstone.
        let garbage = self
            .deleted
            .map(|deleted| rows.min(deleted.saturating_mul(2)));
        if rows == 0 || garbage.is_some_and(|garbage| garbage < rows / RECLAIM_SHARE) {
            return Ok(());
        }
        let kept = rows - garbage.unwrap_or(0);
        let needed = u128::from(bytes) * u128::from(kept) / u128::from(rows);
        expect_room(&self.directory, needed as u64)?;
        let compacted = open.tree.major_compact();
        drop(open);
        compacted.map_err(|error| self.commit_failed(&error))?;
        self.deleted = Some(0);
        // The library keeps the files of the last state until it makes another one.
        self.littered = true;
        self.mend()
    }

    /// Where content is built that will replace this one. One at a time.
    pub fn staging(&self) -> Staging {
        Staging {
            directory: self.directory.clone(),
            config: self.config.clone(),
            number: self.number + 1,
        }
    }

    /// Replaces the whole content by what was built, which takes no space. Atomic, as [`KvStore::install`].
    ///
    /// # Errors
    /// The disk fails. It is then unknown which content is found after a crash.
    pub fn adopt(&mut self, staged: Staged) -> Result<(), StorageError> {
        let number = staged.number;
        let open = staged.into_use()?;
        let old = database_path(&self.directory, self.number);
        self.slot.replace(open);
        self.number = number;
        self.deleted = Some(0);
        self.littered = false;
        // Views of the old content may still read it; files that cannot be removed now are removed when the store is next opened.
        let _ = fs::remove_dir_all(old);
        Ok(())
    }

    /// Reopens the database if a commit or a background thread has failed.
    fn mend(&mut self) -> Result<(), StorageError> {
        if !self.littered && !self.slot.get().is_ok_and(|open| open.is_broken()) {
            return Ok(());
        }
        let path = database_path(&self.directory, self.number);
        if self.slot.reopen(&path, &self.config)? {
            self.littered = false;
        }
        Ok(())
    }

    fn commit_failed(&mut self, error: &fjall::Error) -> StorageError {
        let error = failed(WRITING, &self.directory, error);
        self.littered = true;
        if error.is_disk_full() {
            // Half-written files take the space that the log needs. If they cannot be removed now, that is retried before the next commit.
            let _ = self.mend();
        }
        error
    }
}

/// A commit must not take the last space: the log would stall, and the library could not clean up.
fn expect_room(directory: &Path, needed: u64) -> Result<(), StorageError> {
    let needed = needed.saturating_add(ROOM_LEFT);
    match StatvfsProbe::new(directory).free_bytes() {
        Ok(free) if free < needed => {
            let text = format!("{free} bytes are free, {needed} are needed");
            let source = std::io::Error::new(std::io::ErrorKind::StorageFull, text);
            Err(StorageError::io(
                "storing a checkpoint in",
                directory,
                source,
            ))
        }
        // If the file system does not report free space, the commit is attempted.
        _ => Ok(()),
    }
}

/// Reads a [`FjallKv`] from another thread.
#[derive(Clone)]
pub struct FjallReader {
    slot: Slot,
}

impl FjallReader {
    /// The value of a key.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.slot.value(&full_key(table, key))
    }

    /// All rows of a table, in key order.
    pub fn rows(&self, table: Table) -> Rows<'_> {
        self.slot.scan(table, &[], None)
    }
}

const OPENING: &str = "opening the key-value store in";
const READING: &str = "reading the key-value store in";
const WRITING: &str = "writing the key-value store in";

fn failed(operation: &'static str, directory: &Path, error: &fjall::Error) -> StorageError {
    // The depth of the cause depends on where the library was writing.
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    let io = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    if let Some(io) = io.last() {
        // Keeps "the disk is full" recognisable.
        let source = match io.raw_os_error() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::new(io.kind(), io.to_string()),
        };
        return StorageError::io(operation, directory, source);
    }
    StorageError::Kv {
        directory: directory.to_path_buf(),
        message: error.to_string(),
    }
}

fn database_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("kv-{number}"))
}

fn point_to(directory: &Path, number: u64) -> std::io::Result<()> {
    write_pointer(directory, number)?;
    turn_pointer(directory)
}

fn full_key(table: Table, key: &[u8]) -> Vec<u8> {
    let mut full = Vec::with_capacity(1 + key.len());
    full.push(table);
    full.extend_from_slice(key);
    full
}

fn check_table(table: Table) -> Result<(), StorageError> {
    if table < MAX_TABLES {
        Ok(())
    } else {
        Err(StorageError::Invalid(format!(
            "table {table} does not exist; tables are numbered below {MAX_TABLES}"
        )))
    }
}

/// Writes rows in ascending order into new files of the tree; they are part of it, durably, when this returns `Ok`.
fn ingest<'a>(
    open: &Open,
    rows: impl Iterator<Item = (Vec<u8>, Option<Cow<'a, [u8]>>)>,
) -> fjall::Result<()> {
    let mut ingestion = open.tree.start_ingestion()?;
    for (key, value) in rows {
        match value {
            Some(value) => ingestion.write(key, &*value)?,
            None => ingestion.write_tombstone(key)?,
        }
    }
    ingestion.finish()
}

impl KvStore for FjallKv {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.slot.value(&full_key(table, key))
    }

    fn scan(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'_> {
        self.slot.scan(table, from, to)
    }

    fn meta(&self) -> Result<Option<Vec<u8>>, StorageError> {
        self.slot.value(META_KEY)
    }

    fn commit(&mut self, batch: KvBatch<'_>) -> Result<(), StorageError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut rows = batch.changes;
        for (table, _, _) in &rows {
            check_table(*table)?;
        }
        // The last change of a key wins: it comes first among equals, and the others are removed.
        rows.reverse();
        rows.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        rows.dedup_by(|later, first| (later.0, &later.1) == (first.0, &first.1));
        let size = |(_, key, value): &Change<'_>| {
            (key.len() + value.as_ref().map_or(0, |value| value.len())) as u64
        };
        self.mend()?;
        expect_room(&self.directory, rows.iter().map(size).sum())?;
        let deleted = rows.iter().filter(|(_, _, value)| value.is_none()).count() as u64;
        let meta = batch
            .meta
            .map(|meta| (META_KEY.to_vec(), Some(Cow::Owned(meta))));
        let rows = rows
            .into_iter()
            .map(|(table, key, value)| (full_key(table, &key), value))
            .chain(meta);
        let open = self.slot.get()?;
        let ingested = ingest(&open, rows);
        drop(open);
        ingested.map_err(|error| self.commit_failed(&error))?;
        self.deleted = self.deleted.map(|before| before.saturating_add(deleted));
        Ok(())
    }

    fn view(&self) -> Result<Box<dyn KvView>, StorageError> {
        let open = self.slot.get()?;
        let snapshot = open.database.snapshot();
        let meta = snapshot
            .get(&open.tree, META_KEY)
            .map_err(|error| failed(READING, &self.directory, &error))?
            .map(|meta| meta.to_vec());
        Ok(Box::new(View {
            open,
            snapshot,
            meta,
            directory: self.directory.clone(),
        }))
    }

    fn install(&mut self, rows: TableRows<'_>, meta: Option<Vec<u8>>) -> Result<(), StorageError> {
        let staged = self.staging().build(rows, meta, 0)?;
        self.adopt(staged)
    }
}

struct View {
    open: Arc<Open>,
    snapshot: Snapshot,
    meta: Option<Vec<u8>>,
    directory: PathBuf,
}

impl KvView for View {
    fn rows(&self) -> TableRows<'_> {
        let rows = self.snapshot.range(&self.open.tree, ..vec![MAX_TABLES]);
        Box::new(rows.map(|guard| {
            let (key, value) = guard
                .into_inner()
                .map_err(|error| failed(READING, &self.directory, &error))?;
            let table = key.first().copied().unwrap_or_default();
            Ok((
                table,
                (key.get(1..).unwrap_or_default().to_vec(), value.to_vec()),
            ))
        }))
    }

    fn meta(&self) -> Option<&[u8]> {
        self.meta.as_deref()
    }
}
