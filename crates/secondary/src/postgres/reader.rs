//! Answers queries. Each thread has one connection, which is renewed when it breaks.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use skep_query::{Answer, Query, QueryError, Row, Value};

use super::connection::{Connection, Failure, FailureKind};
use super::value::{self, Bound};
use super::{Rdbms, TIME_LIMIT, schema};
use crate::bounded::{BoundedRows, TooLarge};
use crate::sql::answer::{self, Database};
use crate::sql::counts::Counts;
use crate::sql::{Dialect, Sql, table_name};
use crate::target::Source;
use skep_exporting::Position;

/// The database enforces the time limit itself; this is how much longer the client waits for it to report that.
const GRACE: Duration = Duration::from_secs(2);
/// While the database is away, queries fail at once. This is the interval at which the connection is tried again.
const RETRY: Duration = Duration::from_millis(500);

pub struct Reader {
    database: Arc<Rdbms>,
    connection: Option<Connection>,
    /// When the database was last found to be away, and why.
    away: Option<(Instant, String)>,
}

impl Reader {
    pub fn new(database: Arc<Rdbms>) -> Reader {
        Reader {
            database,
            connection: None,
            away: None,
        }
    }

    fn unavailable(&self, reason: &str) -> QueryError {
        QueryError::Unavailable(format!(
            "Secondary storage ({}) cannot be read: {reason}. Send the query again when it is back.",
            self.database.shown
        ))
    }

    fn connect(&mut self) -> Result<(), QueryError> {
        if let Some((since, reason)) = &self.away
            && since.elapsed() < RETRY
        {
            return Err(self.unavailable(reason));
        }
        match Connection::open(&self.database.for_reading, &self.database.trust, None) {
            Ok(connection) => {
                (self.connection, self.away) = (Some(connection), None);
                Ok(())
            }
            Err(failure) => {
                self.away = Some((Instant::now(), failure.reason.clone()));
                Err(self.unavailable(&failure.reason))
            }
        }
    }

    fn judge(&mut self, failure: Failure) -> QueryError {
        match failure.kind {
            FailureKind::TooLong => QueryError::TooLong {
                seconds: TIME_LIMIT.as_secs(),
            },
            FailureKind::TooLarge => {
                // The rest of the answer is still in transit.
                self.connection = None;
                TooLarge.into()
            }
            FailureKind::Closed
            | FailureKind::Refused
            | FailureKind::Overtaken
            | FailureKind::Foreign => self.unavailable(&failure.reason),
        }
    }
}

impl Source for Reader {
    fn open(&mut self) -> Result<(), QueryError> {
        match &self.connection {
            Some(connection) if !connection.client.is_closed() => Ok(()),
            _ => self.connect(),
        }
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError> {
        self.ask(|asked| answer::answer(asked, query))
    }

    fn positions(&mut self) -> Result<Vec<(u32, Position)>, QueryError> {
        let table = table_name(&self.database.prefix, schema::POSITION);
        let text = format!(
            "SELECT partition::int8, entry, record, timestamp FROM {table} WHERE partition > 0"
        );
        let rows = self.ask(|asked| {
            let mut sql = asked.sql();
            sql.text.clone_from(&text);
            asked.rows(&sql, 4)
        })?;
        let number = |row: &Row, at: usize| row.get(at).and_then(Value::as_int).unwrap_or_default();
        let position = |row: &Row| {
            let position = Position {
                entry: number(row, 1).cast_unsigned(),
                record: number(row, 2).cast_unsigned(),
                timestamp: number(row, 3),
            };
            (u32::try_from(number(row, 0)).unwrap_or_default(), position)
        };
        Ok(rows.iter().map(position).collect())
    }
}

impl Reader {
    /// Runs a query, and once more if the connection turns out to be unusable.
    fn ask<T>(
        &mut self,
        question: impl Fn(&RunningQuery<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut again = true;
        loop {
            self.open()?;
            let Some(connection) = &self.connection else {
                return Err(self.unavailable("there is no connection"));
            };
            let asked = RunningQuery {
                connection,
                prefix: &self.database.prefix,
                tenants: self.database.tenants,
                failure: Default::default(),
            };
            let answered = question(&asked);
            let Some(failure) = asked.failure.into_inner() else {
                return answered;
            };
            if failure.kind != FailureKind::Closed {
                return Err(self.judge(failure));
            }
            self.connection = None;
            // The database may have been restarted since the last query.
            if !std::mem::take(&mut again) {
                return Err(self.judge(failure));
            }
        }
    }
}

/// The state of one query.
struct RunningQuery<'a> {
    connection: &'a Connection,
    prefix: &'a str,
    tenants: bool,
    failure: std::cell::RefCell<Option<Failure>>,
}

impl Database for RunningQuery<'_> {
    fn sql(&self) -> Sql<'_> {
        Sql::new(Dialect::Postgres, self.prefix).with_tenants(self.tenants)
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        rows(self.connection, sql, columns, TIME_LIMIT + GRACE).map_err(|failure| {
            let reason = failure.reason.clone();
            *self.failure.borrow_mut() = Some(failure);
            QueryError::Unavailable(reason)
        })
    }

    /// Other nodes, which may run an earlier version, write some of the partitions.
    fn is_counted(&self, counts: Counts) -> Result<bool, QueryError> {
        let mut asked = self.sql();
        // As JSON, because tables of an earlier version lack the column. Those that have it have the table of the counts as well.
        asked.push(&format!(
            "SELECT (NOT EXISTS (SELECT 1 FROM {} p WHERE p.partition > 0
                AND (to_jsonb(p) ->> '{}')::bigint IS DISTINCT FROM p.entry))::int::int8",
            table_name(self.prefix, schema::POSITION),
            counts.noted()
        ));
        let rows = self.rows(&asked, 1)?;
        Ok(rows.first().and_then(|row| row.first()?.as_int()) == Some(1))
    }
}

/// The rows that a statement returns.
pub fn rows(
    connection: &Connection,
    sql: &Sql<'_>,
    columns: usize,
    limit: Duration,
) -> Result<Vec<Row>, Failure> {
    let parameters = sql.parameters.iter().map(Bound);
    let parameters = parameters.map(|value| (value.kind(), value));
    let parameters = parameters.map(|(kind, value)| (value, kind));
    connection.wait(limit, async {
        let found = connection.client.query_typed_raw(&sql.text, parameters);
        let mut found = pin!(found.await?);
        let mut rows = BoundedRows::default();
        while let Some(found) = found.try_next().await? {
            rows.push(value::row(&found, columns))?;
        }
        Ok::<_, Failure>(rows.done())
    })
}
