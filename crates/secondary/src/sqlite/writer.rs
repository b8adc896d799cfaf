//! Writes each window of changes, and the new position, in one transaction.

use skep_exporting::TargetError;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, OptionalExtension, ToSql, Transaction, params,
    params_from_iter,
};
use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::{Conditions, Entity, Row, Value};

use super::{DatabaseFile, SqliteError, counts, history, reader, schema, space};
use crate::changes::{Changes, Rows};
use crate::definitions::StoredDefinitions;
use crate::settle::Stored;
use crate::sql::{Dialect, Sql, select, upsert};
use crate::target::Target;
use skep_exporting::Position;

/// KiB of page cache of the writer.
const CACHE_KIB: u32 = 8 << 10;
/// Rows per statement if there are many, so that indices are updated for all of them at once. A statement takes memory for each
/// row.
const MANY: usize = 32;

pub struct Writer {
    connection: Connection,
    database: DatabaseFile,
    /// Texts of upserts, by entity, column mask and number of rows.
    upserts: FxHashMap<(usize, u64, usize), String>,
    /// Whether there may still be rows of earlier builds to delete; see [`history::marked`].
    has_marked: bool,
}

impl Writer {
    /// Opens or creates the file.
    pub fn open(database: DatabaseFile) -> Result<Writer, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = database.open(flags, CACHE_KIB)?;
        schema::prepare(&connection, &database)?;
        Ok(Writer {
            connection,
            database,
            upserts: FxHashMap::default(),
            has_marked: true,
        })
    }

    pub fn position(&self) -> Result<Position, SqliteError> {
        position(&self.connection).map_err(|e| self.database.error(e))
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
    fn open(&mut self) -> Result<Position, TargetError> {
        let store = self.database.path.display().to_string();
        let counted = counts::prepare(&mut self.connection, &store);
        counted.map_err(|e| self.database.error(e).into_target_error())?;
        self.position().map_err(SqliteError::into_target_error)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn write(&mut self, changes: &Changes, position: Position) -> Result<(), TargetError> {
        let upserts = &mut self.upserts;
        let transaction = self.connection.transaction();
        let flushed = transaction.and_then(|transaction| {
            for (at, rows) in changes.rows.iter().enumerate() {
                store(&transaction, upserts, at, rows)?;
            }
            others(&transaction, changes)?;
            counts::store(&transaction, changes)?;
            for deletion in &changes.deletions {
                history::delete(&transaction, deletion)?;
            }
            transaction
                .prepare_cached(
                    "UPDATE position SET entry = ?1, record = ?2, timestamp = ?3, counted = ?1, instances_counted = ?1",
                )?
                .execute(params![
                    position.entry.cast_signed(),
                    position.record.cast_signed(),
                    position.timestamp
                ])?;
            transaction.commit()
        });
        flushed.map_err(|e| self.database.error(e).into_target_error())
    }

    fn wants_sync(&self) -> bool {
        self.database.taken().1 > space::LOG_BYTES
    }

    /// Returns false if a reader was in the way.
    fn sync(&mut self) -> Result<bool, TargetError> {
        let done = space::move_log(&self.connection, self.database.taken().1);
        done.map_err(|e| self.database.error(e).into_target_error())
    }

    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, TargetError> {
        let (database, has_marked) = (&self.database, self.has_marked);
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
            let marked = if has_marked {
                history::marked(&transaction, limit)?
            } else {
                0
            };
            transaction.commit()?;
            Ok((keys.len().max(aged), marked))
        });
        let forgotten = forgotten.map(|(count, marked)| {
            self.has_marked = marked >= limit;
            count.max(marked)
        });
        // The rest of the limit is spent on returning free space: one page instead of one instance.
        let forgotten = forgotten.and_then(|count| match limit.saturating_sub(count) {
            0 => Ok(count),
            rest => {
                if space::give_back(&self.connection, rest)? {
                    Ok(limit)
                } else {
                    Ok(count)
                }
            }
        });
        forgotten.map_err(|e| database.error(e).into_target_error())
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
    ) -> Result<Vec<Row>, TargetError> {
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
        read().map_err(|e| self.database.error(e).into_target_error())
    }

    fn keeps_counts(&self) -> bool {
        true
    }
}

