//! Records of batch operations as JSON.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::key::Key;
use crate::record::{DecodeError, Record};
use crate::value::{
    BatchOperationChunkValue, BatchOperationCreationValue, BatchOperationError,
    BatchOperationExecutionValue, BatchOperationInitializationValue, BatchOperationItem,
    BatchOperationItemValue, BatchOperationLifecycleManagementValue,
    BatchOperationPartitionLifecycleValue, BatchPlan, HistoryDeletionValue,
};
use crate::{intent::ValueType, json::TenantId};

/// The value of a record of a batch operation; `None` for others.
pub(super) fn render(record: &Record<'_>) -> Result<Option<Value>, DecodeError> {
    Ok(Some(match record.value_type {
        ValueType::BatchOperationCreation => creation(record.key, record.value()?),
        ValueType::BatchOperationChunk => chunk(record.value()?),
        ValueType::BatchOperationInitialization => {
            let v: BatchOperationInitializationValue = record.value()?;
            json!({
                "batchOperationKey": v.batch_operation_key,
                "searchQueryPageSize": 0,
                "searchResultCursor": "",
            })
        }
        ValueType::BatchOperationExecution => {
            let v: BatchOperationExecutionValue = record.value()?;
            json!({"batchOperationKey": v.batch_operation_key, "itemKeys": v.item_keys})
        }
        ValueType::BatchOperationItem => {
            let v: BatchOperationItemValue = record.value()?;
            json!({
                "batchOperationKey": v.batch_operation_key,
                "itemKey": v.item_key,
                "errorMessage": v.error_message,
            })
        }
        ValueType::BatchOperationPartitionLifecycle => {
            let v: BatchOperationPartitionLifecycleValue = record.value()?;
            json!({
                "batchOperationKey": v.batch_operation_key,
                "sourcePartitionId": v.source_partition_id,
            })
        }
        ValueType::BatchOperationLifecycleManagement => {
            let v: BatchOperationLifecycleManagementValue = record.value()?;
            json!({"batchOperationKey": v.batch_operation_key, "errors": errors(&v.errors)})
        }
        ValueType::HistoryDeletion => history_deletion(record.value()?),
        _ => return Ok(None),
    }))
}

/// The text of a list of errors, as the API shows them too.
fn errors(errors: &[BatchOperationError]) -> Value {
    let error = |error: &BatchOperationError| {
        json!({
            "partitionId": error.partition_id,
            "type": error.kind.as_str(),
            "message": error.message,
        })
    };
    errors.iter().map(error).collect()
}

fn creation(key: Key, v: BatchOperationCreationValue) -> Value {
    let (mut migration, mut moves) = (
        json!({"targetProcessDefinitionKey": Key::NONE, "mappingInstructions": []}),
        json!([]),
    );
    let pairs = |pairs: &[(Arc<str>, Arc<str>)]| -> Value {
        let pair = |(source, target): &(Arc<str>, Arc<str>)| json!({"sourceElementId": source, "targetElementId": target});
        pairs.iter().map(pair).collect()
    };
    match &v.plan {
        BatchPlan::None => {}
        BatchPlan::Migrate {
            target_process_definition_key: target,
            mapping,
        } => {
            migration = json!({
                "targetProcessDefinitionKey": target,
                "mappingInstructions": pairs(mapping),
            });
        }
        BatchPlan::Modify { moves: given } => moves = pairs(given),
    }
    let follow_up = v.follow_up.map(|deletion| {
        json!({
            "valueType": "HISTORY_DELETION",
            "intent": "DELETE",
            "recordValue": history_deletion(deletion),
        })
    });
    json!({
        "batchOperationKey": key,
        "batchOperationType": v.kind.as_str(),
        "entityFilter": v.entity_filter,
        "migrationPlan": migration,
        "modificationPlan": {"moveInstructions": moves},
        "partitionIds": v.partition_ids,
        "followUpCommand": follow_up,
    })
}

fn chunk(v: BatchOperationChunkValue) -> Value {
    let item = |item: &BatchOperationItem| {
        json!({
            "itemKey": item.item_key,
            "processInstanceKey": item.process_instance_key,
            "rootProcessInstanceKey": item.root_process_instance_key,
        })
    };
    let items: Value = v.items.iter().map(item).collect();
    json!({"batchOperationKey": v.batch_operation_key, "items": items})
}

fn history_deletion(v: HistoryDeletionValue) -> Value {
    json!({
        "resourceKey": v.resource_key,
        "resourceType": v.kind.as_str(),
        "processId": "",
        "decisionDefinitionId": "",
        "tenantId": TenantId::default().as_str(),
    })
}
