//! Timers of start events: when a process starts next by itself.

use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// One row for each start event with a timer, not for each time that it fires.
pub static START_TIMER: Entity = Entity {
    title: "Start Timer",
    table: "start_timer",
    fields: &[
        // The identifying columns joined in one text.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN),
        Field::new("processDefinitionId", Kind::Text, Ops::PLAIN),
        tenant(Ops::PLAIN),
        Field::new("elementId", Kind::Text, Ops::PLAIN),
        Field::new("dueDate", Kind::Time, Ops::ORDERED).sortable(),
        // Number of times that it still fires, the next time included; -1: without limit.
        Field::new("repetitions", Kind::Int, Ops::NONE),
        // Whether it waits for its time.
        Field::new("isOpen", Kind::Bool, Ops::PLAIN),
    ],
    related: &[],
    items: &[],
    indices: &[&["processDefinitionKey"], &["tenantId", "id"]],
    everywhere: false,
    // With the history of their definition.
    leaves: Leaves::Never,
};
