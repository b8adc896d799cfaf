//! Process instances, running and ended.

use super::{BATCH_OPERATION_ITEM, ELEMENT_INSTANCE, INCIDENT, JOB, VARIABLE, tenant};
use crate::entity::{Entity, Field, Kind, Leaves, Ops, RelatedFilter, Takes};

pub(super) const STATES: &[&str] = &["ACTIVE", "COMPLETED", "TERMINATED"];

/// The group of filters that must match the same element instance.
const ELEMENT: u8 = 1;

/// A filter for process instances that are items of a batch operation.
const fn batch_operation(name: &'static str) -> RelatedFilter {
    RelatedFilter {
        name,
        entity: || &BATCH_OPERATION_ITEM,
        own: "processInstanceKey",
        link: "processInstanceKey",
        field: "batchOperationId",
        ops: Ops::TEXT,
        takes: Takes::Field,
        group: 0,
        only: None,
    }
}

pub static PROCESS_INSTANCE: Entity = Entity {
    title: "Process Instance",
    table: "process_instance",
    fields: &[
        Field::new("processInstanceKey", Kind::Key, Ops::KEY)
            .always_there()
            .sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT)
            .always_there()
            .sortable(),
        Field::new("processDefinitionName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionVersion", Kind::Int, Ops::ORDERED)
            .always_there()
            .sortable(),
        Field::new("processDefinitionVersionTag", Kind::Text, Ops::TEXT).sortable(),
        Field::new("startDate", Kind::Time, Ops::ORDERED)
            .always_there()
            .sortable(),
        Field::new("endDate", Kind::Time, Ops::ORDERED)
            .sortable()
            .sparse()
            .cluster_wide(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM)
            .always_there()
            .sortable(),
        Field::new("hasIncident", Kind::Bool, Ops::PLAIN)
            .always_there()
            .sortable()
            .rarely_true()
            .cluster_wide(),
        tenant(Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY)
            .always_there()
            .sortable(),
        Field::new("parentProcessInstanceKey", Kind::Key, Ops::KEY)
            .sortable()
            .sparse(),
        Field::new("parentElementInstanceKey", Kind::Key, Ops::KEY)
            .sortable()
            .sparse(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("tags", Kind::Json, Ops::NONE),
        Field::new("businessId", Kind::Text, Ops::TEXT)
            .sortable()
            .sparse(),
        Field::new("activeIncidents", Kind::Int, Ops::NONE).hidden(),
        Field::new("takenFlows", Kind::Text, Ops::NONE).hidden(),
        // Added in 8.10; process instances cannot be suspended yet.
        Field::new("suspendedDate", Kind::Time, Ops::ORDERED).sortable(),
    ],
    related: &[
        batch_operation("batchOperationKey"),
        // The name of this filter in 8.8.
        batch_operation("batchOperationId"),
        RelatedFilter {
            name: "variables",
            entity: || &VARIABLE,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "value",
            ops: Ops::TEXT,
            takes: Takes::NamedValues,
            group: 0,
            only: None,
        },
        RelatedFilter {
            name: "elementId",
            entity: || &ELEMENT_INSTANCE,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "elementId",
            ops: Ops::TEXT,
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "elementInstanceState",
            entity: || &ELEMENT_INSTANCE,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "state",
            ops: Ops::ENUM,
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "hasElementInstanceIncident",
            entity: || &ELEMENT_INSTANCE,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "hasIncident",
            ops: Ops::PLAIN,
            takes: Takes::Field,
            group: ELEMENT,
            only: None,
        },
        RelatedFilter {
            name: "errorMessage",
            entity: || &INCIDENT,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "errorMessage",
            ops: Ops::TEXT,
            takes: Takes::Field,
            group: 0,
            only: Some(("state", "ACTIVE")),
        },
        RelatedFilter {
            name: "incidentErrorHashCode",
            entity: || &INCIDENT,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "errorHashCode",
            ops: Ops::ORDERED,
            takes: Takes::Field,
            group: 0,
            only: Some(("state", "ACTIVE")),
        },
        RelatedFilter {
            name: "hasRetriesLeft",
            entity: || &JOB,
            own: "processInstanceKey",
            link: "processInstanceKey",
            field: "hasFailedWithRetriesLeft",
            ops: Ops::PLAIN,
            takes: Takes::Field,
            group: 0,
            only: None,
        },
    ],
    items: &[("tags", "tags", Kind::Text)],
    indices: &[
        &["state", "processDefinitionKey", "startDate"],
        // With the state at its end, the index answers searches by both without reading other rows.
        &["startDate", "state"],
        &["endDate"],
        &["processDefinitionId", "startDate", "state"],
        &["parentProcessInstanceKey"],
        &["parentElementInstanceKey"],
        &["businessId"],
        &["hasIncident", "processDefinitionKey"],
        &["tenantId"],
        &["tenantId", "endDate"],
        &["tenantId", "hasIncident", "processDefinitionKey"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
