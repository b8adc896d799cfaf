//! Reading: a connection for each thread that answers queries. It never blocks the writer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use skep_query::{Answer, Query, QueryError, Row, Value};

use super::writer::Bound;
use super::{Place, SqliteError};
use crate::bounded::{BoundedRows, TooLarge};
use crate::sql::answer::{self, Database};
use crate::sql::{Dialect, Sql};
use crate::target::Source;

/// KiB of pages that a reader keeps.
const CACHE_KIB: u32 = 4 << 10;
/// What one query may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;

pub struct Reader {
    connection: Connection,
    place: Place,
    /// What one query may take.
    limit: Duration,
}

impl Reader {
    /// Opens a file that a writer has prepared.
    pub fn open(place: Place) -> Result<Reader, SqliteError> {
        let connection = place.open(OpenFlags::SQLITE_OPEN_READ_ONLY, CACHE_KIB)?;
        Ok(Reader {
            connection,
            place,
            limit: TIME_LIMIT,
        })
    }

    /// The time of a query runs from now on.
    fn begin(&mut self) {
        let deadline = Instant::now() + self.limit;
        let is_over = move || Instant::now() >= deadline;
        let _ = self.connection.progress_handler(STEPS, Some(is_over));
    }

    fn read(&self, sql: &Sql<'_>, columns: usize) -> rusqlite::Result<Vec<Row>> {
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
}

impl Source for Reader {
    fn open(&mut self) -> Result<(), QueryError> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError> {
        self.begin();
        answer::answer(self, query)
    }
}

impl Database for Reader {
    fn sql(&self) -> Sql<'_> {
        Sql::new(Dialect::Sqlite, "")
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        let read = self.read(sql, columns);
        read.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => QueryError::TooLong {
                seconds: self.limit.as_secs(),
            },
            Some(rusqlite::ErrorCode::TooBig) => TooLarge.into(),
            _ => QueryError::Unavailable(format!(
                "Secondary storage cannot be read: {}.",
                self.place.error(error)
            )),
        })
    }
}

/// The first values of a row.
pub(super) fn values(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Row> {
    (0..columns).map(|at| Ok(value(row.get_ref(at)?))).collect()
}

fn value(column: ValueRef<'_>) -> Value {
    match column {
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(Arc::from(String::from_utf8_lossy(text))),
        // No column holds the others.
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
        let place = Place::new(&directory.path().join("query.sqlite"));
        let _writer = Writer::open(place.clone()).unwrap();
        let mut reader = Reader::open(place).unwrap();
        reader.limit = Duration::from_millis(20);
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0";
        reader.begin();
        let mut sql = reader.sql();
        sql.text = endless.to_string();
        let cut = reader.rows(&sql, 1);
        assert!(matches!(cut, Err(QueryError::TooLong { .. })), "{cut:?}");
        reader.begin();
        let mut sql = reader.sql();
        sql.text = "SELECT entry FROM position".to_string();
        assert_eq!(reader.rows(&sql, 1), Ok(vec![vec![Value::Int(0)]]));
    }
}
