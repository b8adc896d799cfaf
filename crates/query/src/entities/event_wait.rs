//! Timers, signals and conditions that element instances wait, or waited, for. The API has no search for them; they tell why an instance
//! does not go on.

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
        Field::new("isOpen", Kind::Bool, Ops::PLAIN),
    ],
    related: &[],
    items: &[],
    indices: &[&["processInstanceKey"]],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
