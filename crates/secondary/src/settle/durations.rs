//! Element durations: looks up start times that the window does not contain, and turns the counts into rows.

use skep_exporting::TargetError;
use std::collections::BTreeSet;

use skep_query::Value;
use skep_query::durations::COUNTS;
use skep_query::entities::{self, ELEMENT_DURATION, ELEMENT_DURATION_COUNTS, ELEMENT_INSTANCE};

use super::{Stored, current};
use crate::changes::{Changes, Lasted, OnDay, Took};

const NUMBER: usize = entities::number(&ELEMENT_DURATION);
pub const STARTED: usize = ELEMENT_INSTANCE.column("startDate");
const COLUMNS: usize = ELEMENT_DURATION_COUNTS + COUNTS.len();

/// All columns of each row are set, so that a single statement can write all rows.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let Took {
        mut lasted,
        lasting,
    } = std::mem::take(&mut changes.took);
    let keys: BTreeSet<i64> = lasting.iter().map(|one| one.key.0).collect();
    let begun = current(changes, stored, &ELEMENT_INSTANCE, &keys, &[STARTED])?;
    for one in &lasting {
        // The store may be newer than the instance.
        let started = begun.get(&one.key.0).and_then(|row| row.first()?.as_int());
        if let (Some(started), Some(lasted)) = (started, lasted.get_mut(&one.on)) {
            lasted.durations.add(one.ended.saturating_sub(started));
        }
    }
    for (on, lasted) in &lasted {
        if lasted.durations.count() > 0 {
            let (row, _) = changes.text_row(NUMBER, &lasted.id);
            changes.merge(NUMBER, row, columns(*on, lasted));
        }
    }
    Ok(())
}

fn columns(((definition, _), day): OnDay, lasted: &Lasted) -> [(usize, Value); COLUMNS] {
    let durations = &lasted.durations;
    let first = [
        Value::text(&lasted.id),
        Value::Int(day),
        Value::Int(definition.0),
        lasted.process_id.clone(),
        lasted.tenant.clone(),
        Value::Text(lasted.element_id.clone()),
        Value::Int(durations.shortest),
        Value::Int(durations.longest),
    ];
    let mut values = first
        .into_iter()
        .chain(durations.counts.map(Value::Int))
        .enumerate();
    std::array::from_fn(|_| values.next().unwrap_or_default())
}
