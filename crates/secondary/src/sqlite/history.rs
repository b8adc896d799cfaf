//! Deletes history, by age or on request.

use rusqlite::{Transaction, params};
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_query::entities::{self, PROCESS_INSTANCE};
use skep_query::{Entity, Leaves, Value};

use super::writer::Bound;
use crate::sql::column_name;

/// Deletes process instances and all rows that belong to them; the instances themselves last.
pub fn instances(transaction: &Transaction<'_>, keys: &[i64]) -> rusqlite::Result<()> {
    let (Some(first), Some(last)) = (keys.iter().min(), keys.iter().max()) else {
        return Ok(());
    };
    let list: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let list = format!("[{}]", list.join(","));
    let leaves = |entity: &&'static Entity| {
        let with_it = matches!(
            entity.leaves,
            Leaves::WithInstance | Leaves::WithInstanceOrAt(_)
        );
        with_it && entity.table != PROCESS_INSTANCE.table
    };
    let parts = entities::ALL.into_iter().filter(leaves);
    for entity in parts.chain([&PROCESS_INSTANCE]) {
        let table = entity.table;
        // For most entities, most instances have no rows. This is checked once per entity, not once per instance.
        let any = format!(
            "SELECT EXISTS (SELECT 1 FROM {table} WHERE processInstanceKey BETWEEN ? AND ?)"
        );
        let mut any = transaction.prepare_cached(&any)?;
        if any.query_row([first, last], |row| row.get(0))? {
            let delete = format!(
                "DELETE FROM {table} WHERE processInstanceKey IN (SELECT value FROM json_each(?))"
            );
            transaction.prepare_cached(&delete)?.execute([&list])?;
        }
    }
    Ok(())
}

/// Deletes up to `limit` rows older than `before` from each entity whose rows expire independently. Returns the largest count
/// of one entity.
pub fn aged(transaction: &Transaction<'_>, before: i64, limit: usize) -> rusqlite::Result<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut most = 0;
    for entity in entities::ALL {
        let (time, alone, before) = match entity.leaves {
            Leaves::Never | Leaves::WithInstance | Leaves::When(_) => continue,
            Leaves::At(time) => (time, "", before),
            Leaves::LaterAt(time, later) => (time, "", before.saturating_sub(later)),
            Leaves::WithInstanceOrAt(time) => (time, " AND processInstanceKey IS NULL", before),
        };
        let (table, key) = (entity.table, entity.key().name);
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {time} < ?{alone} ORDER BY {time} LIMIT ?)"
        );
        let deleted = transaction
            .prepare_cached(&sql)?
            .execute(params![before, limit])?;
        most = most.max(deleted);
    }
    Ok(most)
}

/// Deletes up to `limit` rows of each entity that builds before 30 November 2026 marked instead of deleting them. Returns the largest
/// count of one entity.
pub fn marked(transaction: &Transaction<'_>, limit: usize) -> rusqlite::Result<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut most = 0;
    for entity in entities::ALL {
        let Some(column) = entity.mark() else {
            continue;
        };
        let (table, key) = (entity.table, column_name(entity.key().name));
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {column} = 1 LIMIT ?)"
        );
        most = most.max(transaction.execute(&sql, params![limit])?);
    }
    Ok(most)
}

/// Deletes the rows with these keys.
pub fn rows(
    transaction: &Transaction<'_>,
    entity: &Entity,
    keys: &[&Value],
) -> rusqlite::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let (table, key) = (entity.table, column_name(entity.key().name));
    let sql = format!("DELETE FROM {table} WHERE {key} = ?");
    let mut delete = transaction.prepare_cached(&sql)?;
    for key in keys {
        delete.execute([Bound(key)])?;
    }
    Ok(())
}

/// Deletes the target of a HISTORY_DELETION.
pub fn delete(
    transaction: &Transaction<'_>,
    deletion: &HistoryDeletionValue,
) -> rusqlite::Result<()> {
    let key = deletion.resource_key.0;
    let statements: &[&str] = match deletion.kind {
        HistoryDeletionType::ProcessInstance => return instances(transaction, &[key]),
        HistoryDeletionType::ProcessDefinition => &[
            "DELETE FROM process_definition WHERE processDefinitionKey = ?",
            "DELETE FROM start_timer WHERE processDefinitionKey = ?",
        ],
        HistoryDeletionType::DecisionInstance => {
            &["DELETE FROM decision_instance WHERE decisionEvaluationKey = ?"]
        }
        HistoryDeletionType::DecisionRequirements => &[
            "DELETE FROM decision_definition WHERE decisionRequirementsKey = ?",
            "DELETE FROM decision_requirements WHERE decisionRequirementsKey = ?",
        ],
    };
    for sql in statements {
        transaction.prepare_cached(sql)?.execute([key])?;
    }
    Ok(())
}
