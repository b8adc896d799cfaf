//! The embedded store: one SQLite file for each partition.

mod history;
mod reader;
mod schema;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use reader::Reader;
pub use writer::Writer;

/// What goes wrong with the file.
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
    /// The disk has no room left: it may get some.
    pub fn is_full(&self) -> bool {
        matches!(self, SqliteError::Sqlite { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
    }
}

/// The place of the file, for messages.
#[derive(Clone, Debug)]
pub struct Place(PathBuf);

impl Place {
    pub fn new(path: &Path) -> Place {
        Place(path.to_path_buf())
    }

    fn error(&self, source: rusqlite::Error) -> SqliteError {
        SqliteError::Sqlite {
            path: self.0.display().to_string(),
            source,
        }
    }

    fn open(&self, flags: OpenFlags, cache_kib: u32) -> Result<Connection, SqliteError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.0, flags).map_err(|e| self.error(e))?;
        let prepare = || {
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            connection.set_prepared_statement_cache_capacity(128);
            Ok(())
        };
        prepare().map_err(|e| self.error(e))?;
        Ok(connection)
    }
}
