//! The store on disk, on fjall (an LSM tree).
//!
//! All tables share one tree: the first byte of a key is its table. That keeps the number of files and buffers small, and
//! one batch is atomic by itself. The database lives in a numbered sub-directory named by the file `CURRENT`, so that
//! installing a snapshot is the building of a new database followed by one rename.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};

use super::{Ascending, KvBatch, KvStore, KvView, MAX_TABLES, Rows, Table, TableRows};
use crate::StorageError;

const META_TABLE: u8 = 0xff;
const META_KEY: &[u8] = &[META_TABLE, b'm', b'e', b't', b'a'];
const CURRENT: &str = "CURRENT";
const TREE: &str = "state";

/// Memory and file limits of one store.
#[derive(Debug, Clone)]
pub struct FjallConfig {
    /// Bytes of cached blocks. Default 8 MiB.
    pub cache_bytes: u64,
    /// Bytes of a write buffer before it goes to a file. A commit larger than this is held in memory once more while it
    /// is flushed. Default 8 MiB.
    pub write_buffer_bytes: u64,
    /// After this many bytes of commits the write buffer is flushed to files, so that opening the store does not have
    /// to replay a long journal. Default 16 MiB.
    pub rotate_bytes: u64,
    /// Threads for flushes and compaction. Default 1.
    pub worker_threads: usize,
}

impl Default for FjallConfig {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            write_buffer_bytes: 8 << 20,
            rotate_bytes: 16 << 20,
            worker_threads: 1,
        }
    }
}

/// A [`KvStore`] in a directory.
pub struct FjallKv {
    directory: PathBuf,
    config: FjallConfig,
    number: u64,
    open: Open,
    since_rotation: u64,
}

#[derive(Clone)]
struct Open {
    database: Database,
    tree: Keyspace,
}

impl FjallKv {
    /// Opens the store in a directory, creating it if it is missing.
    pub fn open(directory: impl AsRef<Path>, config: FjallConfig) -> Result<Self, StorageError> {
        let directory = directory.as_ref().to_path_buf();
        let io = |operation: &'static str| {
            let directory = directory.clone();
            move |error| StorageError::io(operation, &directory, error)
        };
        fs::create_dir_all(&directory).map_err(io("creating"))?;
        let number = match fs::read_to_string(directory.join(CURRENT)) {
            Ok(text) => text.trim().parse().map_err(|_| {
                StorageError::corrupt(&directory.join(CURRENT), 0, "it does not hold a number")
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                point_to(&directory, 1).map_err(io("writing CURRENT in"))?;
                1
            }
            Err(error) => return Err(io("reading CURRENT in")(error)),
        };
        // Databases of installations that were not finished, or replaced, are left-overs.
        for entry in fs::read_dir(&directory).map_err(io("listing"))? {
            let entry = entry.map_err(io("listing"))?;
            let name = entry.file_name();
            if let Some(other) = name.to_str().and_then(|name| name.strip_prefix("kv-"))
                && other.parse() != Ok(number)
            {
                fs::remove_dir_all(entry.path()).map_err(io("cleaning"))?;
            }
        }
        let open = open_database(&directory, number, &config)?;
        Ok(Self {
            directory,
            config,
            number,
            open,
            since_rotation: 0,
        })
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.open.database.disk_space().unwrap_or(0)
    }

    /// A reader of the committed content for another thread, beside the commits of the owner. It stays with the
    /// database that is open now: after [`KvStore::install`] ask for a new one.
    pub fn reader(&self) -> FjallReader {
        FjallReader {
            directory: self.directory.clone(),
            open: self.open.clone(),
        }
    }

    /// Writes the buffers to files and waits for it, so that the next opening is quick. Call it at a graceful stop.
    pub fn close(self) -> Result<(), StorageError> {
        self.open
            .tree
            .rotate_memtable_and_wait()
            .map_err(|error| failed(&self.directory, &error))
    }
}

/// Reads a [`FjallKv`] from another thread.
#[derive(Clone)]
pub struct FjallReader {
    directory: PathBuf,
    open: Open,
}

impl FjallReader {
    /// The value of a key.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        get(&self.open, &self.directory, table, key)
    }

    /// All rows of a table, in key order.
    pub fn rows(&self, table: Table) -> Rows<'_> {
        scan(&self.open, &self.directory, table, &[], None)
    }
}

fn get(
    open: &Open,
    directory: &Path,
    table: Table,
    key: &[u8],
) -> Result<Option<Vec<u8>>, StorageError> {
    let value = open.tree.get(full_key(table, key));
    let value = value.map_err(|error| failed(directory, &error))?;
    Ok(value.map(|value| value.to_vec()))
}

fn scan<'a>(
    open: &'a Open,
    directory: &'a Path,
    table: Table,
    from: &[u8],
    to: Option<&[u8]>,
) -> Rows<'a> {
    if to.is_some_and(|to| to <= from) {
        return Box::new(std::iter::empty());
    }
    let end = match to {
        Some(to) => full_key(table, to),
        None => vec![table.saturating_add(1)],
    };
    let rows = open.tree.range(full_key(table, from)..end);
    Box::new(rows.map(move |guard| {
        let (key, value) = guard
            .into_inner()
            .map_err(|error| failed(directory, &error))?;
        Ok((key.get(1..).unwrap_or_default().to_vec(), value.to_vec()))
    }))
}

