//! Batch operations, their items, and the history deletions they cause.
//!
//! An operation has its row on the partition that created it and aggregates its progress, and a second one that says how it was
//! requested. Items have their rows on the partitions that execute them.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::intent::{
    BatchOperationChunkIntent as ChunkIntent, BatchOperationIntent as Intent,
    BatchOperationItemIntent as ItemIntent,
};
use skep_protocol::origin::Claims;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{
    BatchOperationChunkValue, BatchOperationCreationValue, BatchOperationError,
    BatchOperationInitializationValue, BatchOperationItemValue,
    BatchOperationLifecycleManagementValue, BatchOperationPartitionLifecycleValue, BatchPlan,
    HistoryDeletionValue,
};
use skep_query::entities::{BATCH_OPERATION, BATCH_OPERATION_ITEM, BATCH_OPERATION_REQUEST};
use skep_query::{Value, answer};

use super::{Projection, intent_of, key, word};
use crate::changes::set;

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub fn created(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: BatchOperationCreationValue = record.value()?;
    if !to.is_of_this_partition(record.key) {
        return Ok(());
    }
    let (actor_type, actor) = match &value.claims {
        Claims::Anonymous => ("ANONYMOUS", Value::Null),
        Claims::User(principal) => ("USER", Value::Text(principal.id.clone())),
        Claims::Client(principal) => ("CLIENT", Value::Text(principal.id.clone())),
        Claims::Internal => ("UNKNOWN", Value::Null),
    };
    let kind = word(value.kind.as_str());
    set!(to.changes, BATCH_OPERATION, record.key, {
        "state": word("CREATED"),
        "operationType": kind.clone(),
        "batchOperationType": kind,
        "actorType": word(actor_type),
        "actorId": actor,
        "operationsTotalCount": count(0),
        "operationsFailedCount": count(0),
        "operationsCompletedCount": count(0),
        "errors": Value::text("[]"),
    });
    let (migration, moves) = match &value.plan {
        BatchPlan::None => (Value::Null, Value::Null),
        BatchPlan::Migrate {
            target_process_definition_key: target,
            mapping,
        } => {
            let mapping = pairs(mapping);
            let plan = format!(
                r#"{{"targetProcessDefinitionKey":"{target}","mappingInstructions":{mapping}}}"#
            );
            (Value::text(&plan), Value::Null)
        }
        BatchPlan::Modify { moves } => (Value::Null, Value::text(&pairs(moves))),
    };
    set!(to.changes, BATCH_OPERATION_REQUEST, record.key, {
        "filter": Value::Text(value.entity_filter),
        "migrationPlan": migration,
        "moveInstructions": moves,
    });
    Ok(())
}

/// Source and target elements as a JSON list.
fn pairs(pairs: &[(Arc<str>, Arc<str>)]) -> String {
    let pair = |(source, target): &(Arc<str>, Arc<str>)| {
        let mut out = String::from(r#"{"sourceElementId":"#);
        answer::write_text(source, &mut out);
        out.push_str(r#","targetElementId":"#);
        answer::write_text(target, &mut out);
        out.push('}');
        out
    };
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    format!("[{}]", pairs.join(","))
}

pub fn chunk(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<BatchOperationChunkValue>(record)?;
    let value: BatchOperationChunkValue = record.value()?;
    let id = Value::text(&value.batch_operation_key.to_string());
    for (place, item) in (value.first..).zip(&value.items) {
        let row = BatchOperationChunkValue::key_of(record.key, place);
        if intent == ChunkIntent::Deleted {
            set!(to.changes, BATCH_OPERATION_ITEM, row, { "state": word("CANCELED") });
            continue;
        }
        set!(to.changes, BATCH_OPERATION_ITEM, row, {
            "operationType": word(value.kind.as_str()),
            "batchOperationKey": key(value.batch_operation_key),
            "batchOperationId": id.clone(),
            "itemKey": key(item.item_key),
            "processInstanceKey": key(item.process_instance_key),
            "rootProcessInstanceKey": key(item.root_process_instance_key),
            "state": word("ACTIVE"),
        });
    }
    Ok(())
}

pub fn item(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: BatchOperationItemValue = record.value()?;
    let state = match intent_of::<BatchOperationItemValue>(record)? {
        ItemIntent::Executed => "COMPLETED",
        ItemIntent::Failed => "FAILED",
    };
    set!(to.changes, BATCH_OPERATION_ITEM, record.key, {
        "state": word(state),
        "processedDate": Value::Int(record.timestamp),
        "errorMessage": Value::some_text(&value.error_message),
    });
    Ok(())
}

/// Only the partition that aggregates the progress writes these records.
pub fn part(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: BatchOperationPartitionLifecycleValue = record.value()?;
    set!(to.changes, BATCH_OPERATION, value.batch_operation_key, {
        "operationsTotalCount": count(value.sum.total),
        "operationsFailedCount": count(value.sum.failed),
        "operationsCompletedCount": count(value.sum.completed),
    });
    Ok(())
}

/// Sets the start date once the items are known on the partition that created the operation. The state is settled later,
/// together with other changes, because the operation may have been suspended before.
pub fn initialized(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: BatchOperationInitializationValue = record.value()?;
    let operation = value.batch_operation_key;
    let begins = intent_of::<BatchOperationInitializationValue>(record)? == Intent::Initialized;
    if begins && to.is_of_this_partition(operation) {
        set!(to.changes, BATCH_OPERATION, operation, {
            "startDate": Value::Int(record.timestamp),
        });
    }
    Ok(())
}

pub fn managed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: BatchOperationLifecycleManagementValue = record.value()?;
    let operation = value.batch_operation_key;
    if !to.is_of_this_partition(operation) {
        return Ok(());
    }
    let state = match intent_of::<BatchOperationLifecycleManagementValue>(record)? {
        Intent::Suspended => "SUSPENDED",
        // ACTIVE if it has started: see settle/batches.rs.
        Intent::Resumed => "CREATED",
        Intent::Canceled => "CANCELED",
        Intent::Failed => "FAILED",
        Intent::Completed if value.errors.is_empty() => "COMPLETED",
        Intent::Completed => "PARTIALLY_COMPLETED",
        _ => return Ok(()),
    };
    set!(to.changes, BATCH_OPERATION, operation, { "state": word(state) });
    if !matches!(state, "SUSPENDED" | "CREATED") {
        set!(to.changes, BATCH_OPERATION, operation, {
            "endDate": Value::Int(record.timestamp),
            "errors": Value::text(&errors(&value.errors)),
        });
        set!(to.changes, BATCH_OPERATION_REQUEST, operation, {
            "endDate": Value::Int(record.timestamp),
        });
    }
    Ok(())
}

/// The errors as a JSON list.
fn errors(errors: &[BatchOperationError]) -> String {
    let error = |error: &BatchOperationError| {
        let (partition, kind) = (error.partition_id, error.kind.as_str());
        let mut out = format!(r#"{{"partitionId":{partition},"type":"{kind}","message":"#);
        answer::write_text(&error.message, &mut out);
        out.push('}');
        out
    };
    let errors: Vec<String> = errors.iter().map(error).collect();
    format!("[{}]", errors.join(","))
}

pub fn history_deleted(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: HistoryDeletionValue = record.value()?;
    to.changes.deletion(value);
    Ok(())
}

impl Projection<'_> {
    /// Rows of operations from other partitions are kept there.
    fn is_of_this_partition(&self, key: Key) -> bool {
        key.partition() == Some(self.partition)
    }
}
