//! What leaves the store: by its age, or because somebody wants it gone.

use rusqlite::{Transaction, params};
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};

/// Tables with rows of process instances; that of the instances themselves comes last.
const OF_INSTANCES: [&str; 10] = [
    "element_instance",
    "variable",
    "incident",
    "job",
    "user_task",
    "decision_instance",
    "message_subscription",
    "event_wait",
    "correlated_message_subscription",
    "process_instance",
];

/// Deletes process instances with all that belongs to them.
pub fn instances(transaction: &Transaction<'_>, keys: &[i64]) -> rusqlite::Result<()> {
    for table in OF_INSTANCES {
        let sql = format!("DELETE FROM {table} WHERE processInstanceKey = ?");
        let mut delete = transaction.prepare_cached(&sql)?;
        for key in keys {
            delete.execute([key])?;
        }
    }
    Ok(())
}

/// Deletes up to `limit` batch operations that ended before `before`, and as many items. How many of either it were.
pub fn batch_operations(
    transaction: &Transaction<'_>,
    before: i64,
    limit: usize,
) -> rusqlite::Result<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut most = 0;
    for sql in [
        "DELETE FROM batch_operation WHERE batchOperationKey IN (
            SELECT batchOperationKey FROM batch_operation WHERE endDate < ? ORDER BY endDate LIMIT ?)",
        "DELETE FROM batch_operation_item WHERE batchOperationItemKey IN (
            SELECT batchOperationItemKey FROM batch_operation_item WHERE processedDate < ?
            ORDER BY processedDate LIMIT ?)",
    ] {
        let deleted = transaction
            .prepare_cached(sql)?
            .execute(params![before, limit])?;
        most = most.max(deleted);
    }
    Ok(most)
}

/// Deletes what a HISTORY_DELETION names.
pub fn delete(
    transaction: &Transaction<'_>,
    deletion: &HistoryDeletionValue,
) -> rusqlite::Result<()> {
    let key = deletion.resource_key.0;
    let statements: &[&str] = match deletion.kind {
        HistoryDeletionType::ProcessInstance => return instances(transaction, &[key]),
        HistoryDeletionType::ProcessDefinition => {
            &["DELETE FROM process_definition WHERE processDefinitionKey = ?"]
        }
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
