//! Timers, signals and conditions that element instances wait, or waited, for. The API has no search for them alone; they tell why
//! an instance does not go on.

use super::element_instance::ELEMENT_TYPES;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static EVENT_WAIT: Entity = Entity {
    title: "Event",
    table: "event_wait",
    fields: &[
        Field::new("key", Kind::Key, Ops::PLAIN),
        Field::new(
            "kind",
            Kind::Enum(&["TIMER", "SIGNAL", "CONDITION"]),
            Ops::PLAIN,
        ),
        Field::new("elementInstanceKey", Kind::Key, Ops::PLAIN),
        Field::new("processInstanceKey", Kind::Key, Ops::PLAIN),
        // The event itself: a boundary event stands at the element instance.
        Field::new("elementId", Kind::Text, Ops::PLAIN),
        Field::new("dueDate", Kind::Time, Ops::PLAIN),
        Field::new("signalName", Kind::Text, Ops::PLAIN),
        Field::new("condition", Kind::Text, Ops::PLAIN),
        Field::new("creationTime", Kind::Time, Ops::PLAIN),
        Field::new("isOpen", Kind::Bool, Ops::PLAIN).rarely_true(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("processDefinitionId", Kind::Text, Ops::NONE),
        Field::new("tenantId", Kind::Text, Ops::NONE),
        Field::new("elementType", Kind::Enum(ELEMENT_TYPES), Ops::NONE),
        // How often a timer still fires, this time included; -1 for ever.
        Field::new("repetitions", Kind::Int, Ops::NONE),
        // Changes of variables that count for a condition.
        Field::new("conditionEvents", Kind::Json, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[&["processInstanceKey"], &["isOpen"]],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
