//! Incidents count for their element instance, its enclosing scopes, the process instance, and the callers of that instance.

use skep_exporting::TargetError;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::{Entity, Value};

use super::{Stored, current};
use crate::changes::{Changes, IncidentDelta};

/// Limit for nested scopes and called instances. The engine bounds their depth itself.
const MAX_DEPTH: usize = 100_000;

const COUNT: usize = ELEMENT_INSTANCE.column("activeIncidents");
const HAS: usize = ELEMENT_INSTANCE.column("hasIncident");
const SCOPE: usize = ELEMENT_INSTANCE.column("elementInstanceScopeKey");
const OWN: usize = ELEMENT_INSTANCE.column("incidentKey");
const COUNT_OF_PROCESS: usize = PROCESS_INSTANCE.column("activeIncidents");
const HAS_OF_PROCESS: usize = PROCESS_INSTANCE.column("hasIncident");
const CALLER: usize = PROCESS_INSTANCE.column("parentElementInstanceKey");

/// An element or process instance for which incidents are counted.
struct Counted {
    is_element: bool,
    before: i64,
    /// The enclosing scope or the caller.
    around: Option<i64>,
    delta: i64,
}

pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let deltas = std::mem::take(&mut changes.incidents);
    if deltas.is_empty() {
        return Ok(());
    }
    let mut counted: FxHashMap<i64, Counted> = FxHashMap::default();
    let mut level: BTreeMap<i64, i64> = BTreeMap::new();
    for delta in &deltas {
        *level.entry(delta.element_instance_key.0).or_default() += delta.delta;
    }
    for _ in 0..MAX_DEPTH {
        if level.is_empty() {
            break;
        }
        meet(changes, stored, &mut counted, level.keys().copied())?;
        let mut next: BTreeMap<i64, i64> = BTreeMap::new();
        for (key, delta) in level {
            if let Some(one) = counted.get_mut(&key) {
                one.delta += delta;
                if let Some(around) = one.around {
                    *next.entry(around).or_default() += delta;
                }
            }
        }
        level = next;
    }
    mark(changes, &deltas, |key| {
        counted.get(&key).is_some_and(|one| one.is_element)
    });
    for (key, one) in counted {
        let count = (one.before + one.delta).max(0);
        let (entity, number, has): (&'static Entity, _, _) = if one.is_element {
            (&ELEMENT_INSTANCE, COUNT, HAS)
        } else {
            (&PROCESS_INSTANCE, COUNT_OF_PROCESS, HAS_OF_PROCESS)
        };
        changes.put(entity, Key(key), number, Value::Int(count));
        changes.put(entity, Key(key), has, Value::from(count > 0));
    }
    Ok(())
}

/// Adds instances that have not been visited yet.
fn meet(
    changes: &Changes,
    stored: &dyn Stored,
    counted: &mut FxHashMap<i64, Counted>,
    keys: impl Iterator<Item = i64>,
) -> Result<(), TargetError> {
    let mut new: BTreeSet<i64> = keys.filter(|key| !counted.contains_key(key)).collect();
    // An element directly in the process has the process instance as its scope.
    let kinds: [(&'static Entity, [usize; 2]); 2] = [
        (&ELEMENT_INSTANCE, [COUNT, SCOPE]),
        (&PROCESS_INSTANCE, [COUNT_OF_PROCESS, CALLER]),
    ];
    for (entity, columns) in kinds {
        for (key, row) in current(changes, stored, entity, &new, &columns)? {
            new.remove(&key);
            let column = |at: usize| row.get(at).and_then(Value::as_int);
            let one = Counted {
                is_element: std::ptr::eq(entity, &ELEMENT_INSTANCE),
                before: column(0).unwrap_or_default(),
                around: column(1),
                delta: 0,
            };
            counted.insert(key, one);
        }
    }
    Ok(())
}

/// Sets the incident of an element instance.
fn mark(changes: &mut Changes, deltas: &[IncidentDelta], is_known: impl Fn(i64) -> bool) {
    for delta in deltas {
        if is_known(delta.element_instance_key.0) {
            let own = if delta.delta > 0 {
                Value::Int(delta.incident_key.0)
            } else {
                Value::Null
            };
            changes.put(&ELEMENT_INSTANCE, delta.element_instance_key, OWN, own);
        }
    }
}
