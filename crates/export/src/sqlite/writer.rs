//! Writing: one transaction for each window of changes, with the position.

use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, OptionalExtension, ToSql, Transaction, params,
    params_from_iter,
};
use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::{Conditions, Entity, Row, Value};

use super::{Place, SqliteError, history, reader, schema};
use crate::changes::{Changes, Rows};
use crate::definitions::StoredDefinitions;
use crate::exporter::Position;
use crate::settle::Stored;
use crate::sql::{Dialect, Sql, select, upsert};
use crate::target::Target;

/// KiB of pages that the writer keeps.
const CACHE_KIB: u32 = 8 << 10;

pub struct Writer {
    connection: Connection,
    place: Place,
    /// Texts of upserts, by entity and the set of columns.
    upserts: FxHashMap<(usize, u64), String>,
}

impl Writer {
    /// Opens the file, or makes it.
    pub fn open(place: Place) -> Result<Writer, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = place.open(flags, CACHE_KIB)?;
        schema::prepare(&connection, &place)?;
        Ok(Writer {
            connection,
            place,
            upserts: FxHashMap::default(),
        })
    }

    pub fn position(&self) -> Result<Position, SqliteError> {
        position(&self.connection).map_err(|e| self.place.error(e))
    }
}

pub(super) fn position(connection: &Connection) -> rusqlite::Result<Position> {
    let sql = "SELECT entry, record, timestamp FROM position";
    connection.query_row(sql, [], |row| {
        Ok(Position {
            entry: row.get::<_, i64>(0)?.cast_unsigned(),
            record: row.get::<_, i64>(1)?.cast_unsigned(),
            timestamp: row.get(2)?,
        })
    })
}

impl Target for Writer {
    fn open(&mut self) -> Result<Position, String> {
        self.position().map_err(|e| e.to_string())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn write(&mut self, changes: &Changes, position: Position) -> Result<(), String> {
        let upserts = &mut self.upserts;
        let transaction = self.connection.transaction();
        let flushed = transaction.and_then(|transaction| {
            for (at, rows) in changes.rows.iter().enumerate() {
                store(&transaction, upserts, at, rows)?;
            }
            others(&transaction, changes)?;
            for deletion in &changes.deletions {
                history::delete(&transaction, deletion)?;
            }
            transaction
                .prepare_cached("UPDATE position SET entry = ?, record = ?, timestamp = ?")?
                .execute(params![
                    position.entry.cast_signed(),
                    position.record.cast_signed(),
                    position.timestamp
                ])?;
            transaction.commit()
        });
        flushed.map_err(|e| self.place.error(e).to_string())
    }

    /// False: a reader was in the way.
    fn sync(&mut self) -> Result<bool, String> {
        let done = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                let (busy, log, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(busy == 0 && log == moved)
            });
        done.map_err(|e| self.place.error(e).to_string())
    }

    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, String> {
        let place = &self.place;
        let transaction = self.connection.transaction();
        let forgotten = transaction.and_then(|transaction| {
            let keys: Vec<i64> = transaction
                .prepare_cached(
                    "SELECT processInstanceKey FROM process_instance WHERE endDate < ? ORDER BY endDate LIMIT ?",
                )?
                .query_map(params![before, limit as i64], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            history::instances(&transaction, &keys)?;
            let aged = history::aged(&transaction, before, limit)?;
            transaction.commit()?;
            Ok(keys.len().max(aged))
        });
        forgotten.map_err(|e| place.error(e).to_string())
    }

    fn slice(&self) -> Duration {
        Duration::from_millis(10)
    }
}

impl Stored for Writer {
    fn look_up(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
        columns: &[usize],
    ) -> Result<Vec<Row>, String> {
        let sql = Sql::new(Dialect::Sqlite, "");
        let sql = select::look_up(sql, entity, conditions, columns);
        let read = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare_cached(&sql.text)?;
            let mut rows = statement.query(params_from_iter(sql.parameters.iter().map(Bound)))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(reader::values(row, columns.len())?);
            }
            Ok(found)
        };
        read().map_err(|e| self.place.error(e).to_string())
    }
}

impl StoredDefinitions for Writer {
    fn definition(&self, key: Key) -> Result<Option<Vec<u8>>, String> {
        let sql = "SELECT body FROM definition_body WHERE key = ?";
        let read = self.connection.prepare_cached(sql);
        let found = read.and_then(|mut read| read.query_row([key.0], |row| row.get(0)).optional());
        found.map_err(|e| self.place.error(e).to_string())
    }
}

pub(crate) struct Bound<'a>(pub &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn store(
    transaction: &Transaction<'_>,
    texts: &mut FxHashMap<(usize, u64), String>,
    at: usize,
    rows: &Rows,
) -> rusqlite::Result<()> {
    // Few sets of columns occur: what a row costs is not the search for its statement.
    let mut statements: Vec<(u64, CachedStatement<'_>)> = Vec::new();
    for row in rows.sorted() {
        let known = statements.iter().position(|(mask, _)| *mask == row.mask);
        let known = match known {
            Some(known) => known,
            None => {
                let text = texts.entry((at, row.mask));
                let sql = text.or_insert_with(|| upsert_text(rows.entity, row.mask));
                statements.push((row.mask, transaction.prepare_cached(sql)?));
                statements.len() - 1
            }
        };
        let Some((_, statement)) = statements.get_mut(known) else {
            continue;
        };
        let mut parameter = 0;
        for (column, value) in row.values.iter().enumerate() {
            if row.mask & (1 << column) != 0 {
                parameter += 1;
                statement.raw_bind_parameter(parameter, Bound(value))?;
            }
        }
        statement.raw_execute()?;
    }
    Ok(())
}

fn upsert_text(entity: &'static Entity, mask: u64) -> String {
    let places = vec!["?"; upsert::columns(entity, mask).count()].join(", ");
    upsert::statement(
        Dialect::Sqlite,
        "",
        entity,
        mask,
        &format!("VALUES ({places})"),
    )
}

fn others(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<()> {
    for ((definition, _), ended) in &changes.ended {
        let (completed, terminated) = (ended.completed, ended.terminated);
        transaction
            .prepare_cached(
                "INSERT INTO ended_element VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                    completed = completed + excluded.completed, terminated = terminated + excluded.terminated",
            )?
            .execute(params![definition.0, &*ended.element_id, completed, terminated])?;
    }
    for (key, body) in &changes.definitions {
        transaction
            .prepare_cached("INSERT INTO definition_body VALUES (?, ?) ON CONFLICT DO NOTHING")?
            .execute(params![key.0, body])?;
    }
    Ok(())
}
