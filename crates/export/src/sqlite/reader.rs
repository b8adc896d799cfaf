//! Reading: a connection for each thread that answers queries. It never blocks the writer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use skep_protocol::Key;
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{
    Answer, Entity, Found, Groups, Query, QueryError, Row, Search, Start, Value, groups, merge,
};

use super::{Place, SqliteError};
use crate::sql::{Dialect, Sql, flows, select, statistics};

/// KiB of pages that a reader keeps.
const CACHE_KIB: u32 = 4 << 10;
/// What one query may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;
/// Bytes of texts in one answer of a partition.
const MAX_BYTES: usize = 64 << 20;

pub struct Reader {
    connection: Connection,
    place: Place,
}

impl Reader {
    /// Opens a file that a writer has prepared.
    pub fn open(place: Place) -> Result<Reader, SqliteError> {
        let connection = place.open(OpenFlags::SQLITE_OPEN_READ_ONLY, CACHE_KIB)?;
        Ok(Reader { connection, place })
    }

    pub fn answer(&mut self, query: &Query) -> Result<Answer, QueryError> {
        let deadline = Instant::now() + TIME_LIMIT;
        let is_over = move || Instant::now() >= deadline;
        let _ = self.connection.progress_handler(STEPS, Some(is_over));
        let answer = match query {
            Query::Search(search) => self.search(search).map(Answer::Found),
            Query::Get { entity, key } => self.get(entity, *key).map(Answer::Row),
            Query::SequenceFlows {
                process_instance_key,
            } => self.sequence_flows(*process_instance_key).map(Answer::Rows),
            Query::Groups(groups) => self.groups(groups),
            Query::DefinitionStatistics {
                process_definition_key,
            } => self
                .definition_statistics(*process_definition_key)
                .map(Answer::Rows),
            Query::ElementStatistics {
                process_instance_key,
            } => self
                .element_statistics(*process_instance_key)
                .map(Answer::Rows),
        };
        if let Ok(Answer::Rows(rows)) = &answer
            && matches!(query, Query::Groups(_))
            && rows.len() > groups::MAX_GROUPS
        {
            return Err(QueryError::TooMany {
                groups: groups::MAX_GROUPS,
            });
        }
        answer.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => QueryError::TooLong {
                seconds: TIME_LIMIT.as_secs(),
            },
            Some(rusqlite::ErrorCode::TooBig) => QueryError::TooLarge {
                mebibytes: MAX_BYTES >> 20,
            },
            _ => QueryError::Unavailable(format!(
                "Secondary storage cannot be read: {}.",
                self.place.error(error)
            )),
        })
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(&sql.text)?;
        let parameters = params_from_iter(sql.parameters.iter().map(super::writer::Bound));
        let mut found = statement.query(parameters)?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(row) = found.next()? {
            let row = values(row, columns)?;
            bytes += row
                .iter()
                .filter_map(Value::as_text)
                .map(str::len)
                .sum::<usize>();
            // One row is always given: there is no smaller page.
            if bytes > MAX_BYTES && !rows.is_empty() {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG),
                    None,
                ));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn search(&self, search: &Search) -> rusqlite::Result<Found> {
        let mut rows = self.rows(&select::page(new_sql(), search), search.entity.fields.len())?;
        if matches!(search.page.start, Start::Before(_)) {
            rows.reverse();
        }
        let counted = self.rows(&select::count(new_sql(), search), 1)?;
        let counted = counted.first().and_then(|row| row.first()?.as_int());
        let counted = u64::try_from(counted.unwrap_or_default()).unwrap_or_default();
        Ok(Found {
            rows,
            total: counted.min(merge::MAX_COUNTED),
            more: counted > merge::MAX_COUNTED,
        })
    }

    fn get(&self, entity: &Entity, key: Key) -> rusqlite::Result<Option<Row>> {
        let sql = select::get(new_sql(), entity, key.0);
        Ok(self.rows(&sql, entity.fields.len())?.pop())
    }

    fn sequence_flows(&self, process_instance_key: Key) -> rusqlite::Result<Vec<Row>> {
        let found = self.get(&PROCESS_INSTANCE, process_instance_key)?;
        Ok(found.map(|row| flows::of(&row)).unwrap_or_default())
    }

    fn groups(&self, groups: &Groups) -> rusqlite::Result<Answer> {
        let columns = groups.by.len() + groups.measures.len();
        self.rows(&select::groups(new_sql(), groups), columns)
            .map(Answer::Rows)
    }

    fn definition_statistics(&self, process_definition_key: Key) -> rusqlite::Result<Vec<Row>> {
        let sql = statistics::of_definition(new_sql(), process_definition_key);
        self.rows(&sql, statistics::COLUMNS)
    }

    fn element_statistics(&self, process_instance_key: Key) -> rusqlite::Result<Vec<Row>> {
        let sql = statistics::of_instance(new_sql(), process_instance_key);
        self.rows(&sql, statistics::COLUMNS)
    }
}

fn new_sql() -> Sql<'static> {
    Sql::new(Dialect::Sqlite, "")
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
