//! Incidents count for their element instance, its enclosing scopes, the process instance, and the callers of that instance.

use skep_exporting::TargetError;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_INSTANCE, INCIDENT, PROCESS_INSTANCE};
use skep_query::{Condition, Entity, Op, Value};

use super::{CHUNK, Stored, current};
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
const INCIDENT_KEY: usize = INCIDENT.column("incidentKey");
const STATE: usize = INCIDENT.column("state");
const ELEMENT: usize = INCIDENT.column("elementInstanceKey");
const PROCESS: usize = INCIDENT.column("processInstanceKey");

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
    mark(changes, stored, &deltas, &counted)?;
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

/// Sets the incident of element instances: the newest one that is open.
fn mark(
    changes: &mut Changes,
    stored: &dyn Stored,
    deltas: &[IncidentDelta],
    counted: &FxHashMap<i64, Counted>,
) -> Result<(), TargetError> {
    let ended = deltas.iter().filter(|delta| delta.delta < 0);
    let resolved: FxHashSet<i64> = ended.map(|delta| delta.incident_key.0).collect();
    let mut newest: BTreeMap<i64, Option<i64>> = BTreeMap::new();
    for delta in deltas {
        let (element, incident) = (delta.element_instance_key.0, delta.incident_key.0);
        if counted.get(&element).is_some_and(|one| one.is_element) {
            let newest = newest.entry(element).or_default();
            let open = (!resolved.contains(&incident)).then_some(incident);
            *newest = open.max(*newest);
        }
    }
    // Incidents of this window are newer than stored ones. Few elements have several, or other ones within.
    let mut unknown: BTreeMap<i64, i64> = BTreeMap::new();
    for delta in deltas {
        let element = delta.element_instance_key.0;
        let counts = counted.get(&element);
        let has_more = counts.is_some_and(|one| one.before + one.delta > 0);
        if has_more && newest.get(&element).is_some_and(Option::is_none) {
            unknown.insert(element, delta.process_instance_key.0);
        }
    }
    for (element, incident) in open_ones(stored, &unknown)? {
        if let Some(newest) = newest.get_mut(&element)
            && !resolved.contains(&incident)
        {
            *newest = Some(incident).max(*newest);
        }
    }
    for (element, incident) in newest {
        let own = incident.map_or(Value::Null, Value::Int);
        changes.put(&ELEMENT_INSTANCE, Key(element), OWN, own);
    }
    Ok(())
}

/// Returns the stored open incidents of elements, as pairs of element and incident. `elements`: with their process instances, by which
/// incidents are indexed.
fn open_ones(
    stored: &dyn Stored,
    elements: &BTreeMap<i64, i64>,
) -> Result<Vec<(i64, i64)>, TargetError> {
    let elements: Vec<(i64, i64)> = elements.iter().map(|(own, of)| (*own, *of)).collect();
    let mut open = Vec::new();
    for chunk in elements.chunks(CHUNK) {
        let among = |field, keys: BTreeSet<i64>| Condition::Field {
            field,
            op: Op::In(keys.into_iter().map(Value::Int).collect()),
        };
        let conditions = vec![
            among(PROCESS, chunk.iter().map(|(_, process)| *process).collect()),
            among(ELEMENT, chunk.iter().map(|(element, _)| *element).collect()),
        ];
        let columns = [ELEMENT, INCIDENT_KEY, STATE];
        for row in stored.look_up(&INCIDENT, &conditions, &columns)? {
            if let [Value::Int(element), Value::Int(incident), state] = row.as_slice()
                && state.as_text() == Some("ACTIVE")
            {
                open.push((*element, *incident));
            }
        }
    }
    Ok(open)
}
