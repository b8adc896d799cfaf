//! Writes each window of changes, and the partition's new position, in one transaction.
//!
//! Each statement writes many rows, passed as arrays. A write succeeds only if the writer knows the stored position. Thus a
//! deposed node that still runs, or a transaction whose outcome is unknown, cannot write anything twice.

use skep_exporting::TargetError;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use skep_protocol::Key;
use skep_query::{Conditions, Entity, Kind, Row, Value};
use tokio_postgres::types::{ToSql, Type};

use super::connection::{Connection, Failure, FailureKind};
use super::value::{storable, storable_list};
use super::{Rdbms, active_elements, active_instances, counts, history, reader, schema};
use crate::changes::{Changes, RowChange, Rows};
use crate::definitions::StoredDefinitions;
use crate::settle::Stored;
use crate::sql::{Dialect, Sql, select, statistics, table_name, upsert};
use crate::target::Target;
use skep_exporting::Position;
use skep_exporting::Status;

/// Time limit of a transaction. It is doubled after each timeout, because the transaction may just be large.
const LIMIT: Duration = Duration::from_secs(30);
const MAX_LIMIT: Duration = Duration::from_secs(600);
/// The partition that writes the rows that all partitions share.
const SHARED: u32 = 1;

pub struct Writer {
    database: Arc<Rdbms>,
    /// The cluster that owns the data.
    cluster: String,
    partition: u32,
    connection: Option<Connection>,
    exporter: Arc<Status>,
    position: Position,
    limit: Duration,
    /// Whether there may still be rows of earlier builds to delete; see [`history::marked`].
    has_marked: bool,
}

/// A statement with its parameters.
pub(super) struct Statement<'a> {
    pub text: String,
    pub parameters: Vec<(Parameter<'a>, Type)>,
}

pub(super) type Parameter<'a> = Box<dyn ToSql + Sync + 'a>;

impl Writer {
    /// Does not connect yet.
    pub fn new(
        database: Arc<Rdbms>,
        cluster: &str,
        partition: u32,
        exporter: Arc<Status>,
    ) -> Writer {
        Writer {
            database,
            cluster: cluster.to_string(),
            partition,
            connection: None,
            exporter,
            position: Position::default(),
            limit: LIMIT,
            has_marked: false,
        }
    }

    fn connection(&self) -> Result<&Connection, Failure> {
        let lost = || Failure::new(FailureKind::Closed, "the connection is lost");
        self.connection.as_ref().ok_or_else(lost)
    }

    fn shown(&self, failure: &Failure) -> TargetError {
        failure.of(&self.database.shown)
    }

