//! Incidents: problems that keep element instances from continuing.

use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

const ERROR_TYPES: &[&str] = &[
    "AD_HOC_SUB_PROCESS_NO_RETRIES",
    "CALLED_DECISION_ERROR",
    "CALLED_ELEMENT_ERROR",
    "CONDITION_ERROR",
    "DECISION_EVALUATION_ERROR",
    "EXECUTION_LISTENER_NO_RETRIES",
    "EXTRACT_VALUE_ERROR",
    "FORM_NOT_FOUND",
    "IO_MAPPING_ERROR",
    "JOB_NO_RETRIES",
    "MESSAGE_SIZE_EXCEEDED",
    "RESOURCE_NOT_FOUND",
    "TASK_LISTENER_NO_RETRIES",
    "UNHANDLED_ERROR_EVENT",
    "UNKNOWN",
    "UNSPECIFIED",
];

pub static INCIDENT: Entity = Entity {
    title: "Incident",
    table: "incident",
    fields: &[
        Field::new("incidentKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("errorType", Kind::Enum(ERROR_TYPES), Ops::ENUM_NOT_IN).sortable(),
        Field::new("errorMessage", Kind::Text, Ops::TEXT),
        Field::new("elementId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("creationTime", Kind::Time, Ops::ORDERED).sortable(),
        Field::new(
            "state",
            Kind::Enum(&["ACTIVE", "MIGRATED", "PENDING", "RESOLVED", "UNKNOWN"]),
            Ops::ENUM_NOT_IN,
        )
        .sortable(),
        tenant(Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("jobKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("errorHashCode", Kind::Int, Ops::ORDERED).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["processInstanceKey"], &["state"], &["tenantId"]],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
