//! Timers, signals and conditions that element instances wait for, or waited for. The API has no search for them alone; they
//! explain why an instance does not continue.

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
        // The event itself. The element instance of a boundary event is the one it is attached to.
        Field::new("elementId", Kind::Text, Ops::PLAIN),
        Field::new("dueDate", Kind::Time, Ops::PLAIN),
        Field::new("signalName", Kind::Text, Ops::PLAIN),
        Field::new("condition", Kind::Text, Ops::PLAIN),
        Field::new("creationTime", Kind::Time, Ops::PLAIN),
        Field::new("isOpen", Kind::Bool, Ops::PLAIN).rarely_true(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("processDefinitionId", Kind::Text, Ops::NONE),
        Field::new("tenantId", Kind::Text, Ops::NONE).tenant(),
        Field::new("elementType", Kind::Enum(ELEMENT_TYPES), Ops::NONE),
        // Number of times a timer still fires, this time included; -1: without limit.
        Field::new("repetitions", Kind::Int, Ops::NONE),
        // The kinds of variable changes that trigger a condition.
        Field::new("conditionEvents", Kind::Json, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[&["processInstanceKey"], &["isOpen"], &["tenantId"]],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
