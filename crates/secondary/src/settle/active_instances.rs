//! How many instances of each definition are active: what a window changes in these counts.

use skep_exporting::TargetError;

use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{COUNTED_BY, Value};

use super::Stored;
use super::counted::{CountedRows, add};
use crate::changes::{ActiveCounts, Changes, OfDefinition};

pub static ROWS: CountedRows<{ 2 + COUNTED_BY.len() }> = {
    let [definition, id, name, version, tenant] = COUNTED_BY;
    CountedRows {
        entity: &PROCESS_INSTANCE,
        columns: [
            PROCESS_INSTANCE.column("state"),
            PROCESS_INSTANCE.column("hasIncident"),
            definition,
            id,
            name,
            version,
            tenant,
        ],
    }
};

/// Comes after everything that changes process instances.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let mut counts = std::mem::take(&mut changes.counted.active_instances);
    ROWS.count(changes, stored, |[state, incident, of @ ..], by| {
        // Those that ended count for nothing, nor do those that are older than the store, whose state it does not know.
        if state.and_then(Value::as_text) == Some("ACTIVE") {
            let of: OfDefinition = of.map(|value| value.cloned().unwrap_or_default());
            add(&mut counts, of, incident, by);
        }
    })?;
    counts.retain(|_, counts| *counts != ActiveCounts::default());
    changes.counted.active_instances = counts;
    Ok(())
}
