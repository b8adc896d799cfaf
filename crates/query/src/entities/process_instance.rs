//! Process instances, running and ended.

use super::{ELEMENT_INSTANCE, INCIDENT, JOB, VARIABLE};
use crate::entity::{Entity, Field, Kind, Ops, RelatedFilter, Takes};

pub(super) const STATES: &[&str] = &["ACTIVE", "COMPLETED", "TERMINATED"];

/// The group of filters that ask for one and the same element instance.
const ELEMENT: u8 = 1;

pub static PROCESS_INSTANCE: Entity = Entity {
    title: "Process Instance",
    table: "process_instance",
    fields: &[
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionVersion", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("processDefinitionVersionTag", Kind::Text, Ops::TEXT).sortable(),
        Field::new("startDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("endDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM).sortable(),
        Field::new("hasIncident", Kind::Bool, Ops::PLAIN).sortable(),
        Field::new("tenantId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("parentProcessInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("parentElementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("tags", Kind::Json, Ops::NONE),
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("activeIncidents", Kind::Int, Ops::NONE).hidden(),
        Field::new("batchOperationKey", Kind::Text, Ops::TEXT).hidden(),
        Field::new("batchOperationId", Kind::Text, Ops::TEXT).hidden(),
    ],
    related: &[
        RelatedFilter {
            name: "variables",
            entity: || &VARIABLE,
            link: "processInstanceKey",
            field: "value",
            takes: Takes::NamedValues,
            group: 0,
            only: None,
        },
        RelatedFilter {
            name: "elementId",
            entity: || &ELEMENT_INSTANCE,
            link: "processInstanceKey",
            field: "elementId",
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "elementInstanceState",
            entity: || &ELEMENT_INSTANCE,
            link: "processInstanceKey",
            field: "state",
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "hasElementInstanceIncident",
            entity: || &ELEMENT_INSTANCE,
            link: "processInstanceKey",
            field: "hasIncident",
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "errorMessage",
            entity: || &INCIDENT,
            link: "processInstanceKey",
            field: "errorMessage",
            takes: Takes::Field,
            group: 0,
            only: Some(("state", "ACTIVE")),
        },
        RelatedFilter {
            name: "incidentErrorHashCode",
            entity: || &INCIDENT,
            link: "processInstanceKey",
            field: "errorHashCode",
            takes: Takes::Field,
            group: 0,
            only: Some(("state", "ACTIVE")),
        },
        RelatedFilter {
            name: "hasRetriesLeft",
            entity: || &JOB,
            link: "processInstanceKey",
            field: "hasFailedWithRetriesLeft",
            takes: Takes::Field,
            group: 0,
            only: None,
        },
    ],
    indices: &[
        &["state", "processDefinitionKey", "startDate"],
        &["startDate"],
        &["endDate"],
        &["processDefinitionId", "startDate"],
        &["parentProcessInstanceKey"],
        &["businessId"],
    ],
    everywhere: false,
};
