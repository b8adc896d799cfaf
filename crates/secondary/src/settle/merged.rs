//! Merges the values of columns with the stored ones.

use rustc_hash::FxHashMap;
use skep_exporting::TargetError;
use skep_protocol::Key;
use skep_query::{Entity, Merged, Value, entities};

use super::{Stored, look_up_in};
use crate::changes::Changes;

pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    for entity in entities::ALL {
        let fields = entity.fields.iter().enumerate();
        let merged: Vec<usize> = fields
            .filter(|(_, field)| field.merged != Merged::Replaced)
            .map(|(at, _)| at)
            .collect();
        if !merged.is_empty() {
            of_entity(changes, stored, entity, &merged)?;
        }
    }
    Ok(())
}

fn of_entity(
    changes: &mut Changes,
    stored: &dyn Stored,
    entity: &'static Entity,
    columns: &[usize],
) -> Result<(), TargetError> {
    // The window identifies rows by numbers, the store by keys, which may be texts.
    let (mut here, mut keys) = (FxHashMap::default(), Vec::new());
    for row in changes
        .rows_of(entity)
        .map(|rows| rows.sorted())
        .unwrap_or_default()
    {
        if let Some(key) = row.values.first() {
            here.insert(id(key), row.key);
            keys.push(key.clone());
        }
    }
    let with_key: Vec<usize> = std::iter::once(0).chain(columns.iter().copied()).collect();
    for found in look_up_in(stored, entity, 0, &keys, &with_key)? {
        let [key, values @ ..] = found.as_slice() else {
            continue;
        };
        let Some(row) = here.get(&id(key)) else {
            continue;
        };
        for (column, before) in columns.iter().zip(values) {
            let own = changes.rows_of(entity).and_then(|rows| rows.get(*row));
            let own = own.filter(|own| own.mask & (1 << column) != 0);
            if let Some(own) = own.and_then(|own| own.values.get(*column).cloned()) {
                let merged = entity.field(*column).merged.of(before, own);
                changes.put(entity, Key(*row), *column, merged);
            }
        }
    }
    Ok(())
}

fn id(key: &Value) -> String {
    match key {
        Value::Text(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Null => String::new(),
    }
}
