//! Writing: one transaction for each window of changes, with the position.

use std::collections::BTreeMap;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, OptionalExtension, ToSql, Transaction, params,
};
use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::entities::PREVIEW;
use skep_query::{Entity, Value};

use super::{Place, SqliteError, history, schema};
use crate::changes::{Changes, Completion, IncidentDelta, Rows};
use crate::definitions::StoredDefinitions;
use crate::exporter::Position;

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
        let read =
            self.connection
                .query_row("SELECT entry, record, timestamp FROM position", [], |row| {
                    Ok(Position {
                        entry: row.get::<_, i64>(0)?.cast_unsigned(),
                        record: row.get::<_, i64>(1)?.cast_unsigned(),
                        timestamp: row.get(2)?,
                    })
                });
        read.map_err(|e| self.place.error(e))
    }

    /// Stores the changes, and that the file goes up to `position`, both or nothing.
    pub fn flush(&mut self, changes: &mut Changes, position: Position) -> Result<(), SqliteError> {
        let upserts = &mut self.upserts;
        let transaction = self.connection.transaction();
        let flushed = transaction.and_then(|transaction| {
            changes.settle_flows(|key| -> rusqlite::Result<Option<String>> {
                let mut read = transaction.prepare_cached(
                    "SELECT takenFlows FROM process_instance WHERE processInstanceKey = ?",
                )?;
                let found: Option<Option<String>> =
                    read.query_row([key], |row| row.get(0)).optional()?;
                Ok(found.flatten())
            })?;
            for (at, rows) in changes.rows.iter().enumerate() {
                upsert(&transaction, upserts, at, rows)?;
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
        flushed.map_err(|e| self.place.error(e))
    }

    /// Makes what was flushed survive a power cut. False: a reader was in the way, and it is to be tried again.
    pub fn sync(&self) -> Result<bool, SqliteError> {
        let done = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                let (busy, log, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(busy == 0 && log == moved)
            });
        done.map_err(|e| self.place.error(e))
    }

    /// Deletes up to `limit` process instances that ended before `before` (epoch milliseconds), with all that belongs to
    /// them. How many it were.
    pub fn forget(&mut self, before: i64, limit: usize) -> Result<usize, SqliteError> {
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
            // Decisions that clients had evaluated belong to no instance.
            let alone = transaction
                .prepare_cached(
                    "DELETE FROM decision_instance WHERE decisionEvaluationInstanceKey IN (
                        SELECT decisionEvaluationInstanceKey FROM decision_instance
                        WHERE evaluationDate < ? AND processInstanceKey IS NULL ORDER BY evaluationDate LIMIT ?)",
                )?
                .execute(params![before, limit as i64])?;
            let batches = history::batch_operations(&transaction, before, limit)?;
            transaction.commit()?;
            Ok(keys.len().max(alone).max(batches))
        });
        forgotten.map_err(|e| place.error(e))
    }
}

impl StoredDefinitions for Writer {
    fn definition(&self, key: Key) -> Option<Vec<u8>> {
        let mut read = self
            .connection
            .prepare_cached("SELECT body FROM definition_body WHERE key = ?")
            .ok()?;
        read.query_row([key.0], |row| row.get(0)).optional().ok()?
    }
}

pub(super) struct Bound<'a>(pub &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn upsert(
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

fn upsert_text(entity: &Entity, mask: u64) -> String {
    let fields = entity.fields.iter().enumerate();
    let set: Vec<&str> = fields
        .filter(|(column, _)| mask & (1 << column) != 0)
        .map(|(_, field)| field.name)
        .collect();
    let columns: Vec<String> = set.iter().map(|name| format!("\"{name}\"")).collect();
    let updates: Vec<String> = set
        .iter()
        .skip(1)
        .map(|name| format!("\"{name}\" = excluded.\"{name}\""))
        .collect();
    let places = vec!["?"; set.len()].join(", ");
    let otherwise = if updates.is_empty() {
        "DO NOTHING".to_string()
    } else {
        format!("DO UPDATE SET {}", updates.join(", "))
    };
    format!(
        "INSERT INTO {} ({}) VALUES ({places}) ON CONFLICT (\"{}\") {otherwise}",
        entity.table,
        columns.join(", "),
        entity.key().name
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
    for id in &changes.versions {
        transaction
            .prepare_cached(
                "UPDATE process_definition SET isLatestVersion = (state = 'ACTIVE' AND version = (
                    SELECT max(version) FROM process_definition o WHERE o.processDefinitionId = ?1 AND o.state = 'ACTIVE'
                        AND o.tenantId = process_definition.tenantId))
                 WHERE processDefinitionId = ?1",
            )?
            .execute([&**id])?;
    }
    for id in &changes.decision_versions {
        transaction
            .prepare_cached(
                "UPDATE decision_definition SET isLatestVersion = (NOT isDeleted AND version = (
                    SELECT max(version) FROM decision_definition o WHERE o.decisionDefinitionId = ?1 AND NOT o.isDeleted
                        AND o.tenantId = decision_definition.tenantId))
                 WHERE decisionDefinitionId = ?1",
            )?
            .execute([&**id])?;
    }
    for completion in &changes.completions {
        complete(transaction, completion)?;
    }
    for ((scope, name), items) in &changes.elements {
        splice(transaction, (*scope, name), items)?;
    }
    for delta in &changes.incidents {
        incident(transaction, delta)?;
    }
    Ok(())
}

