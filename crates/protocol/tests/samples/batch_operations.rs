//! Records of batch operations.

use skep_protocol::Key;
use skep_protocol::value::*;

use super::{key, origin};

pub fn batch_operation_creation() -> BatchOperationCreationValue {
    BatchOperationCreationValue {
        kind: BatchOperationType::MigrateProcessInstance,
        entity_filter: r#"{"processDefinitionId":"p"}"#.into(),
        plan: BatchPlan::Migrate {
            target_process_definition_key: key(9),
            mapping: vec![("a".into(), "b".into())],
        },
        partition_ids: vec![1, 2, 3],
        claims: origin().claims,
        follow_up: Some(history_deletion()),
    }
}

pub fn batch_operation_chunk() -> BatchOperationChunkValue {
    let item = |counter| BatchOperationItem {
        item_key: key(counter),
        process_instance_key: key(counter + 1),
        root_process_instance_key: key(counter + 2),
    };
    BatchOperationChunkValue {
        batch_operation_key: key(1),
        kind: BatchOperationType::ResolveIncident,
        items: vec![item(10), item(20)],
        first: 3,
        chosen_up_to: key(20),
        resources: ItemResources::of(&["order".into(), "refund".into()]),
    }
}

fn error() -> BatchOperationError {
    BatchOperationError {
        partition_id: 2,
        kind: BatchOperationErrorType::QueryFailed,
        message: "away".into(),
    }
}

pub fn batch_operation_initialization() -> BatchOperationInitializationValue {
    BatchOperationInitializationValue {
        batch_operation_key: key(1),
        error: Some(error()),
    }
}

pub fn batch_operation_execution() -> BatchOperationExecutionValue {
    BatchOperationExecutionValue {
        batch_operation_key: key(1),
        chunk_key: key(5),
        item_keys: vec![key(10), Key::new(2, 20)],
    }
}

pub fn batch_operation_item() -> BatchOperationItemValue {
    BatchOperationItemValue {
        batch_operation_key: key(1),
        chunk_key: key(5),
        item_key: key(10),
        error_message: "gone".into(),
    }
}

pub fn batch_operation_partition_lifecycle() -> BatchOperationPartitionLifecycleValue {
    let progress = |total| BatchProgress {
        total,
        completed: 2,
        failed: 1,
    };
    BatchOperationPartitionLifecycleValue {
        batch_operation_key: key(1),
        source_partition_id: 2,
        progress: progress(4),
        sum: progress(700),
        error: Some(error()),
    }
}

pub fn batch_operation_lifecycle_management() -> BatchOperationLifecycleManagementValue {
    BatchOperationLifecycleManagementValue {
        batch_operation_key: key(1),
        errors: vec![error()],
    }
}

pub fn history_deletion() -> HistoryDeletionValue {
    HistoryDeletionValue {
        resource_key: key(7),
        kind: HistoryDeletionType::ProcessDefinition,
    }
}
