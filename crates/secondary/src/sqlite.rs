//! The embedded store: one SQLite file for each partition.

mod active_elements;
mod active_instances;
mod counts;
mod history;
pub(crate) mod reader;
mod schema;
mod space;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use skep_exporting::{Position, TargetError};

use crate::sql::{Dialect, Tables};

pub use reader::Reader;
pub use writer::Writer;

/// How long to wait for another holder of a lock on the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// KiB of page cache while copying.
const COPY_CACHE_KIB: u32 = 2 << 10;

/// Failures of the database file.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    #[error("{path}: {source}")]
    Sqlite {
        path: String,
        source: rusqlite::Error,
    },
    #[error(
        "{path} was written by another version of Skep (format {found}, this one has {own}). Run that version, or stop the node, \
         move the file away and start: it is filled again with what the log still has"
    )]
    Format { path: String, found: i64, own: i64 },
}

impl SqliteError {
    /// Converts the failure to a target error.
    pub fn into_target_error(self) -> TargetError {
        let reason = self.to_string();
        match &self {
            SqliteError::Format { .. } => TargetError::Foreign(reason),
            SqliteError::Sqlite { .. } if self.is_damage() => TargetError::Corrupt(reason),
            // The file is locked, or the disk is full or failing: a later write may succeed.
            SqliteError::Sqlite { .. } => TargetError::Busy(reason),
        }
    }

    /// Whether the content of the file is corrupt, so that it can never be read.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self, SqliteError::Sqlite { source, .. }
            if matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)))
    }

    /// Whether the disk is full. Space may become available later.
    pub fn is_full(&self) -> bool {
        matches!(self, SqliteError::Sqlite { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
    }
}

/// The position of a file written by a [`Writer`].
pub fn position(database: &DatabaseFile) -> Result<Position, SqliteError> {
    let connection = database.open(OpenFlags::SQLITE_OPEN_READ_WRITE, 0)?;
    writer::position(&connection).map_err(|e| database.error(e))
}

/// Writes a copy of the file in its current state.
pub fn copy(database: &DatabaseFile, to: &Path) -> Result<(), SqliteError> {
    let connection = database.open(OpenFlags::SQLITE_OPEN_READ_ONLY, COPY_CACHE_KIB)?;
    let to = to.to_string_lossy();
    let copied = connection.execute("VACUUM INTO ?", [&*to]);
    copied.map(drop).map_err(|e| database.error(e))
}

/// The database file of a store. Clones share its state.
#[derive(Clone, Debug)]
pub struct DatabaseFile {
    path: PathBuf,
    /// See [`crate::Config::tenants`].
    tenants: bool,
    /// Whether corruption was found in the file.
    damaged: Arc<AtomicBool>,
}

impl DatabaseFile {
    pub fn new(path: &Path) -> DatabaseFile {
        DatabaseFile {
            path: path.to_path_buf(),
            tenants: false,
            damaged: Arc::default(),
        }
    }

    pub fn with_tenants(self, tenants: bool) -> DatabaseFile {
        DatabaseFile { tenants, ..self }
    }

    fn tables(&self) -> Tables<'static> {
        Tables {
            dialect: Dialect::Sqlite,
            prefix: "",
            tenants: self.tenants,
        }
    }

    /// Bytes of the file and of its write-ahead log.
    pub fn taken(&self) -> (u64, u64) {
        space::taken(&self.path)
    }

    /// Whether corruption was found in the file.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    fn error(&self, source: rusqlite::Error) -> SqliteError {
        let error = SqliteError::Sqlite {
            path: self.path.display().to_string(),
            source,
        };
        if error.is_damage() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        error
    }

    fn open(&self, flags: OpenFlags, cache_kib: u32) -> Result<Connection, SqliteError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&self.path, flags).map_err(|e| self.error(e))?;
        let prepare = || {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            connection.set_prepared_statement_cache_capacity(128);
            Ok(())
        };
        prepare().map_err(|e| self.error(e))?;
        Ok(connection)
    }
}
