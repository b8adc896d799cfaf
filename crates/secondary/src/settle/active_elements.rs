//! How many instances stand at each element: what a window changes in these counts.

use skep_exporting::TargetError;

use skep_query::Value;
use skep_query::entities::ELEMENT_INSTANCE;

use super::Stored;
use super::counted::{CountedRows, add};
use crate::changes::{ActiveCounts, Changes};

pub static ROWS: CountedRows<4> = CountedRows {
    entity: &ELEMENT_INSTANCE,
    columns: [
        ELEMENT_INSTANCE.column("state"),
        ELEMENT_INSTANCE.column("hasIncident"),
        ELEMENT_INSTANCE.column("processDefinitionKey"),
        ELEMENT_INSTANCE.column("elementId"),
    ],
};

/// Comes after everything that changes element instances.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let mut counts = std::mem::take(&mut changes.counted.active_elements);
    ROWS.count(changes, stored, |row, by| {
        // Those that ended, and those whose element is not known, count for nothing.
        let [
            Some(Value::Text(state)),
            incident,
            Some(Value::Int(definition)),
            Some(Value::Text(element)),
        ] = row
        else {
            return;
        };
        if &**state == "ACTIVE" {
            add(&mut counts, (*definition, element.clone()), incident, by);
        }
    })?;
    counts.retain(|_, counts| *counts != ActiveCounts::default());
    changes.counted.active_elements = counts;
    Ok(())
}