/// Puts items into a list that is stored already, all of one window at once: lists can be long.
fn splice(
    transaction: &Transaction<'_>,
    (scope, name): (Key, &str),
    items: &BTreeMap<u32, String>,
) -> rusqlite::Result<()> {
    let found: Option<(i64, String)> = transaction
        .prepare_cached(
            "SELECT variableKey, value FROM variable WHERE name = ?2 AND scopeKey <> processInstanceKey AND scopeKey = ?1
             UNION ALL SELECT variableKey, value FROM variable
                WHERE name = ?2 AND processInstanceKey = ?1 AND scopeKey = processInstanceKey",
        )?
        .query_row(params![scope.0, name], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((key, text)) = found else {
        return Ok(());
    };
    // Whoever made it no list has its value for himself.
    let Ok(mut list) = serde_json::from_str::<Vec<Box<serde_json::value::RawValue>>>(&text) else {
        return Ok(());
    };
    for (index, value) in items {
        if let Some(item) = list.get_mut(*index as usize)
            && let Ok(value) = serde_json::value::RawValue::from_string(value.clone())
        {
            *item = value;
        }
    }
    let texts: Vec<&str> = list.iter().map(|item| item.get()).collect();
    let text = format!("[{}]", texts.join(","));
    let is_long = text.len() > PREVIEW && text.chars().nth(PREVIEW).is_some();
    transaction
        .prepare_cached("UPDATE variable SET value = ?, isTruncated = ? WHERE variableKey = ?")?
        .execute(params![text, is_long, key])?;
    Ok(())
}

fn complete(transaction: &Transaction<'_>, completion: &Completion) -> rusqlite::Result<()> {
    let (sql, key): (&str, &dyn ToSql) = match completion {
        Completion::UserTask(key) => (
            "UPDATE user_task SET tags = (SELECT p.tags FROM process_instance p
                WHERE p.processInstanceKey = user_task.processInstanceKey) WHERE userTaskKey = ?",
            &key.0,
        ),
        Completion::MessageSubscription(key) => (
            "UPDATE message_subscription SET rootProcessInstanceKey = (SELECT p.rootProcessInstanceKey FROM process_instance p
                WHERE p.processInstanceKey = message_subscription.processInstanceKey) WHERE messageSubscriptionKey = ?",
            &key.0,
        ),
        Completion::CorrelatedMessageSubscription(id) => (
            "UPDATE correlated_message_subscription SET rootProcessInstanceKey = (
                SELECT p.rootProcessInstanceKey FROM process_instance p
                WHERE p.processInstanceKey = correlated_message_subscription.processInstanceKey) WHERE id = ?",
            id,
        ),
        // A scope that is the process itself is no element instance.
        Completion::EventWait(key) => (
            "UPDATE event_wait SET processInstanceKey = coalesce((SELECT e.processInstanceKey FROM element_instance e
                WHERE e.elementInstanceKey = event_wait.elementInstanceKey), elementInstanceKey) WHERE key = ?",
            &key.0,
        ),
        Completion::DecisionDefinition(key) => (
            "UPDATE decision_definition SET (decisionRequirementsName, decisionRequirementsVersion) = (
                SELECT r.decisionRequirementsName, r.version FROM decision_requirements r
                WHERE r.decisionRequirementsKey = decision_definition.decisionRequirementsKey) WHERE decisionDefinitionKey = ?",
            &key.0,
        ),
    };
    transaction.prepare_cached(sql)?.execute([key])?;
    Ok(())
}

/// Counts an incident for the element instance, the scopes around it, the process instance, and what called that.
fn incident(transaction: &Transaction<'_>, delta: &IncidentDelta) -> rusqlite::Result<()> {
    let own = (delta.delta > 0).then_some(delta.incident_key.0);
    transaction
        .prepare_cached("UPDATE element_instance SET incidentKey = ? WHERE elementInstanceKey = ?")?
        .execute(params![own, delta.element_instance_key.0])?;
    // The scope of an element that stands in the process itself is the process instance.
    let mut scope = Some(delta.element_instance_key.0);
    // Scopes and called instances nest; the engine bounds how deep.
    let mut left = 100_000;
    while let Some(key) = scope.filter(|_| left > 0) {
        left -= 1;
        let around: Option<Option<i64>> = transaction
            .prepare_cached(
                "UPDATE element_instance SET activeIncidents = max(activeIncidents + ?2, 0),
                    hasIncident = activeIncidents + ?2 > 0
                 WHERE elementInstanceKey = ?1 RETURNING elementInstanceScopeKey",
            )?
            .query_row(params![key, delta.delta], |row| row.get(0))
            .optional()?;
        scope = match around {
            Some(around) => around,
            None => transaction
                .prepare_cached(
                    "UPDATE process_instance SET activeIncidents = max(activeIncidents + ?2, 0),
                        hasIncident = activeIncidents + ?2 > 0
                     WHERE processInstanceKey = ?1 RETURNING parentElementInstanceKey",
                )?
                .query_row(params![key, delta.delta], |row| row.get(0))
                .optional()?
                .flatten(),
        };
    }
    Ok(())
}
