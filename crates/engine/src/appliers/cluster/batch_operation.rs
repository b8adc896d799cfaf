//! Events of batch operations.

use skep_protocol::intent::{
    BatchOperationChunkIntent as ChunkIntent, BatchOperationExecutionIntent as ExecutionIntent,
    BatchOperationIntent as Intent, BatchOperationItemIntent as ItemIntent,
};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{
    BatchOperationChunkValue, BatchOperationCreationValue, BatchOperationExecutionValue,
    BatchOperationInitializationValue, BatchOperationItemValue,
    BatchOperationLifecycleManagementValue, BatchOperationPartitionLifecycleValue, BatchProgress,
};
use skep_protocol::{Key, ValueType};

use crate::appliers::{Apply, go};
use crate::state::{BatchChunk, BatchOperation, BatchPart, BatchPhase, State};

/// Applies an event of a batch operation.
pub(in crate::appliers) fn apply(
    state: &mut State,
    record: &Record<'_>,
) -> Result<(), DecodeError> {
    match record.value_type {
        ValueType::BatchOperationCreation => go::<BatchOperationCreationValue>(state, record),
        ValueType::BatchOperationChunk => go::<BatchOperationChunkValue>(state, record),
        ValueType::BatchOperationInitialization => {
            go::<BatchOperationInitializationValue>(state, record)
        }
        ValueType::BatchOperationExecution => go::<BatchOperationExecutionValue>(state, record),
        ValueType::BatchOperationItem => go::<BatchOperationItemValue>(state, record),
        ValueType::BatchOperationPartitionLifecycle => {
            go::<BatchOperationPartitionLifecycleValue>(state, record)
        }
        _ => go::<BatchOperationLifecycleManagementValue>(state, record),
    }
}

impl Apply<BatchOperationCreationValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &BatchOperationCreationValue, _: i64) {
        if intent != Intent::Created {
            return;
        }
        let sums_up = key.partition() == Some(self.partition);
        let part = |partition: &u32| (*partition, BatchPart::default());
        let row = BatchOperation {
            value: value.clone(),
            phase: BatchPhase::Choosing,
            suspended: false,
            before: self.next_key(),
            chosen_up_to: Key::NONE,
            progress: BatchProgress::default(),
            announced: Key::NONE,
            error: None,
            parts: if sums_up {
                value.partition_ids.iter().map(part).collect()
            } else {
                Default::default()
            },
        };
        self.batch_operations.insert(key, row);
    }
}

impl Apply<BatchOperationChunkValue> for State {
    fn apply(&mut self, key: Key, intent: ChunkIntent, value: &BatchOperationChunkValue, _: i64) {
        let items = value.items.len();
        match intent {
            ChunkIntent::Created => {
                // Each item has its own key, after that of the chunk.
                let last = u32::try_from(items).unwrap_or(u32::MAX).saturating_sub(1);
                self.observe_key(BatchOperationChunkValue::key_of(key, last));
                let chunk = BatchChunk {
                    batch_operation_key: value.batch_operation_key,
                    items: value.items.clone(),
                    done: 0,
                    resources: value.resources.clone(),
                };
                self.batch_operations
                    .change(value.batch_operation_key, |row| {
                        row.chosen_up_to = value.chosen_up_to;
                        row.progress.total += items as u64;
                    });
                self.batch_operations.add_chunk(key, chunk);
            }
            ChunkIntent::Deleted => self.batch_operations.remove_chunk(key),
            ChunkIntent::Create => {}
        }
    }
}

impl Apply<BatchOperationInitializationValue> for State {
    fn apply(&mut self, _: Key, intent: Intent, value: &BatchOperationInitializationValue, _: i64) {
        let phase = match intent {
            Intent::Initialized => BatchPhase::Executing,
            Intent::Failed => BatchPhase::Failed,
            _ => return,
        };
        self.batch_operations
            .change(value.batch_operation_key, |row| {
                row.phase = phase;
                row.error = value.error.clone();
            });
    }
}

impl Apply<BatchOperationExecutionValue> for State {
    fn apply(
        &mut self,
        _: Key,
        intent: ExecutionIntent,
        value: &BatchOperationExecutionValue,
        _: i64,
    ) {
        if intent != ExecutionIntent::Executed {
            return;
        }
        self.batch_operations
            .change(value.batch_operation_key, |row| {
                row.announced = value.chunk_key;
                if value.chunk_key.is_none() {
                    row.phase = BatchPhase::Done;
                }
            });
    }
}

impl Apply<BatchOperationItemValue> for State {
    fn apply(&mut self, _: Key, intent: ItemIntent, value: &BatchOperationItemValue, _: i64) {
        self.batch_operations.item_done(value.chunk_key);
        self.batch_operations
            .change(value.batch_operation_key, |row| match intent {
                ItemIntent::Executed => row.progress.completed += 1,
                ItemIntent::Failed => row.progress.failed += 1,
            });
    }
}

impl Apply<BatchOperationPartitionLifecycleValue> for State {
    fn apply(
        &mut self,
        _: Key,
        intent: Intent,
        value: &BatchOperationPartitionLifecycleValue,
        _: i64,
    ) {
        let ended = match intent {
            Intent::Progressed => false,
            Intent::PartitionCompleted | Intent::PartitionFailed => true,
            _ => return,
        };
        self.batch_operations
            .change(value.batch_operation_key, |row| {
                let part = BatchPart {
                    progress: value.progress,
                    ended,
                    error: value.error.clone(),
                };
                row.parts.insert(value.source_partition_id, part);
            });
    }
}

impl Apply<BatchOperationLifecycleManagementValue> for State {
    fn apply(
        &mut self,
        _: Key,
        intent: Intent,
        value: &BatchOperationLifecycleManagementValue,
        _: i64,
    ) {
        let key = value.batch_operation_key;
        let operations = &mut self.batch_operations;
        match intent {
            Intent::Suspended => operations.change(key, |row| row.suspended = true),
            Intent::Resumed => operations.change(key, |row| row.suspended = false),
            Intent::Canceled | Intent::Completed | Intent::Failed => operations.end(key),
            _ => {}
        }
    }
}
