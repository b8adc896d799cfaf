//! Jobs: waiting, activated and ended.

use super::element_instance::ELEMENT_TYPES;
use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

const KINDS: &[&str] = &[
    "BPMN_ELEMENT",
    "EXECUTION_LISTENER",
    "TASK_LISTENER",
    "AD_HOC_SUB_PROCESS",
];

const LISTENER_EVENTS: &[&str] = &[
    "ASSIGNING",
    "CANCELING",
    "COMPLETING",
    "CREATING",
    "END",
    "START",
    "UNSPECIFIED",
    "UPDATING",
];

const STATES: &[&str] = &[
    "CANCELED",
    "COMPLETED",
    "CREATED",
    "ERROR_THROWN",
    "FAILED",
    "MIGRATED",
    "RETRIES_UPDATED",
    "TIMED_OUT",
];

pub static JOB: Entity = Entity {
    title: "Job",
    table: "job",
    fields: &[
        Field::new("jobKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("customHeaders", Kind::Json, Ops::NONE),
        Field::new("deadline", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("deniedReason", Kind::Text, Ops::TEXT).sortable(),
        Field::new("elementId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("endTime", Kind::Time, Ops::ORDERED)
            .sortable()
            .rarely_absent(),
        Field::new("errorCode", Kind::Text, Ops::TEXT).sortable(),
        Field::new("errorMessage", Kind::Text, Ops::TEXT).sortable(),
        Field::new("hasFailedWithRetriesLeft", Kind::Bool, Ops::PLAIN).sortable(),
        Field::new("isDenied", Kind::Bool, Ops::PLAIN).sortable(),
        Field::new("kind", Kind::Enum(KINDS), Ops::ENUM).sortable(),
        Field::new("listenerEventType", Kind::Enum(LISTENER_EVENTS), Ops::ENUM).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("retries", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM).sortable(),
        tenant(Ops::TEXT).sortable(),
        Field::new("type", Kind::Text, Ops::TEXT).sortable(),
        Field::new("worker", Kind::Text, Ops::TEXT).sortable(),
        Field::new("creationTime", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("lastUpdateTime", Kind::Time, Ops::ORDERED),
        // The time of the last failure or error.
        Field::new("failureTime", Kind::Time, Ops::NONE)
            .hidden()
            .sparse(),
        Field::new("elementType", Kind::Enum(ELEMENT_TYPES), Ops::NONE).hidden(),
        // Added in 8.10. Jobs have no priority yet. The business ID is that of the process instance; answers look it up.
        Field::new("priority", Kind::Int, Ops::ORDERED)
            .sortable()
            .never_null(),
        Field::new("businessId", Kind::Text, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["processInstanceKey"],
        &["type", "state"],
        &["failureTime"],
        // Open jobs.
        &["endTime"],
        &["tenantId"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