    fn table(&self, name: &str) -> String {
        table_name(&self.database.prefix, name)
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, Failure> {
        reader::rows(self.connection()?, sql, columns, MAX_LIMIT)
    }

    /// Runs statements in a transaction, which the caller commits. On failure nothing is kept. Returns the number of rows
    /// affected by each statement.
    fn transact(&mut self, statements: &[Statement<'_>]) -> Result<Vec<u64>, Failure> {
        let limit = self.limit;
        let done = self.connection().and_then(|connection| {
            connection.wait(limit, async {
                let client = &connection.client;
                client.batch_execute("BEGIN").await?;
                // All statements are sent before the first is answered.
                let met = try_join_all(statements.iter().map(|statement| async {
                    let parameters: Vec<(&(dyn ToSql + Sync), Type)> = statement
                        .parameters
                        .iter()
                        .map(|(value, kind)| (value.as_ref() as &(dyn ToSql + Sync), kind.clone()))
                        .collect();
                    client.execute_typed(&statement.text, &parameters).await
                }))
                .await?;
                Ok::<_, tokio_postgres::Error>(met)
            })
        });
        self.limit = match &done {
            Err(failure) if failure.kind == FailureKind::Closed => (limit * 2).min(MAX_LIMIT),
            _ => LIMIT,
        };
        done
    }

    fn commit(&self) -> Result<(), Failure> {
        let connection = self.connection()?;
        connection.wait(MAX_LIMIT, connection.client.batch_execute("COMMIT"))
    }

    fn store(&mut self, changes: &Changes, to: Position) -> Result<(), Failure> {
        // Comes first, so that concurrent writers of this partition wait for each other.
        let mut statements = vec![self.advance(to)];
        for rows in changes.rows.iter().filter(|rows| self.writes(rows.entity)) {
            upserts(&self.database.prefix, rows, &mut statements);
        }
        statements.extend(self.ended(changes));
        let (prefix, partition) = (&self.database.prefix, self.partition);
        statements.extend(active_elements::store(prefix, partition, changes));
        statements.extend(active_instances::store(prefix, partition, changes));
        statements.extend(self.definitions(changes));
        for deletion in &changes.deletions {
            history::delete(
                &self.database.prefix,
                self.partition,
                deletion,
                &mut statements,
            );
        }
        let met = self.transact(&statements)?;
        if met.first() != Some(&1) {
            let reason = "another process has written this partition meanwhile, or its position was changed by hand";
            return Err(Failure::new(FailureKind::Overtaken, reason));
        }
        self.commit()?;
        self.position = to;
        Ok(())
    }

    /// Whether this partition writes the entity. Rows that are the same everywhere are written by one partition.
    fn writes(&self, entity: &Entity) -> bool {
        !entity.everywhere || self.partition == SHARED
    }

    fn ended(&self, changes: &Changes) -> Option<Statement<'static>> {
        let mut sums: BTreeMap<(i64, Arc<str>), (i64, i64)> = BTreeMap::new();
        for ((definition, _), ended) in &changes.counted.ended {
            let sum = sums
                .entry((definition.0, ended.element_id.clone()))
                .or_default();
            (sum.0, sum.1) = (sum.0 + ended.completed, sum.1 + ended.terminated);
        }
        let ids = sums.keys().map(|(_, id)| storable(id).into_owned());
        let parameters = vec![
            ints(sums.keys().map(|(key, _)| *key)),
            texts(ids.map(Some)),
            ints(sums.values().map(|(completed, _)| *completed)),
            ints(sums.values().map(|(_, terminated)| *terminated)),
        ];
        let text = format!(
            r#"INSERT INTO {} AS t (partition, "processDefinitionKey", "elementId", completed, terminated)
            SELECT {}, * FROM unnest($1, $2, $3, $4)
            ON CONFLICT ("processDefinitionKey", md5("elementId"), partition) DO UPDATE SET
                completed = t.completed + excluded.completed, terminated = t.terminated + excluded.terminated"#,
            self.table(statistics::ENDED),
            self.partition
        );
        (!sums.is_empty()).then_some(Statement { text, parameters })
    }

    fn definitions<'a>(&self, changes: &'a Changes) -> Option<Statement<'a>> {
        // The fixed order prevents deadlocks between partitions that write the same definitions at the same time.
        let bodies: BTreeMap<i64, &[u8]> = changes
            .definitions
            .iter()
            .map(|(key, body)| (key.0, body.as_slice()))
            .collect();
        let parameters: Vec<(Parameter<'a>, Type)> = vec![
            ints(bodies.keys().copied()),
            (
                Box::new(bodies.values().copied().collect::<Vec<&[u8]>>()),
                Type::BYTEA_ARRAY,
            ),
        ];
        let text = format!(
            "INSERT INTO {} SELECT * FROM unnest($1, $2) ON CONFLICT DO NOTHING",
            self.table(schema::DEFINITION)
        );
        (!bodies.is_empty()).then_some(Statement { text, parameters })
    }

    fn advance(&self, to: Position) -> Statement<'static> {
        let text = format!(
            "UPDATE {} SET entry = $1, record = $2, timestamp = $3, counted = $1, instances_counted = $1
                WHERE partition = {} AND entry = $4",
            self.table(schema::POSITION),
            self.partition
        );
        let numbers = [
            to.entry.cast_signed(),
            to.record.cast_signed(),
            to.timestamp,
            self.position.entry.cast_signed(),
        ];
        let parameter = |number: i64| (Box::new(number) as Parameter<'static>, Type::INT8);
        Statement {
            text,
            parameters: numbers.map(parameter).into(),
        }
    }

    /// Counts active rows, if an earlier version wrote this partition before.
    fn count_active(&self) -> Result<(), Failure> {
        let Rdbms { prefix, shown, .. } = &*self.database;
        counts::prepare(self.connection()?, prefix, self.partition, shown)
    }

    fn delete_old(&mut self, before: i64, limit: usize) -> Result<usize, Failure> {
        let find = history::old_instances(&self.database.prefix, self.partition, before, limit);
        let keys: Vec<i64> = self
            .rows(&find, 1)?
            .iter()
            .filter_map(|row| row.first()?.as_int())
            .collect();
        let mut statements = Vec::new();
        history::instances(
            &self.database.prefix,
            self.partition,
            &keys,
            &mut statements,
        );
        let of_instances = statements.len();
        history::aged(
            &self.database.prefix,
            self.partition,
            before,
            limit,
            &mut statements,
        );
        let others = statements.len();
        if self.has_marked {
            history::marked(&self.database.prefix, limit, &mut statements);
        }
        let met = self.transact(&statements)?;
        self.commit()?;
        let is_full = |deleted: &u64| usize::try_from(*deleted).is_ok_and(|count| count >= limit);
        self.has_marked = met.iter().skip(others).any(is_full);
        let most = met.iter().skip(of_instances).copied().max();
        let most = usize::try_from(most.unwrap_or_default()).unwrap_or(usize::MAX);
        Ok(keys.len().max(most))
    }
}

