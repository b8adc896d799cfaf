//! Global task listeners, which apply to the user tasks of all processes.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

const EVENTS: &[&str] = &[
    "all",
    "creating",
    "assigning",
    "updating",
    "completing",
    "canceling",
];

pub static GLOBAL_TASK_LISTENER: Entity = Entity {
    title: "Global Task Listener",
    table: "global_task_listener",
    fields: &[
        Field::new("globalTaskListenerKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("id", Kind::Text, Ops::TEXT).sortable(),
        Field::new("type", Kind::Text, Ops::TEXT).sortable(),
        Field::new("retries", Kind::Int, Ops::ORDERED),
        Field::new("eventTypes", Kind::Json, Ops::ENUM),
        Field::new("afterNonGlobal", Kind::Bool, Ops::PLAIN).sortable(),
        Field::new("priority", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("source", Kind::Enum(&["CONFIGURATION", "API"]), Ops::ENUM).sortable(),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[("eventTypes", "eventTypes", Kind::Enum(EVENTS))],
    indices: &[],
    everywhere: true,
    leaves: Leaves::When("isDeleted"),
};
