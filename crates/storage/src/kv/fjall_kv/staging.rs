//! A database that is built beside the current one and then takes its place.

use std::fs;
use std::path::{Path, PathBuf};

use fjall::PersistMode;

use super::open::Open;
use super::{
    CURRENT, FjallConfig, META_KEY, WRITING, database_path, expect_room, failed, full_key,
};
use crate::StorageError;
use crate::kv::{Ascending, TableRows};

/// After each this many bytes, the data is flushed and the free disk space is checked.
const PIECE: usize = 1 << 20;

/// The library's directory for tables, within its own directory.
const TABLES: &str = "tables";

/// Where the next content of a store can be built, by any thread, while the store stays in use.
#[derive(Debug, Clone)]
pub struct Staging {
    pub(super) directory: PathBuf,
    pub(super) config: FjallConfig,
    pub(super) number: u64,
}

/// Content that is durable and needs no more space to be [adopted](super::FjallKv::adopt). It is removed on drop.
pub struct Staged {
    directory: PathBuf,
    pub(super) number: u64,
    open: Option<Open>,
    /// It is in use, or may be after a crash.
    stays: bool,
}

impl std::fmt::Debug for Staged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = database_path(&self.directory, self.number);
        f.debug_tuple("Staged").field(&path).finish()
    }
}

impl Staging {
    /// Builds a database from rows in ascending order and a meta value. Keeps `stays_free` bytes of the disk free.
    ///
    /// # Errors
    /// [`StorageError::DiskFull`] if there is no space for it, or the problem with the rows or the disk. Nothing is left of it in that
    /// case.
    pub fn build(
        self,
        rows: TableRows<'_>,
        meta: Option<Vec<u8>>,
        leave_free: u64,
    ) -> Result<Staged, StorageError> {
        let path = database_path(&self.directory, self.number);
        remove(&path).map_err(|error| StorageError::io("cleaning", &path, error))?;
        let mut staged = Staged {
            directory: self.directory,
            number: self.number,
            open: None,
            stays: false,
        };
        expect_room(&staged.directory, leave_free)?;
        let open = staged.open.insert(Open::new(&path, &self.config)?);
        fill(&staged.directory, open, (rows, meta), leave_free)?;
        // The pointer to it is written now, so that a full disk does not keep it from taking its place.
        write_pointer(&staged.directory, self.number).map_err(|error| {
            StorageError::io("writing CURRENT.new in", &staged.directory, error)
        })?;
        Ok(staged)
    }
}

fn fill(
    directory: &Path,
    open: &Open,
    (rows, meta): (TableRows<'_>, Option<Vec<u8>>),
    leave_free: u64,
) -> Result<(), StorageError> {
    let fail = |error: fjall::Error| failed(WRITING, directory, &error);
    let mut ingestion = open.tree.start_ingestion().map_err(fail)?;
    let mut ascending = Ascending::new();
    let tables = open.tree.path().join(TABLES);
    let mut written = 0;
    for row in rows {
        let (table, (key, value)) = row?;
        // The library panics on rows out of order.
        ascending.check(table, &key)?;
        written += key.len() + value.len();
        if written >= PIECE {
            flush_newest(&tables);
            expect_room(directory, leave_free.saturating_add(written as u64))?;
            written = 0;
        }
        ingestion
            .write(full_key(table, &key), value)
            .map_err(fail)?;
    }
    if let Some(meta) = meta {
        ingestion.write(META_KEY, meta).map_err(fail)?;
    }
    ingestion.finish().map_err(fail)?;
    open.database.persist(PersistMode::SyncAll).map_err(fail)
}

/// The library flushes a table when it is complete, at 64 MiB: the log of a busy partition would wait behind all of that. In small pieces,
/// each flush is short. Errors here recur in that flush.
fn flush_newest(tables: &Path) {
    let file = newest(tables).and_then(|path| fs::File::open(path).ok());
    let _ = file.map(|file| file.sync_data());
}

/// The table that is being written: tables are numbered.
fn newest(tables: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(tables).ok()?.flatten();
    let numbered = entries.filter_map(|entry| {
        let number: u64 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path()))
    });
    numbered.max().map(|(_, path)| path)
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn next_pointer(directory: &Path) -> PathBuf {
    directory.join("CURRENT.new")
}

pub(super) fn write_pointer(directory: &Path, number: u64) -> std::io::Result<()> {
    let mut file = fs::File::create(next_pointer(directory))?;
    std::io::Write::write_all(&mut file, format!("{number}\n").as_bytes())?;
    file.sync_all()
}

/// Makes the pointer written last take effect.
pub(super) fn turn_pointer(directory: &Path) -> std::io::Result<()> {
    fs::rename(next_pointer(directory), directory.join(CURRENT))?;
    fs::File::open(directory)?.sync_all()
}

impl Staged {
    /// Returns the database, which is kept.
    pub(super) fn into_use(mut self) -> Result<Open, StorageError> {
        self.stays = true;
        turn_pointer(&self.directory)
            .map_err(|error| StorageError::io("writing CURRENT in", &self.directory, error))?;
        self.open.take().ok_or_else(|| StorageError::Kv {
            directory: self.directory.clone(),
            message: "there is no database to take over".into(),
        })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // An open database is closed first.
        self.open = None;
        if !self.stays {
            // A database that cannot be removed now is removed when the store is opened.
            let _ = fs::remove_dir_all(database_path(&self.directory, self.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_is_being_written_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let open = Open::new(&path, &FjallConfig::default()).unwrap();
        let tables = open.tree.path().join(TABLES);
        let mut seen = None;
        let rows = (0..64_u32).map(|n| {
            seen = newest(&tables).map(|path| path.metadata().unwrap().len());
            let value = (0..64 << 10).map(|byte: u32| (byte * (n + 7)) as u8);
            Ok((1, (n.to_be_bytes().into(), value.collect::<Vec<u8>>())))
        });
        fill(directory.path(), &open, (Box::new(rows), None), 0).unwrap();
        assert!(seen.is_some_and(|bytes| bytes > 0), "{seen:?}");
    }
}