impl Target for Writer {
    fn open(&mut self) -> Result<Position, TargetError> {
        self.connection = None;
        let open = || {
            let (config, trust) = (&self.database.for_writing, &self.database.trust);
            let mut connection = Connection::open(config, trust, Some(self.exporter.clone()))?;
            let partition = i32::try_from(self.partition).unwrap_or(i32::MAX);
            let position =
                schema::prepare(&mut connection, &self.database, &self.cluster, partition)?;
            Ok((connection, position))
        };
        let opened = open().map_err(|failure: Failure| self.shown(&failure));
        let (connection, position) = opened?;
        self.connection = Some(connection);
        let counted = self.count_active();
        counted.map_err(|failure| self.shown(&failure))?;
        self.position = position;
        self.has_marked = self.partition == SHARED;
        Ok(position)
    }

    fn write(&mut self, changes: &Changes, to: Position) -> Result<(), TargetError> {
        let stored = self.store(changes, to);
        stored.map_err(|failure| self.shown(&failure))
    }

    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, TargetError> {
        let forgotten = self.delete_old(before, limit);
        forgotten.map_err(|failure| self.shown(&failure))
    }
}

impl Stored for Writer {
    fn look_up(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
        columns: &[usize],
    ) -> Result<Vec<Row>, TargetError> {
        let sql = Sql::new(Dialect::Postgres, &self.database.prefix);
        let sql = select::look_up(sql, entity, conditions, columns);
        let found = self.rows(&sql, columns.len());
        found.map_err(|failure| self.shown(&failure))
    }

    fn keeps_counts(&self) -> bool {
        true
    }
}

impl StoredDefinitions for Writer {
    fn definition(&self, key: Key) -> Result<Option<Vec<u8>>, TargetError> {
        let sql = format!(
            "SELECT body FROM {} WHERE key = $1",
            self.table(schema::DEFINITION)
        );
        let read = || {
            let connection = self.connection()?;
            let key: &(dyn ToSql + Sync) = &key.0;
            let parameters = [(key, Type::INT8)];
            connection.wait(MAX_LIMIT, connection.client.query_typed(&sql, &parameters))
        };
        let found = read().map_err(|failure: Failure| self.shown(&failure))?;
        Ok(found.first().map(|row| row.get(0)))
    }
}

/// Statements that write changed rows, one for each set of columns, and one that deletes those that left.
fn upserts<'a>(prefix: &str, rows: &'a Rows, statements: &mut Vec<Statement<'a>>) {
    let mut alike: BTreeMap<u64, Vec<RowChange<'a>>> = BTreeMap::new();
    let (kept, gone) = rows.parted();
    for row in kept {
        alike.entry(row.mask).or_default().push(row);
    }
    for (mask, rows_alike) in alike {
        let columns = upsert::columns(rows.entity, mask).enumerate();
        let (mut parameters, mut places) = (Vec::new(), Vec::new());
        for (n, (at, field)) in columns {
            let values = rows_alike.iter().map(|row| row.values.get(at));
            let is_list = rows
                .entity
                .items
                .iter()
                .any(|(_, list, _)| *list == field.name);
            parameters.push(match field.kind {
                Kind::Text | Kind::Enum(_) | Kind::Json => texts(values.map(|value| {
                    let text = value.and_then(Value::as_text)?;
                    Some(if is_list {
                        storable_list(text)
                    } else {
                        storable(text)
                    })
                })),
                Kind::Key | Kind::Int | Kind::Bool | Kind::Time => {
                    ints(values.map(|value| value.and_then(Value::as_int)))
                }
            });
            places.push(format!("${}", n + 1));
        }
        let from = format!("SELECT * FROM unnest({})", places.join(", "));
        let text = upsert::statement(Dialect::Postgres, prefix, rows.entity, mask, &from);
        statements.push(Statement { text, parameters });
    }
    statements.extend(history::rows(prefix, rows.entity, &gone));
}

pub(super) fn ints<'a, T: ToSql + Sync + 'a>(
    values: impl Iterator<Item = T>,
) -> (Parameter<'a>, Type) {
    (Box::new(values.collect::<Vec<T>>()), Type::INT8_ARRAY)
}

pub(super) fn texts<'a, T: ToSql + Sync + 'a>(
    values: impl Iterator<Item = T>,
) -> (Parameter<'a>, Type) {
    (Box::new(values.collect::<Vec<T>>()), Type::TEXT_ARRAY)
}
