//! Commands of batch operations, and of the deletion of history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{About, At, Audit, Class, Head, RecordName, Row, Whose, commands};
use super::need::{Need, On};
use super::rows::Command;
use crate::grants;
use crate::intent::{
    BatchOperationChunkIntent, BatchOperationIntent, HistoryDeletionIntent, ValueType,
};
use crate::key::Key;
use crate::permission::Permission;
use crate::tenant::TenantId;
use crate::value::{
    BatchOperationItem, BatchOperationType, BatchPlan, HistoryDeletionType, HistoryDeletionValue,
};

commands! {
/// Commands for batch operations. The order is that of the encoding between nodes.
pub enum BatchCommand {
    Create(create: Box<CreateBatchOperation>) => {
        record: BatchOperationCreation { BatchOperationIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::Home,
        class: New,
        needs: create.needs(),
        audit: Audit::resources("BATCH", "CREATE"),
        weight: create.filter.len() + create.plan.weight(),
    }
    Cancel { batch_operation_key: Key } => {
        record: BatchOperationLifecycleManagement { BatchOperationIntent::Cancel } *batch_operation_key,
        about: About::BatchOperation(*batch_operation_key),
        whose: Whose::Cluster,
        at: At::Key(*batch_operation_key),
        class: Finishing,
        needs: Need::AnyOf(grants![Batch: Update], On::Any),
        audit: Audit::resources("BATCH", "CANCEL"),
        weight: 0,
    }
    Suspend { batch_operation_key: Key } => {
        record: BatchOperationLifecycleManagement { BatchOperationIntent::Suspend } *batch_operation_key,
        about: About::BatchOperation(*batch_operation_key),
        whose: Whose::Cluster,
        at: At::Key(*batch_operation_key),
        class: Finishing,
        needs: Need::AnyOf(grants![Batch: Update], On::Any),
        audit: Audit::resources("BATCH", "SUSPEND"),
        weight: 0,
    }
    Resume { batch_operation_key: Key } => {
        record: BatchOperationLifecycleManagement { BatchOperationIntent::Resume } *batch_operation_key,
        about: About::BatchOperation(*batch_operation_key),
        whose: Whose::Cluster,
        at: At::Key(*batch_operation_key),
        class: New,
        needs: Need::AnyOf(grants![Batch: Update], On::Any),
        audit: Audit::resources("BATCH", "RESUME"),
        weight: 0,
    }
    /// Items that secondary storage has found for an operation; sent by the partition itself, not by a client.
    Add(add: AddBatchItems) => {
        record: BatchOperationChunk { BatchOperationChunkIntent::Create } add.batch_operation_key,
        about: About::BatchOperation(add.batch_operation_key),
        whose: Whose::Cluster,
        at: At::Key(add.batch_operation_key),
        class: New,
        needs: Need::Internal,
        audit: Audit::None,
        weight: add.items.len() * size_of::<BatchOperationItem>() + add.resources.len() * size_of::<Arc<str>>(),
    }
    /// Secondary storage could not be asked; likewise.
    Fail { batch_operation_key: Key, message: Arc<str> } => {
        record: BatchOperationInitialization { BatchOperationIntent::Fail } *batch_operation_key,
        about: About::BatchOperation(*batch_operation_key),
        whose: Whose::Cluster,
        at: At::Key(*batch_operation_key),
        class: New,
        needs: Need::Internal,
        audit: Audit::None,
        weight: message.len(),
    }
    /// Deletes a resource or instance from secondary storage. The gateway checks that it existed and has ended. Gateways of earlier
    /// versions send this; today's send [`BatchCommand::DeleteHistoryOf`].
    DeleteHistory(value: HistoryDeletionValue) => {
        record: HistoryDeletion { HistoryDeletionIntent::Delete } value.resource_key,
        about: About::Ended(value.resource_key),
        // Ended instances are not in the state: the gateway finds them, and checks permissions there.
        whose: Whose::Cluster,
        at: At::Key(value.resource_key),
        class: New,
        needs: value.kind.needs(match value.kind {
            HistoryDeletionType::DecisionInstance => On::DecisionOf(value.resource_key),
            _ => On::ItsProcess,
        }),
        audit: Audit::None,
        weight: 0,
    }
    /// The same, with what the sender has found about it, so that the partition checks the caller's rights of that moment.
    DeleteHistoryOf(history: HistoryOf) => {
        record: HistoryDeletion { HistoryDeletionIntent::Delete } history.deletion.resource_key,
        about: About::Ended(history.deletion.resource_key),
        whose: Whose::Of(history.tenant.as_ref()),
        at: At::Key(history.deletion.resource_key),
        class: New,
        needs: history.deletion.kind.needs(On::Each(&history.resources)),
        audit: Audit::None,
        weight: history.weight(),
    }
}
}

impl HistoryDeletionType {
    /// The permission that deleting such history requires, on this resource.
    fn needs(self, on: On<'_>) -> Need<'_> {
        match self {
            HistoryDeletionType::ProcessInstance => {
                Need::AnyOf(grants![ProcessDefinition: DeleteProcessInstance], on)
            }
            HistoryDeletionType::DecisionInstance => {
                Need::AnyOf(grants![DecisionDefinition: DeleteDecisionInstance], on)
            }
            // They go with their resource: no client asks for that alone.
            HistoryDeletionType::ProcessDefinition | HistoryDeletionType::DecisionRequirements => {
                Need::Internal
            }
        }
    }
}

/// Something that has ended, so that only secondary storage knows what it belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryOf {
    pub deletion: HistoryDeletionValue,
    /// The ids of its process, or of its decisions: the permission on each is required. An empty id, or none at all, is one that is not
    /// known, which only a permission on all resources covers.
    pub resources: Vec<Arc<str>>,
    /// The tenant that it belongs to. `None`: items of batch operations, which were selected among the tenants of their creator.
    pub tenant: Option<TenantId>,
}

impl BatchCommand {
    /// The history that it deletes, if nothing is known yet of what that belongs to.
    fn bare_deletion(&self) -> Option<&HistoryDeletionValue> {
        match self {
            BatchCommand::DeleteHistory(deletion) => Some(deletion),
            BatchCommand::DeleteHistoryOf(_)
            | BatchCommand::Create(_)
            | BatchCommand::Cancel { .. }
            | BatchCommand::Suspend { .. }
            | BatchCommand::Resume { .. }
            | BatchCommand::Add(_)
            | BatchCommand::Fail { .. } => None,
        }
    }
}

impl Command {
    /// Completes a deletion of history by what was found about it: the function gets what is deleted.
    pub fn complete_deletion(&mut self, found: impl FnOnce(&HistoryDeletionValue) -> HistoryOf) {
        if let Command::Batch(command) = self
            && let Some(deletion) = command.bare_deletion()
        {
            *command = BatchCommand::DeleteHistoryOf(found(deletion));
        }
    }
}

impl HistoryOf {
    fn weight(&self) -> usize {
        let ids = self.resources.iter();
        let ids: usize = ids.map(|id| id.len() + size_of::<Arc<str>>()).sum();
        ids + self.tenant.as_ref().map_or(0, TenantId::weight)
    }
}

/// The filter by which [`one_instance`] knows the operation for one instance.
fn filter_of(instance: Key) -> String {
    format!(r#"{{"processInstanceKey":"{instance}"}}"#)
}

/// The instance whose incidents an operation resolves, if it was created for exactly this instance, and not from a filter of
/// a client. It does nothing that its creator could not do to each incident, so the permission for that is enough.
pub fn one_instance(kind: BatchOperationType, filter: &str) -> Option<Key> {
    if kind != BatchOperationType::ResolveIncident {
        return None;
    }
    let key = filter.strip_prefix(r#"{"processInstanceKey":""#)?;
    let key = Key(key.strip_suffix(r#""}"#)?.parse().ok()?);
    (filter_of(key) == filter).then_some(key)
}

/// Does something to all that a filter chooses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateBatchOperation {
    pub kind: BatchOperationType,
    /// Text of a JSON object: the filter of a search.
    pub filter: Arc<str>,
    pub plan: BatchPlan,
    /// History to delete once all items are done.
    pub follow_up: Option<HistoryDeletionValue>,
}

/// The next items of a batch operation, in the order of their keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddBatchItems {
    pub batch_operation_key: Key,
    pub items: Vec<BatchOperationItem>,
    /// The id of the resource of each item, or none at all: see [`ItemResources`](crate::value::ItemResources).
    pub resources: Vec<Arc<str>>,
    /// They follow this one: items that arrive twice count once.
    pub after: Key,
    /// Whether these are the last ones.
    pub last: bool,
}

impl CreateBatchOperation {
    /// Resolves the incidents of one instance.
    pub fn incidents_of(instance: Key) -> CreateBatchOperation {
        CreateBatchOperation {
            kind: BatchOperationType::ResolveIncident,
            filter: filter_of(instance).into(),
            plan: BatchPlan::None,
            follow_up: None,
        }
    }

    fn needs(&self) -> Need<'_> {
        match one_instance(self.kind, &self.filter) {
            Some(instance) => Need::AnyOf(
                grants![ProcessDefinition: UpdateProcessInstance],
                On::Instance(instance),
            ),
            None => Need::AnyOf(self.grants(), On::Any),
        }
    }

    /// The permission for all kinds, and the one for this kind.
    fn grants(&self) -> &'static [Permission] {
        match self.kind {
            BatchOperationType::CancelProcessInstance => {
                grants![Batch: Create, Batch: CreateBatchCancelProcessInstance]
            }
            BatchOperationType::ResolveIncident => {
                grants![Batch: Create, Batch: CreateBatchResolveIncident]
            }
            BatchOperationType::MigrateProcessInstance => {
                grants![Batch: Create, Batch: CreateBatchMigrateProcessInstance]
            }
            BatchOperationType::ModifyProcessInstance => {
                grants![Batch: Create, Batch: CreateBatchModifyProcessInstance]
            }
            BatchOperationType::DeleteProcessInstance => {
                grants![Batch: Create, Batch: CreateBatchDeleteProcessInstance]
            }
            BatchOperationType::DeleteDecisionInstance => {
                grants![Batch: Create, Batch: CreateBatchDeleteDecisionInstance]
            }
        }
    }
}
