//! The audit log: operations by users and clients.

use super::batch_operation::TYPES;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Entity types in the audit log, in the order of their bits in a set of them.
pub const AUDITED_ENTITIES: &[&str] = &[
    "AUTHORIZATION",
    "BATCH",
    "DECISION",
    "GROUP",
    "INCIDENT",
    "JOB",
    "MAPPING_RULE",
    "PROCESS_INSTANCE",
    "RESOURCE",
    "ROLE",
    "TENANT",
    "USER",
    "USER_TASK",
    "VARIABLE",
    "CLIENT",
];

pub const AUDIT_CATEGORIES: &[&str] = &["ADMIN", "DEPLOYED_RESOURCES", "USER_TASKS"];

const OPERATIONS: &[&str] = &[
    "ASSIGN", "CANCEL", "COMPLETE", "CREATE", "DELETE", "EVALUATE", "MIGRATE", "MODIFY", "RESOLVE",
    "RESUME", "SUSPEND", "UNASSIGN", "UNKNOWN", "UPDATE",
];

pub static AUDIT_LOG: Entity = Entity {
    title: "Audit Log",
    table: "audit_log",
    fields: &[
        Field::new("auditLogKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("entityKey", Kind::Text, Ops::BASIC_TEXT).sortable(),
        Field::new("entityType", Kind::Enum(AUDITED_ENTITIES), Ops::ENUM).sortable(),
        Field::new("operationType", Kind::Enum(OPERATIONS), Ops::ENUM).sortable(),
        Field::new("batchOperationKey", Kind::Key, Ops::NONE).sortable(),
        Field::new("batchOperationType", Kind::Enum(TYPES), Ops::ENUM).sortable(),
        Field::new("timestamp", Kind::Time, Ops::ORDERED)
            .sortable()
            .cluster_wide(),
        Field::new("actorId", Kind::Text, Ops::TEXT).sortable(),
        Field::new(
            "actorType",
            Kind::Enum(&["ANONYMOUS", "CLIENT", "UNKNOWN", "USER"]),
            Ops::ENUM,
        )
        .sortable(),
        Field::new("agentElementId", Kind::Text, Ops::TEXT),
        Field::new("tenantId", Kind::Text, Ops::TEXT)
            .sortable()
            .tenant(),
        Field::new("result", Kind::Enum(&["FAIL", "SUCCESS"]), Ops::ENUM).sortable(),
        Field::new("category", Kind::Enum(AUDIT_CATEGORIES), Ops::ENUM).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY)
            .sortable()
            .sparse(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("jobKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("userTaskKey", Kind::Key, Ops::BASIC_TEXT)
            .sortable()
            .sparse(),
        Field::new("decisionRequirementsId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("decisionRequirementsKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("decisionDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("decisionDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("decisionEvaluationKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("deploymentKey", Kind::Key, Ops::KEY),
        Field::new("formKey", Kind::Key, Ops::KEY),
        Field::new("resourceKey", Kind::Key, Ops::KEY),
        Field::new("relatedEntityKey", Kind::Text, Ops::BASIC_TEXT),
        Field::new("relatedEntityType", Kind::Enum(AUDITED_ENTITIES), Ops::ENUM),
        Field::new("entityDescription", Kind::Text, Ops::TEXT),
        // Added in 8.10; there are no channels other than the API yet.
        Field::new("inboundChannelType", Kind::Text, Ops::TEXT).sortable(),
        Field::new("inboundChannelToolName", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["timestamp"],
        &["entityKey"],
        &["processInstanceKey"],
        &["userTaskKey"],
        &["tenantId"],
        &["tenantId", "timestamp"],
    ],
    everywhere: false,
    leaves: Leaves::At("timestamp"),
};
