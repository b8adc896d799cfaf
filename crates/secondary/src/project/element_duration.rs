//! Durations of completed elements, counted by definition, element and day.
//!
//! Terminated elements are left out, because their full duration is unknown. So are multi-instance bodies, which share the ID
//! of the inner element: the ID stands for one iteration.

use skep_protocol::element_type::ElementType;
use skep_protocol::record::Record;
use skep_query::Durations;
use skep_query::entities::{self, ELEMENT_DURATION_SPAN, ELEMENT_INSTANCE};

use super::Projection;
use crate::changes::{At, Lasted, Lasting};

const ELEMENTS: usize = entities::number(&ELEMENT_INSTANCE);
const STARTED: usize = ELEMENT_INSTANCE.column("startDate");

pub fn completed(to: &mut Projection<'_>, record: &Record<'_>, at: At) {
    let ended = record.timestamp;
    let on = (at, ended - ended.rem_euclid(ELEMENT_DURATION_SPAN));
    if !to.changes.took.lasted.contains_key(&on) {
        let Some(lasted) = begin(to, at, on.1) else {
            return;
        };
        to.changes.took.lasted.insert(on, lasted);
    }
    let changes = &mut *to.changes;
    let row = changes.rows.get(ELEMENTS);
    let row = row.and_then(|rows| rows.get(record.key.0));
    let started = row.filter(|row| row.mask & (1 << STARTED) != 0);
    let started = started.and_then(|row| row.values.get(STARTED)?.as_int());
    match (started, changes.took.lasted.get_mut(&on)) {
        (Some(started), Some(lasted)) => lasted.durations.add(ended.saturating_sub(started)),
        _ => changes.took.lasting.push(Lasting {
            key: record.key,
            on,
            ended,
        }),
    }
}

/// `None`: the duration of this element is not recorded, or the definition is no longer known.
fn begin(to: &mut Projection<'_>, at: At, day: i64) -> Option<Lasted> {
    let location = to.location(at.0, at.1);
    let element = location.element()?;
    if element.element_type == ElementType::MultiInstanceBody {
        return None;
    }
    // Each partition has rows of its own, even in a shared database.
    let id = format!("{day}:{}:{}:{}", to.partition, at.0, element.id);
    Some(Lasted {
        id,
        process_id: location.process_id(),
        tenant: location.tenant(),
        element_id: element.id.clone(),
        durations: Durations::default(),
    })
}
