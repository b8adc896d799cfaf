//! "Nothing is ever stuck silently": every element instance waits for something that can happen, or has an incident.

use std::collections::HashMap;

use skep_engine::Engine;
use skep_engine::state::{ElementInstance, Row, read_row};
use skep_model::ElementKind;
use skep_protocol::Key;

fn rows(engine: &Engine) -> HashMap<Key, ElementInstance> {
    let mut rows: HashMap<Key, ElementInstance> = HashMap::new();
    for ((table, key), row) in engine.state.dump() {
        if table == ElementInstance::TABLE {
            let key = Key(i64::from_be_bytes(key.try_into().unwrap()));
            rows.insert(key, read_row(&row).unwrap());
        }
    }
    rows
}

/// Keys of the root instances.
pub fn roots(engine: &Engine) -> Vec<Key> {
    let rows = rows(engine);
    let mut roots: Vec<Key> = rows
        .iter()
        .filter(|(_, r)| r.flow_scope_key.is_none() && r.parent_element_instance_key().is_none())
        .map(|(key, _)| *key)
        .collect();
    roots.sort();
    roots
}

pub fn check(engine: &mut Engine) {
    let rows = rows(engine);
    for (key, row) in &rows {
        if engine.state.banned.contains(row.process_instance_key) {
            continue;
        }
        let extra = row.extra.clone().unwrap_or_default();
        for incident in &extra.incidents {
            let incident = engine.state.incidents.get(*incident);
            let job = incident.and_then(|incident| incident.job_key.some());
            if let Some(job) = job {
                let is_there = engine.state.jobs.get(job).is_some();
                assert!(
                    is_there,
                    "an incident of {key} names the job {job}, which is gone"
                );
            }
        }
        let children = rows.values().filter(|r| r.flow_scope_key == *key).count();
        assert_eq!(row.active_children as usize, children, "children of {key}");
        let job = row.job_key.some().is_some() && engine.state.jobs.get(row.job_key).is_some();
        let waits = children > 0
            || job
            || !extra.timers.is_empty()
            || !extra.subscriptions.is_empty()
            || !extra.signals.is_empty()
            || !extra.conditions.is_empty()
            || !extra.incidents.is_empty()
            || waits_for_its_user(engine, extra.user_task)
            || engine.state.compensations.goes_on(*key, None)
            || rows.contains_key(&extra.called_instance);
        let process = engine.state.processes.get(row.process_definition_key);
        let element = process.map(|process| &process.graph.elements[row.element as usize]);
        // It waits for the activation of its elements.
        let waits = waits
            || element
                .is_some_and(|element| matches!(element.kind, ElementKind::AdHocSubProcess(_)));
        let id = element.map(|element| element.id.clone());
        assert!(waits, "element {id:?} ({key}) waits for nothing: {row:#?}");
    }
}

/// A task in a transition waits for its listeners, which are jobs.
fn waits_for_its_user(engine: &mut Engine, task: Key) -> bool {
    let task = engine.state.user_tasks.get(task);
    task.is_some_and(|task| task.transition.is_none())
}
