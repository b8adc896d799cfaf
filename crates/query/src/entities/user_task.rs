//! User tasks: work to be done by people.

use super::{VARIABLE, tenant};
use crate::entity::{Entity, Field, Kind, Leaves, Ops, RelatedFilter, Takes};

const STATES: &[&str] = &[
    "CREATING",
    "CREATED",
    "ASSIGNING",
    "UPDATING",
    "COMPLETING",
    "COMPLETED",
    "CANCELING",
    "CANCELED",
    "FAILED",
];

pub static USER_TASK: Entity = Entity {
    title: "User Task",
    table: "user_task",
    fields: &[
        Field::new("userTaskKey", Kind::Key, Ops::PLAIN),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM),
        Field::new("assignee", Kind::Text, Ops::TEXT),
        Field::new("elementId", Kind::Text, Ops::PLAIN),
        Field::new("candidateGroups", Kind::Json, Ops::NONE),
        Field::new("candidateUsers", Kind::Json, Ops::NONE),
        Field::new("processDefinitionId", Kind::Text, Ops::PLAIN),
        Field::new("creationDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("completionDate", Kind::Time, Ops::ORDERED)
            .sortable()
            .rarely_absent(),
        Field::new("followUpDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("dueDate", Kind::Time, Ops::ORDERED).sortable(),
        tenant(Ops::TEXT),
        Field::new("externalFormReference", Kind::Text, Ops::NONE),
        Field::new("processDefinitionVersion", Kind::Int, Ops::NONE),
        Field::new("customHeaders", Kind::Json, Ops::NONE),
        Field::new("priority", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::PLAIN),
        Field::new("processName", Kind::Text, Ops::NONE),
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN),
        Field::new("processInstanceKey", Kind::Key, Ops::PLAIN),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("formKey", Kind::Key, Ops::NONE),
        Field::new("tags", Kind::Json, Ops::NONE),
        // Added in 8.10: the business ID of the process instance.
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[
        RelatedFilter {
            name: "processInstanceVariables",
            entity: || &VARIABLE,
            own: "processInstanceKey",
            link: "scopeKey",
            field: "value",
            ops: Ops::TEXT,
            takes: Takes::NamedValues,
            group: 0,
            only: None,
        },
        RelatedFilter {
            name: "localVariables",
            entity: || &VARIABLE,
            own: "elementInstanceKey",
            link: "scopeKey",
            field: "value",
            ops: Ops::TEXT,
            takes: Takes::NamedValues,
            group: 0,
            only: None,
        },
    ],
    items: &[
        ("tags", "tags", Kind::Text),
        ("candidateGroup", "candidateGroups", Kind::Text),
        ("candidateUser", "candidateUsers", Kind::Text),
    ],
    indices: &[
        &["processInstanceKey"],
        &["state", "assignee"],
        &["creationDate"],
        // Open tasks.
        &["completionDate"],
        &["tenantId"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
