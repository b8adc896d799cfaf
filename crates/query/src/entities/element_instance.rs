//! Element instances: the path of a process instance, and its current position.

use super::process_instance::STATES;
use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// BPMN element types.
pub const ELEMENT_TYPES: &[&str] = &[
    "UNSPECIFIED",
    "PROCESS",
    "SUB_PROCESS",
    "EVENT_SUB_PROCESS",
    "AD_HOC_SUB_PROCESS",
    "AD_HOC_SUB_PROCESS_INNER_INSTANCE",
    "START_EVENT",
    "INTERMEDIATE_CATCH_EVENT",
    "INTERMEDIATE_THROW_EVENT",
    "BOUNDARY_EVENT",
    "END_EVENT",
    "SERVICE_TASK",
    "RECEIVE_TASK",
    "USER_TASK",
    "MANUAL_TASK",
    "TASK",
    "EXCLUSIVE_GATEWAY",
    "INCLUSIVE_GATEWAY",
    "PARALLEL_GATEWAY",
    "EVENT_BASED_GATEWAY",
    "SEQUENCE_FLOW",
    "MULTI_INSTANCE_BODY",
    "CALL_ACTIVITY",
    "BUSINESS_RULE_TASK",
    "SCRIPT_TASK",
    "SEND_TASK",
    "UNKNOWN",
];

pub static ELEMENT_INSTANCE: Entity = Entity {
    title: "Element Instance",
    table: "element_instance",
    fields: &[
        Field::new("elementInstanceKey", Kind::Key, Ops::PLAIN)
            .always_there()
            .sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("startDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("endDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("elementId", Kind::Text, Ops::PLAIN)
            .always_there()
            .sortable()
            .indexed_while("state", "ACTIVE"),
        Field::new("elementName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("type", Kind::Enum(ELEMENT_TYPES), Ops::PLAIN).sortable(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM)
            .always_there()
            .sortable(),
        Field::new("hasIncident", Kind::Bool, Ops::PLAIN).always_there(),
        tenant(Ops::PLAIN).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("incidentKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("elementInstanceScopeKey", Kind::Key, Ops::PLAIN)
            .hidden()
            .mostly_like("processInstanceKey"),
        Field::new("activeIncidents", Kind::Int, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["processInstanceKey"],
        &["elementInstanceScopeKey"],
        // With the start date included, the oldest instance waiting at an element is found directly.
        &["elementId", "processDefinitionKey", "startDate"],
        &["tenantId"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
