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
use crate::record::decode;

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

impl BatchOperationType {
    /// Whether it deletes the history of what has ended.
    pub fn deletes(self) -> bool {
        match self {
            BatchOperationType::DeleteProcessInstance
            | BatchOperationType::DeleteDecisionInstance => true,
            BatchOperationType::CancelProcessInstance
            | BatchOperationType::ResolveIncident
            | BatchOperationType::MigrateProcessInstance
            | BatchOperationType::ModifyProcessInstance => false,
        }
    }
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

    /// Whether each item is kept with the id of its resource, where permissions are checked: what is deleted has ended, so nothing else
    /// says in the item's turn what its deletion requires.
    pub fn asks_for_each(&self) -> bool {
        self.kind.deletes() && matches!(self.claims, Claims::User(_) | Claims::Client(_))
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

/// The ids of the resources of some items that have ended, so that the engine does not know them: of each id the places of its items. Empty
/// where permissions on the single items are not checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemResources(Vec<(Arc<str>, Vec<u32>)>);

impl ItemResources {
    /// Of items in this order.
    pub fn of<'a>(ids: impl IntoIterator<Item = &'a Arc<str>>) -> ItemResources {
        let mut all: Vec<(Arc<str>, Vec<u32>)> = Vec::new();
        for (id, place) in ids.into_iter().zip(0..) {
            match all.iter_mut().find(|(known, _)| known == id) {
                Some((_, places)) => places.push(place),
                None => all.push((id.clone(), vec![place])),
            }
        }
        ItemResources(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of the item at this place.
    pub fn at(&self, place: u32) -> Option<&Arc<str>> {
        let mut all = self.0.iter();
        let has_it = |places: &Vec<u32>| places.binary_search(&place).is_ok();
        all.find_map(|(id, places)| has_it(places).then_some(id))
    }

    /// About how many bytes they take beside themselves.
    pub fn weight(&self) -> usize {
        const ENTRY: usize = size_of::<(Arc<str>, Vec<u32>)>() + 16;
        let all = self.0.iter();
        all.map(|(id, places)| ENTRY + id.len() + places.len() * size_of::<u32>())
            .sum()
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
    /// CREATED: only the second version of the value has them.
    #[serde(skip_serializing_if = "ItemResources::is_empty")]
    pub resources: ItemResources,
}

impl RecordValue for BatchOperationChunkValue {
    const VALUE_TYPE: ValueType = ValueType::BatchOperationChunk;
    const VERSION: u8 = 2;
    type Intent = BatchOperationChunkIntent;

    fn version(&self) -> u8 {
        if self.resources.is_empty() { 1 } else { 2 }
    }

    fn read_earlier(version: u8, body: &[u8]) -> Option<BatchOperationChunkValue> {
        // An empty list is encoded as one byte.
        (version == 1).then(|| decode(&[body, &[0]].concat()).ok())?
    }
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
    BatchOperationInitializationValue: BatchOperationInitialization, BatchOperationIntent;
    BatchOperationExecutionValue: BatchOperationExecution, BatchOperationExecutionIntent;
    BatchOperationItemValue: BatchOperationItem, BatchOperationItemIntent;
    BatchOperationPartitionLifecycleValue: BatchOperationPartitionLifecycle, BatchOperationIntent;
    BatchOperationLifecycleManagementValue: BatchOperationLifecycleManagement, BatchOperationIntent;
    HistoryDeletionValue: HistoryDeletion, HistoryDeletionIntent;
}
