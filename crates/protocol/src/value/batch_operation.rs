//! Records of batch operations: one command for many things that a filter chooses.
//!
//! Every partition writes the same CREATED. It chooses its own items (CHUNK, then INITIALIZED), carries them out
//! (EXECUTION, and one record for each item) and reports to the partition that made the key, which sums up
//! (PARTITION_LIFECYCLE) and ends the operation (LIFECYCLE_MANAGEMENT).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::RecordValue;
use crate::intent::{
    BatchOperationChunkIntent, BatchOperationExecutionIntent, BatchOperationIntent,
    BatchOperationItemIntent, HistoryDeletionIntent, ValueType,
};
use crate::key::Key;
use crate::origin::Claims;

/// The action on each item; ids are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BatchOperationType {
    CancelProcessInstance,
    ResolveIncident,
    MigrateProcessInstance,
    ModifyProcessInstance,
    DeleteProcessInstance,
    DeleteDecisionInstance,
}

impl BatchOperationType {
    pub const ALL: [BatchOperationType; 6] = [
        BatchOperationType::CancelProcessInstance,
        BatchOperationType::ResolveIncident,
        BatchOperationType::MigrateProcessInstance,
        BatchOperationType::ModifyProcessInstance,
        BatchOperationType::DeleteProcessInstance,
        BatchOperationType::DeleteDecisionInstance,
    ];

    /// The name of the record model and of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            BatchOperationType::CancelProcessInstance => "CANCEL_PROCESS_INSTANCE",
            BatchOperationType::ResolveIncident => "RESOLVE_INCIDENT",
            BatchOperationType::MigrateProcessInstance => "MIGRATE_PROCESS_INSTANCE",
            BatchOperationType::ModifyProcessInstance => "MODIFY_PROCESS_INSTANCE",
            BatchOperationType::DeleteProcessInstance => "DELETE_PROCESS_INSTANCE",
            BatchOperationType::DeleteDecisionInstance => "DELETE_DECISION_INSTANCE",
        }
    }
}

/// Details of the action, beyond the type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum BatchPlan {
    #[default]
    None,
    Migrate {
        target_process_definition_key: Key,
        /// Ids of source and target elements.
        mapping: Vec<(Arc<str>, Arc<str>)>,
    },
    /// Moves tokens: ids of source and target elements.
    Modify { moves: Vec<(Arc<str>, Arc<str>)> },
}

impl BatchPlan {
    /// About how many bytes it takes beside itself.
    pub fn weight(&self) -> usize {
        match self {
            BatchPlan::None => 0,
            BatchPlan::Migrate { mapping: pairs, .. } | BatchPlan::Modify { moves: pairs } => {
                pairs.iter().map(|(a, b)| a.len() + b.len() + 64).sum()
            }
        }
    }
}

/// A batch operation as it was requested. The record's key is its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationCreationValue {
    pub kind: BatchOperationType,
    /// Text of a JSON object: the affected entities, as a search filter.
    pub entity_filter: Arc<str>,
    pub plan: BatchPlan,
    /// Partitions that take part: all of the cluster.
    pub partition_ids: Vec<u32>,
    /// The caller who requested it: its items are carried out on that caller's behalf.
    pub claims: Claims,
    /// History to delete when all items are done: that of the definition whose instances they were.
    pub follow_up: Option<HistoryDeletionValue>,
}

impl BatchOperationCreationValue {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        let texts = self.entity_filter.len() + self.plan.weight();
        size_of::<Self>() + texts + self.claims.weight()
    }
}

/// An entity that the operation affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOperationItem {
    pub item_key: Key,
    /// None for decision instances that belong to no process instance.
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
}

impl BatchOperationItem {
    pub fn key(&self) -> Key {
        self.item_key
    }
}

/// CREATED: these items will be processed; the record's key names the chunk, and the keys after it name the items, one each.
/// DELETED: these, which are its last ones, will not be processed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationChunkValue {
    pub batch_operation_key: Key,
    /// Of all items.
    pub kind: BatchOperationType,
    pub items: Vec<BatchOperationItem>,
    /// The place of the first of them in the chunk.
    pub first: u32,
    /// CREATED: so far the partition has looked for items, in the order of their keys.
    pub chosen_up_to: Key,
}

