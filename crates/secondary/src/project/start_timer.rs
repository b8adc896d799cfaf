//! Timers of start events. Each start event has at most one that waits, so it has one row: a timer that fires every second leaves no
//! others behind.

use std::fmt::Write as _;

use skep_protocol::intent::TimerIntent;
use skep_protocol::value::TimerValue;
use skep_query::Value;
use skep_query::entities::{self, START_TIMER};

use super::{Projection, key};
use crate::changes::set;

pub fn changed(to: &mut Projection<'_>, intent: TimerIntent, value: &TimerValue) {
    const NUMBER: usize = entities::number(&START_TIMER);
    let is_open = match intent {
        TimerIntent::Created => true,
        TimerIntent::Triggered | TimerIntent::Canceled => false,
        _ => return,
    };
    let location = to.location(value.process_definition_key, value.target_element);
    to.text.clear();
    // Each partition has rows of its own, even in a shared database.
    let _ = write!(
        to.text,
        "{}:{}:{}",
        to.partition, value.process_definition_key, value.target_element
    );
    let (row, id) = to.changes.text_row(NUMBER, to.text);
    if let Some(id) = id {
        set!(to.changes, START_TIMER, row, {
            "id": Value::Text(id),
            "processDefinitionKey": key(value.process_definition_key),
            "processDefinitionId": location.process_id(),
            "tenantId": location.tenant(),
            "elementId": location.element_id(),
        });
    }
    set!(to.changes, START_TIMER, row, {
        "dueDate": Value::Int(value.due_date),
        // A cycle of none fires once.
        "repetitions": Value::Int(if value.repetitions == 0 { 1 } else { value.repetitions.into() }),
        "isOpen": Value::from(is_open),
    });
}
