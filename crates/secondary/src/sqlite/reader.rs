//! Answers queries. Each thread has one connection, which never blocks the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use skep_query::{Answer, Query, QueryError, Row, Value};

use super::writer::Bound;
use super::{DatabaseFile, SqliteError, counts};
use crate::bounded::{BoundedRows, TooLarge};
use crate::sql::answer::{self, Database};
use crate::sql::counts::Counts;
use crate::sql::{Dialect, Sql};
use crate::target::Source;

/// KiB of page cache per reader.
const CACHE_KIB: u32 = 4 << 10;
/// Time limit of one query.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Number of SQLite VM steps between two checks of the time limit.
const STEPS: i32 = 10_000;

/// Reads a file that a writer has prepared.
pub struct Reader {
    database: DatabaseFile,
    /// Opened for the first query, because a connection keeps the whole schema in memory.
    connection: Option<Connection>,
    /// Time limit of one query.
    limit: Duration,
}

impl Reader {
    pub fn new(database: DatabaseFile) -> Reader {
        Reader {
            database,
            connection: None,
            limit: TIME_LIMIT,
        }
    }

    /// Starts the time limit of a query.
    fn begin(&mut self) -> Result<Session<'_>, QueryError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let opened = self
                    .database
                    .open(OpenFlags::SQLITE_OPEN_READ_ONLY, CACHE_KIB);
                opened.map_err(|error| cannot_read(&error))?
            }
        };
        let (begun, ends) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let seen = ends.clone();
        let is_over = move || begun.elapsed() >= Duration::from_micros(seen.load(Relaxed));
        let _ = connection.progress_handler(STEPS, Some(is_over));
        Ok(Session {
            connection: self.connection.insert(connection),
            database: &self.database,
            limit: self.limit,
            begun,
            ends,
        })
    }
}

/// The state of one query.
struct Session<'a> {
    connection: &'a Connection,
    database: &'a DatabaseFile,
    limit: Duration,
    begun: Instant,
    /// When the running statement is interrupted, in microseconds from the start of the session.
    ends: Arc<AtomicU64>,
}

impl Session<'_> {
    fn read(&self, sql: &Sql<'_>, columns: usize, ends: Duration) -> rusqlite::Result<Vec<Row>> {
        let ends = u64::try_from(ends.as_micros()).unwrap_or(u64::MAX);
        self.ends.store(ends, Relaxed);
        let mut statement = self.connection.prepare_cached(&sql.text)?;
        let parameters = params_from_iter(sql.parameters.iter().map(Bound));
        let mut found = statement.query(parameters)?;
        let mut rows = BoundedRows::default();
        while let Some(row) = found.next()? {
            let pushed = rows.push(values(row, columns)?);
            pushed.map_err(|TooLarge| {
                let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG);
                rusqlite::Error::SqliteFailure(code, None)
            })?;
        }
        Ok(rows.done())
    }

    fn judge(&self, error: rusqlite::Error) -> QueryError {
        match error.sqlite_error_code() {
            _ if is_interrupted(&error) => QueryError::TooLong {
                seconds: self.limit.as_secs(),
            },
            Some(rusqlite::ErrorCode::TooBig) => TooLarge.into(),
            _ => cannot_read(&self.database.error(error)),
        }
    }
}

impl Source for Reader {
    fn open(&mut self) -> Result<(), QueryError> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError> {
        answer::answer(&self.begin()?, query)
    }
}

impl Database for Session<'_> {
    fn sql(&self) -> Sql<'_> {
        Sql::new(Dialect::Sqlite, "").with_tenants(self.database.tenants)
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        let read = self.read(sql, columns, self.limit);
        read.map_err(|error| self.judge(error))
    }

    fn rows_within(
        &self,
        sql: &Sql<'_>,
        columns: usize,
        limit: Duration,
    ) -> Result<Option<Vec<Row>>, QueryError> {
        let ends = self.limit.min(self.begun.elapsed() + limit);
        match self.read(sql, columns, ends) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if is_interrupted(&error) && ends < self.limit => Ok(None),
            Err(error) => Err(self.judge(error)),
        }
    }

    fn is_counted(&self, counts: Counts) -> Result<bool, QueryError> {
        counts::is_counted(self.connection, counts).map_err(|error| self.judge(error))
    }
}

fn is_interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

fn cannot_read(error: &SqliteError) -> QueryError {
    QueryError::Unavailable(format!("Secondary storage cannot be read: {error}."))
}

/// The first values of a row.
pub(crate) fn values(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Row> {
    (0..columns).map(|at| Ok(value(row.get_ref(at)?))).collect()
}

fn value(column: ValueRef<'_>) -> Value {
    match column {
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(Arc::from(String::from_utf8_lossy(text))),
        // No column has another type.
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;

    #[test]
    fn a_query_that_takes_too_long_is_cut_off_and_the_next_one_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let database = DatabaseFile::new(&directory.path().join("query.sqlite"));
        let _writer = Writer::open(database.clone()).unwrap();
        let mut reader = Reader::new(database);
        reader.limit = Duration::from_millis(20);
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0";
        let session = reader.begin().unwrap();
        let mut sql = session.sql();
        sql.text = endless.to_string();
        let cut = session.rows(&sql, 1);
        assert!(matches!(cut, Err(QueryError::TooLong { .. })), "{cut:?}");
        let session = reader.begin().unwrap();
        let mut sql = session.sql();
        sql.text = "SELECT entry FROM position".to_string();
        assert_eq!(session.rows(&sql, 1), Ok(vec![vec![Value::Int(0)]]));
    }
}