impl BatchOperationChunkValue {
    /// The key of the item at this place of the chunk.
    pub fn key_of(chunk: Key, place: u32) -> Key {
        Key(chunk.0 + 1 + i64::from(place))
    }
}

/// INITIALIZED: the partition has chosen its items. FAILED: it could not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationInitializationValue {
    pub batch_operation_key: Key,
    pub error: Option<BatchOperationError>,
}

/// EXECUTING and EXECUTED with items: these are being carried out. EXECUTED without: the partition has done all of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationExecutionValue {
    pub batch_operation_key: Key,
    /// [`Key::NONE`] where there are no items.
    pub chunk_key: Key,
    pub item_keys: Vec<Key>,
}

/// Outcome of an item. The record's key is that of the item in its chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationItemValue {
    pub batch_operation_key: Key,
    pub chunk_key: Key,
    pub item_key: Key,
    /// Why it failed; empty when it did not.
    pub error_message: Arc<str>,
}

/// Progress of one partition, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchProgress {
    /// Items that were chosen.
    pub total: u64,
    pub completed: u64,
    pub failed: u64,
}

/// State of a partition's part. PROGRESSED: it continues. PARTITION_COMPLETED, PARTITION_FAILED: it has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationPartitionLifecycleValue {
    pub batch_operation_key: Key,
    pub source_partition_id: u32,
    /// Of that partition.
    pub progress: BatchProgress,
    /// Of all partitions together, this one included.
    pub sum: BatchProgress,
    pub error: Option<BatchOperationError>,
}

/// The operation as a whole is suspended, resumed, or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationLifecycleManagementValue {
    pub batch_operation_key: Key,
    /// Of partitions that could not choose their items.
    pub errors: Vec<BatchOperationError>,
}

/// Why a partition failed to do its part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperationError {
    pub partition_id: u32,
    pub kind: BatchOperationErrorType,
    pub message: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchOperationErrorType {
    QueryFailed,
    ResultBufferSizeExceeded,
}

impl BatchOperationErrorType {
    pub fn as_str(self) -> &'static str {
        match self {
            BatchOperationErrorType::QueryFailed => "QUERY_FAILED",
            BatchOperationErrorType::ResultBufferSizeExceeded => "RESULT_BUFFER_SIZE_EXCEEDED",
        }
    }
}

/// Removal from the history: the searchable data is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryDeletionValue {
    pub resource_key: Key,
    pub kind: HistoryDeletionType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HistoryDeletionType {
    ProcessInstance,
    ProcessDefinition,
    DecisionInstance,
    DecisionRequirements,
}

impl HistoryDeletionType {
    pub fn as_str(self) -> &'static str {
        match self {
            HistoryDeletionType::ProcessInstance => "PROCESS_INSTANCE",
            HistoryDeletionType::ProcessDefinition => "PROCESS_DEFINITION",
            HistoryDeletionType::DecisionInstance => "DECISION_INSTANCE",
            HistoryDeletionType::DecisionRequirements => "DECISION_REQUIREMENTS",
        }
    }
}

macro_rules! records {
    ($($value:ident : $value_type:ident, $intent:ident;)+) => {$(
        impl RecordValue for $value {
            const VALUE_TYPE: ValueType = ValueType::$value_type;
            type Intent = $intent;
        }
    )+};
}

records! {
    BatchOperationCreationValue: BatchOperationCreation, BatchOperationIntent;
    BatchOperationChunkValue: BatchOperationChunk, BatchOperationChunkIntent;
    BatchOperationInitializationValue: BatchOperationInitialization, BatchOperationIntent;
    BatchOperationExecutionValue: BatchOperationExecution, BatchOperationExecutionIntent;
    BatchOperationItemValue: BatchOperationItem, BatchOperationItemIntent;
    BatchOperationPartitionLifecycleValue: BatchOperationPartitionLifecycle, BatchOperationIntent;
    BatchOperationLifecycleManagementValue: BatchOperationLifecycleManagement, BatchOperationIntent;
    HistoryDeletionValue: HistoryDeletion, HistoryDeletionIntent;
}
