//! Batch operations and their items.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub(super) const TYPES: &[&str] = &[
    "ADD_VARIABLE",
    "CANCEL_PROCESS_INSTANCE",
    "DELETE_DECISION_DEFINITION",
    "DELETE_DECISION_INSTANCE",
    "DELETE_PROCESS_DEFINITION",
    "DELETE_PROCESS_INSTANCE",
    "MIGRATE_PROCESS_INSTANCE",
    "MODIFY_PROCESS_INSTANCE",
    "RESOLVE_INCIDENT",
    "UPDATE_VARIABLE",
];

/// A batch operation. Its row is on the partition that created it, which aggregates the progress of all partitions.
pub static BATCH_OPERATION: Entity = Entity {
    title: "Batch Operation",
    table: "batch_operation",
    fields: &[
        Field::new("batchOperationKey", Kind::Key, Ops::BASIC_TEXT).sortable(),
        Field::new(
            "state",
            Kind::Enum(&[
                "ACTIVE",
                "CANCELED",
                "COMPLETED",
                "CREATED",
                "FAILED",
                "PARTIALLY_COMPLETED",
                "SUSPENDED",
            ]),
            Ops::ENUM,
        )
        .sortable(),
        // The same value under two names: searches use one, answers the other.
        Field::new("operationType", Kind::Enum(TYPES), Ops::ENUM)
            .sortable()
            .hidden(),
        Field::new("batchOperationType", Kind::Enum(TYPES), Ops::NONE),
        Field::new("startDate", Kind::Time, Ops::NONE).sortable(),
        Field::new("endDate", Kind::Time, Ops::NONE).sortable(),
        Field::new(
            "actorType",
            Kind::Enum(&["ANONYMOUS", "CLIENT", "UNKNOWN", "USER"]),
            Ops::PLAIN,
        )
        .sortable(),
        Field::new("actorId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("operationsTotalCount", Kind::Int, Ops::NONE),
        Field::new("operationsFailedCount", Kind::Int, Ops::NONE),
        Field::new("operationsCompletedCount", Kind::Int, Ops::NONE),
        Field::new("errors", Kind::Json, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[&["state"], &["endDate"]],
    everywhere: false,
    leaves: Leaves::At("endDate"),
};

/// How a batch operation was requested: its filter and its plan. An addition of our own, and a table of its own: an earlier version
/// of a store lacks it, and gets it empty.
pub static BATCH_OPERATION_REQUEST: Entity = Entity {
    title: "Batch Operation Request",
    table: "batch_operation_request",
    fields: &[
        Field::new("batchOperationKey", Kind::Key, Ops::BASIC_TEXT),
        // The search filter that chose the items.
        Field::new("filter", Kind::Json, Ops::NONE),
        // These two belong to migrations and modifications.
        Field::new("migrationPlan", Kind::Json, Ops::NONE),
        Field::new("moveInstructions", Kind::Json, Ops::NONE),
        // The row leaves together with that of the operation.
        Field::new("endDate", Kind::Time, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["endDate"]],
    everywhere: false,
    leaves: Leaves::At("endDate"),
};

/// An item of a batch operation, on the partition of the affected entity.
pub static BATCH_OPERATION_ITEM: Entity = Entity {
    title: "Batch Operation Item",
    table: "batch_operation_item",
    fields: &[
        Field::new("batchOperationItemKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("operationType", Kind::Enum(TYPES), Ops::ENUM),
        Field::new("batchOperationKey", Kind::Key, Ops::BASIC_TEXT).sortable(),
        // Stored as text so that process instances can be filtered by it.
        Field::new("batchOperationId", Kind::Text, Ops::NONE).hidden(),
        Field::new("itemKey", Kind::Key, Ops::BASIC_TEXT).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new(
            "state",
            Kind::Enum(&["ACTIVE", "CANCELED", "COMPLETED", "FAILED"]),
            Ops::ENUM,
        )
        .sortable(),
        Field::new("processedDate", Kind::Time, Ops::NONE).sortable(),
        Field::new("errorMessage", Kind::Text, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["batchOperationKey", "state"],
        &["batchOperationId"],
        &["processInstanceKey"],
        &["processedDate"],
    ],
    everywhere: false,
    leaves: Leaves::At("processedDate"),
};