impl StoredDefinitions for Writer {
    fn definition(&self, key: Key) -> Result<Option<Vec<u8>>, TargetError> {
        let sql = "SELECT body FROM definition_body WHERE key = ?";
        let read = self.connection.prepare_cached(sql);
        let found = read.and_then(|mut read| read.query_row([key.0], |row| row.get(0)).optional());
        found.map_err(|e| self.database.error(e).into_target_error())
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
    texts: &mut FxHashMap<(usize, u64, usize), String>,
    at: usize,
    rows: &Rows,
) -> rusqlite::Result<()> {
    // Few column masks occur. Grouping by mask saves looking up a statement for each row.
    let mut sets: Vec<(u64, Vec<&[Value]>)> = Vec::new();
    let (kept, gone) = rows.parted();
    for row in kept {
        match sets.iter_mut().find(|(mask, _)| *mask == row.mask) {
            Some((_, rows)) => rows.push(row.values),
            None => sets.push((row.mask, vec![row.values])),
        }
    }
    for (mask, values) in &sets {
        let many = values.len() - values.len() % MANY;
        let (many, few) = values.split_at_checked(many).unwrap_or_default();
        for (each, values) in [(MANY, many), (1, few)] {
            if values.is_empty() {
                continue;
            }
            let text = texts.entry((at, *mask, each));
            let sql = text.or_insert_with(|| upsert_text(rows.entity, *mask, each));
            let mut putting = Putting {
                mask: *mask,
                statement: transaction.prepare_cached(sql)?,
                bound: Vec::new(),
            };
            values.chunks(each).try_for_each(|rows| putting.put(rows))?;
        }
    }
    history::rows(transaction, rows.entity, &gone)
}

/// Writes rows with the same columns set, always the same number at a time.
struct Putting<'s, 'r> {
    mask: u64,
    statement: CachedStatement<'s>,
    /// Parameters still bound from the previous rows.
    bound: Vec<&'r Value>,
}

impl<'r> Putting<'_, 'r> {
    fn put(&mut self, rows: &[&'r [Value]]) -> rusqlite::Result<()> {
        let is_set = |column: usize| self.mask & (1 << column) != 0;
        let values = rows.iter().flat_map(|values| values.iter().enumerate());
        let set = values.filter(|(column, _)| is_set(*column));
        for (at, (_, value)) in set.enumerate() {
            // Consecutive rows have most values in common, and a parameter keeps its value until it is bound again.
            match self.bound.get_mut(at) {
                Some(bound) if is_same(bound, value) => continue,
                Some(bound) => *bound = value,
                None => self.bound.push(value),
            }
            self.statement.raw_bind_parameter(at + 1, Bound(value))?;
        }
        self.statement.raw_execute().map(drop)
    }
}

/// Cheap equality check: texts are compared by address only.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// The statement that writes this number of rows. On failure it rolls back the whole transaction, which saves a statement
/// journal.
fn upsert_text(entity: &'static Entity, mask: u64, rows: usize) -> String {
    let places = vec!["?"; upsert::columns(entity, mask).count()].join(", ");
    let rows = vec![format!("({places})"); rows].join(", ");
    let rows = format!("VALUES {rows}");
    let statement = upsert::statement(Dialect::Sqlite, "", entity, mask, &rows);
    statement.replacen("INSERT", "INSERT OR ROLLBACK", 1)
}

fn others(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<()> {
    for ((definition, _), ended) in &changes.counted.ended {
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

#[cfg(test)]
mod tests {
    use skep_query::entities::{self, VARIABLE};

    use super::*;

    const NUMBER: usize = entities::number(&VARIABLE);
    const NAME: usize = VARIABLE.column("name");
    const TEXT: usize = VARIABLE.column("value");
    const LONG: usize = VARIABLE.column("isTruncated");

    fn stored(writer: &Writer) -> Vec<Row> {
        let conditions = Vec::new();
        let rows = writer.look_up(&VARIABLE, &conditions, &[0, NAME, TEXT, LONG]);
        let mut rows = rows.expect("rows");
        rows.sort_by_key(|row| row.first().and_then(Value::as_int));
        rows
    }

    #[test]
    fn many_rows_are_stored_as_one_by_one_whether_they_are_new_or_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let database = DatabaseFile::new(&directory.path().join("query.sqlite"));
        let mut writer = Writer::open(database).expect("a file");
        let count = i64::try_from(2 * MANY + 3).expect("a number");
        let name = |key: i64| Value::text(if key % 5 == 0 { "five" } else { "other" });
        let mut changes = Changes::default();
        // Older rows come after newer ones, and some have other columns.
        for key in (1..=count).rev() {
            let text = Value::text(&key.to_string());
            changes.set(NUMBER, Key(key), [(NAME, name(key)), (TEXT, text)]);
            if key % 7 == 0 {
                changes.set(NUMBER, Key(key), [(LONG, Value::Int(1))]);
            }
        }
        writer.write(&changes, Position::default()).expect("stored");
        changes.clear();
        for key in 3..=count {
            changes.set(NUMBER, Key(key), [(TEXT, Value::text(&format!("-{key}")))]);
        }
        writer.write(&changes, Position::default()).expect("stored");
        let expected = (1..=count).map(|key| {
            let minus = if key >= 3 { "-" } else { "" };
            let long = if key % 7 == 0 {
                Value::Int(1)
            } else {
                Value::Null
            };
            vec![
                Value::Int(key),
                name(key),
                Value::text(&format!("{minus}{key}")),
                long,
            ]
        });
        assert_eq!(stored(&writer), expected.collect::<Vec<_>>());
    }
}
