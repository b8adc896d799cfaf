//! How many instances stand at each element: what a window changes in these counts.
//!
//! The counts follow the rows: whatever a row counted for before is subtracted, and what it counts for now is added. So they are exact
//! however an instance moved, as long as rows and counts are stored in one transaction.

use skep_exporting::TargetError;

use rustc_hash::FxHashMap;
use skep_query::entities::ELEMENT_INSTANCE;
use skep_query::{Row, Value};

use super::{Stored, look_up_in};
use crate::changes::{ActiveElements, Changes, Place};

/// What a row counts for depends on these columns.
const COLUMNS: [usize; 4] = [
    ELEMENT_INSTANCE.column("state"),
    ELEMENT_INSTANCE.column("hasIncident"),
    ELEMENT_INSTANCE.column("processDefinitionKey"),
    ELEMENT_INSTANCE.column("elementId"),
];
const KEY_AND_COLUMNS: [usize; 5] = {
    let [state, incident, definition, element] = COLUMNS;
    [0, state, incident, definition, element]
};
const MASK: u64 = {
    let [state, incident, definition, element] = COLUMNS;
    1 << state | 1 << incident | 1 << definition | 1 << element
};
const BEGUN: u64 = 1 << ELEMENT_INSTANCE.column("startDate");

/// Comes after everything that changes element instances.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    if !stored.counts_active_elements() {
        return Ok(());
    }
    let mut active_elements = std::mem::take(&mut changes.counted.active_elements);
    let Some(rows) = changes.rows_of(&ELEMENT_INSTANCE) else {
        return Ok(());
    };
    let mut earlier = Vec::new();
    for row in rows.iter().filter(|row| row.mask & MASK != 0) {
        if row.mask & BEGUN != 0 {
            let now = COLUMNS.map(|column| row.values.get(column));
            count(&mut active_elements, now, 1);
        } else {
            earlier.push(Value::Int(row.key));
        }
    }
    let found: Vec<Row> = look_up_in(stored, &ELEMENT_INSTANCE, 0, &earlier, &KEY_AND_COLUMNS)?;
    for before in &found {
        let [Value::Int(key), state, incident, definition, element] = before.as_slice() else {
            continue;
        };
        let Some(row) = rows.get(*key) else {
            continue;
        };
        let before = [state, incident, definition, element];
        let mut now = before.map(Some);
        for (value, column) in now.iter_mut().zip(COLUMNS) {
            if row.mask & (1 << column) != 0 {
                *value = row.values.get(column);
            }
        }
        count(&mut active_elements, before.map(Some), -1);
        count(&mut active_elements, now, 1);
    }
    active_elements.retain(|_, counts| *counts != ActiveElements::default());
    changes.counted.active_elements = active_elements;
    Ok(())
}

/// Adds a row with these values of [`COLUMNS`] to the counts. Those that ended, and those whose element is not known, count for nothing.
fn count(
    active_elements: &mut FxHashMap<Place, ActiveElements>,
    row: [Option<&Value>; 4],
    by: i64,
) {
    let [
        Some(Value::Text(state)),
        incident,
        Some(Value::Int(definition)),
        Some(Value::Text(element)),
    ] = row
    else {
        return;
    };
    if &**state != "ACTIVE" {
        return;
    }
    let counts = active_elements
        .entry((*definition, element.clone()))
        .or_default();
    if incident.and_then(Value::as_int) == Some(1) {
        counts.incidents += by;
    } else {
        counts.active += by;
    }
}