fn failed(directory: &Path, error: &fjall::Error) -> StorageError {
    if let fjall::Error::Io(io) = error {
        // Keeps "the disk is full" recognisable.
        let source = match io.raw_os_error() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::new(io.kind(), io.to_string()),
        };
        return StorageError::io("writing the key-value store in", directory, source);
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
    let temporary = directory.join("CURRENT.new");
    let mut file = fs::File::create(&temporary)?;
    writeln!(file, "{number}")?;
    file.sync_all()?;
    fs::rename(&temporary, directory.join(CURRENT))?;
    fs::File::open(directory)?.sync_all()
}

fn open_database(
    directory: &Path,
    number: u64,
    config: &FjallConfig,
) -> Result<Open, StorageError> {
    let open = || {
        let database = Database::builder(database_path(directory, number))
            .cache_size(config.cache_bytes)
            .worker_threads(config.worker_threads.max(1))
            .manual_journal_persist(true)
            .open()?;
        let tree = database.keyspace(TREE, || {
            KeyspaceCreateOptions::default()
                .manual_journal_persist(true)
                .max_memtable_size(config.write_buffer_bytes.max(1 << 20))
        })?;
        Ok(Open { database, tree })
    };
    open().map_err(|error| failed(directory, &error))
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

impl KvStore for FjallKv {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        get(&self.open, &self.directory, table, key)
    }

    fn scan(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'_> {
        scan(&self.open, &self.directory, table, from, to)
    }

    fn meta(&self) -> Result<Option<Vec<u8>>, StorageError> {
        let value = self.open.tree.get(META_KEY);
        let value = value.map_err(|error| failed(&self.directory, &error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn commit(&mut self, batch: KvBatch) -> Result<(), StorageError> {
        let mut bytes = 0_usize;
        let mut write = self
            .open
            .database
            .batch()
            .durability(Some(PersistMode::SyncData));
        for (table, key, value) in batch.changes {
            check_table(table)?;
            let key = full_key(table, &key);
            bytes += key.len() + value.as_ref().map_or(0, Vec::len);
            match value {
                Some(value) => write.insert(&self.open.tree, key, value),
                None => write.remove(&self.open.tree, key),
            }
        }
        if let Some(meta) = batch.meta {
            bytes += meta.len();
            write.insert(&self.open.tree, META_KEY, meta);
        }
        write
            .commit()
            .map_err(|error| failed(&self.directory, &error))?;
        self.since_rotation += bytes as u64;
        if self.since_rotation >= self.config.rotate_bytes {
            self.since_rotation = 0;
            self.open
                .tree
                .rotate_memtable_and_wait()
                .map_err(|error| failed(&self.directory, &error))?;
        }
        Ok(())
    }

    fn view(&self) -> Result<Box<dyn KvView>, StorageError> {
        let snapshot = self.open.database.snapshot();
        let meta = snapshot
            .get(&self.open.tree, META_KEY)
            .map_err(|error| failed(&self.directory, &error))?
            .map(|meta| meta.to_vec());
        Ok(Box::new(View {
            open: self.open.clone(),
            snapshot,
            meta,
            directory: self.directory.clone(),
        }))
    }

    fn install(&mut self, rows: TableRows<'_>, meta: Option<Vec<u8>>) -> Result<(), StorageError> {
        let number = self.number + 1;
        let path = database_path(&self.directory, number);
        if path.exists() {
            fs::remove_dir_all(&path)
                .map_err(|error| StorageError::io("cleaning", &path, error))?;
        }
        let open = open_database(&self.directory, number, &self.config)?;
        let fail = |error: fjall::Error| failed(&self.directory, &error);
        let mut ingestion = open.tree.start_ingestion().map_err(fail)?;
        let mut ascending = Ascending::new();
        for row in rows {
            let (table, (key, value)) = row?;
            // The library panics at rows out of order.
            ascending.check(table, &key)?;
            ingestion
                .write(full_key(table, &key), value)
                .map_err(fail)?;
        }
        if let Some(meta) = meta {
            ingestion.write(META_KEY, meta).map_err(fail)?;
        }
        ingestion.finish().map_err(fail)?;
        open.database.persist(PersistMode::SyncAll).map_err(fail)?;
        point_to(&self.directory, number)
            .map_err(|error| StorageError::io("writing CURRENT in", &self.directory, error))?;
        let old = database_path(&self.directory, self.number);
        self.open = open;
        self.number = number;
        self.since_rotation = 0;
        // Views of the old content may still read it; what cannot be removed now is removed at the next opening.
        let _ = fs::remove_dir_all(old);
        Ok(())
    }
}

struct View {
    open: Open,
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
                .map_err(|error| failed(&self.directory, &error))?;
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
