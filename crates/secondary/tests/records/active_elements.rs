//! Counts of active elements and instances: after any sequence of records they are what a scan of all rows counts.
//!
//! `SKEP_SEEDS=500 cargo test -p skep-secondary --test records active_elements` tries more sequences; `SKEP_SEED=7` only this one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::{BatchCommand, Command};
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::{ActiveElements, Answer, Query};
use skep_random::Random;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow};

use super::active_instances;

/// By element: active ones without and with incidents of their own.
pub type Counts = BTreeMap<String, [i64; 2]>;

/// Two elements at once, and an instance that calls another: an incident stands beside an element without one, and above another.
fn process(id: &str, suffix: &str) -> Bpmn {
    let named = |name: &str| format!("{name}{suffix}");
    Bpmn::process(id)
        .start(named("start"))
        .parallel(named("fork"))
        .service_task(named("one"), "work")
        .service_task(named("then"), "work")
        .end(named("end"))
        .from(&named("fork"))
        .call_activity(named("call"), "called")
        .end(named("end-of-call"))
}

pub fn deployed() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    let called = Bpmn::process("called")
        .start("start")
        .service_task("task", "work")
        .end("end");
    rig.deploy(called);
    rig.deploy(process("p", ""));
    rig.deploy(process("q", "-new"));
    rig
}

fn one_of<T: Copy>(random: &mut Random, of: &[T]) -> Option<T> {
    let at = random.below(of.len().max(1) as u64);
    of.get(at as usize).copied()
}

fn job_of(rig: &Rig, incident: Key) -> Key {
    let mut incidents = rig.events("INCIDENT");
    let found = incidents.find(|record| record.key == incident);
    let job = found.and_then(|record| record.field("jobKey").as_i64());
    Key(job.expect("the key of a job"))
}

pub fn deletion(resource_key: Key) -> Command {
    Command::Batch(BatchCommand::DeleteHistory(HistoryDeletionValue {
        resource_key,
        kind: HistoryDeletionType::ProcessInstance,
    }))
}

/// Creates, completes, fails, resolves, cancels, deletes or migrates something; whatever is refused changes nothing.
pub fn step(rig: &mut Rig, random: &mut Random) {
    let open = rig.open_instances();
    match random.below(12) {
        0..=2 => drop(rig.create("p", "{}")),
        3 => {
            // It begins and ends in one window.
            let instance = rig.create("p", "{}");
            let _ = rig.cancel(instance);
        }
        4..=6 => {
            for job in rig.jobs("work") {
                match random.below(4) {
                    0 => rig.fail(&job, 0, 0),
                    1 => rig.fail(&job, 1, 0),
                    _ => rig.complete(&job, "{}"),
                }
            }
        }
        7 | 8 => {
            for incident in rig.incidents() {
                if random.below(2) == 0 {
                    let job = job_of(rig, incident.key);
                    let _ = rig.set_retries(job, 1);
                    let _ = rig.resolve(incident.key);
                }
            }
        }
        9 => {
            if let Some(instance) = one_of(random, &open) {
                let _ = rig.cancel(instance);
                if random.below(2) == 0 {
                    let _ = rig.send(deletion(instance));
                }
            }
        }
        _ => {
            if let Some(instance) = one_of(random, &open) {
                let pairs = [
                    ("one", "one-new"),
                    ("then", "then-new"),
                    ("call", "call-new"),
                ];
                let _ = rig.migrate(instance, "q", &pairs);
            }
        }
    }
}

/// What the rows say, about the elements of a definition, of instances with or without incidents, or of all.
pub fn scanned(store: &Filled, definition: Key, has_incident: Option<bool>) -> Counts {
    let instances = store.find(&PROCESS_INSTANCE, r#"{"state": "ACTIVE"}"#);
    let of = |row: &Json| row["processInstanceKey"].as_str().map(String::from);
    let wanted = |row: &&Json| has_incident.is_none_or(|has| row["hasIncident"] == has);
    let instances: BTreeSet<_> = instances.iter().filter(wanted).filter_map(of).collect();
    let filter = format!(r#"{{"state": "ACTIVE", "processDefinitionKey": "{definition}"}}"#);
    let mut counts = Counts::new();
    for row in store.find(&ELEMENT_INSTANCE, &filter) {
        if of(&row).is_some_and(|instance| instances.contains(&instance)) {
            let id = row["elementId"].as_str().expect("an ID").to_string();
            counts.entry(id).or_default()[usize::from(row["hasIncident"] == true)] += 1;
        }
    }
    counts
}

fn rows(store: &Filled, query: Query) -> Vec<(String, Vec<i64>)> {
    let Answer::Rows(rows) = store.ask(query) else {
        panic!("no rows");
    };
    let row = |row: Vec<skep_query::Value>| {
        let (id, counts) = row.split_first().expect("columns");
        let counts = counts.iter().map(|count| count.as_int().expect("a count"));
        (id.as_text().expect("an ID").to_string(), counts.collect())
    };
    rows.into_iter().map(row).collect()
}

pub fn counted(store: &Filled, definition: Key, has_incident: Option<bool>) -> Counts {
    let asked = ActiveElements {
        definition,
        has_incident,
    };
    let found = rows(store, Query::Groups(asked.groups())).into_iter();
    found
        .map(|(id, counts)| (id, [counts[0], counts[1]]))
        .collect()
}

/// The active ones among the statistics of all instances.
pub fn among_all(store: &Filled, definition: Key) -> Counts {
    let query = Query::DefinitionStatistics {
        process_definition_key: definition,
    };
    let found = rows(store, query).into_iter();
    let active = found.map(|(id, counts)| (id, [counts[0], counts[2]]));
    active.filter(|(_, counts)| *counts != [0, 0]).collect()
}

/// Checks all counts; returns how many instances with and without incidents there were.
#[track_caller]
fn check(rig: &Rig, store: &Filled, seed: u64) -> [i64; 2] {
    let mut seen = [0, 0];
    for process in ["called", "p", "q"] {
        let definition = rig.definition(process);
        for has_incident in [None, Some(false), Some(true)] {
            let scanned = scanned(store, definition, has_incident);
            let found = counted(store, definition, has_incident);
            assert_eq!(found, scanned, "seed {seed}: {process}, {has_incident:?}");
            for counts in scanned.values().filter(|_| has_incident == Some(true)) {
                seen = [seen[0] + counts[0], seen[1] + counts[1]];
            }
        }
        let scanned = scanned(store, definition, None);
        assert_eq!(
            among_all(store, definition),
            scanned,
            "seed {seed}: {process}"
        );
    }
    let instances = active_instances::counted(store);
    assert_eq!(instances, active_instances::scanned(store), "seed {seed}");
    seen
}

/// A random sequence of records, with a store that is closed in the midst and opened again.
fn run(seed: u64) -> [i64; 2] {
    let window = [0, 5, 10_000][(seed % 3) as usize];
    let mut store = Filled::new(super::BACKEND, 1, Duration::from_millis(window));
    let (mut rig, mut random) = (deployed(), Random(seed));
    let mut seen = [0, 0];
    for n in 0..40 {
        step(&mut rig, &mut random);
        follow(&mut rig, &store);
        if n % 8 == 5 {
            // Some of the records are stored, and some must be read again.
            store = store.crashed();
        }
        if n % 10 == 9 {
            let [beside, stuck] = check(&rig, &store, seed);
            seen = [seen[0] + beside, seen[1] + stuck];
        }
    }
    seen
}

#[test]
fn counts_are_those_of_a_scan_after_any_sequence() {
    let seen = std::sync::Mutex::new([0, 0]);
    skep_sim::each(super::BACKEND.seeds(), |seed| {
        let [beside, stuck] = run(seed);
        let mut seen = seen.lock().unwrap();
        *seen = [seen[0] + beside, seen[1] + stuck];
    });
    let [beside, stuck] = seen.into_inner().unwrap();
    assert!(beside > 0 && stuck > 0, "{beside}, {stuck}");
}

#[test]
fn a_migrated_instance_stands_at_the_elements_of_its_new_definition() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = deployed();
    let [first, second] = [(); 2].map(|()| rig.create("p", "{}"));
    follow(&mut rig, &store);
    let (p, q) = (rig.definition("p"), rig.definition("q"));
    let both = |one: &str, call: &str, count| {
        Counts::from([
            (one.to_string(), [count, 0]),
            (call.to_string(), [count, 0]),
        ])
    };
    assert_eq!(counted(&store, p, None), both("one", "call", 2));
    let pairs = [("one", "one-new"), ("call", "call-new")];
    rig.migrate(first, "q", &pairs).unwrap();
    follow(&mut rig, &store);
    assert_eq!(counted(&store, p, None), both("one", "call", 1));
    assert_eq!(counted(&store, q, None), both("one-new", "call-new", 1));
    rig.cancel(first).unwrap();
    rig.cancel(second).unwrap();
    follow(&mut rig, &store);
    for definition in [p, q] {
        assert_eq!(counted(&store, definition, None), Counts::new());
    }
}

#[test]
fn an_incident_counts_at_its_element_and_above_and_not_beside_it() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = deployed();
    rig.create("p", "{}");
    rig.create("p", "{}");
    let (p, called) = (rig.definition("p"), rig.definition("called"));
    let jobs = rig.jobs("work");
    // One of the two instances called.
    let within = jobs
        .iter()
        .find(|job| job.process_definition_key == called)
        .expect("a job of an instance that was called")
        .clone();
    rig.fail(&within, 0, 0);
    follow(&mut rig, &store);
    let counts = |rows: &[(&str, [i64; 2])]| -> Counts {
        rows.iter()
            .map(|(id, counts)| (id.to_string(), *counts))
            .collect()
    };
    assert_eq!(counted(&store, called, None), counts(&[("task", [1, 1])]));
    assert_eq!(
        counted(&store, p, None),
        counts(&[("call", [1, 1]), ("one", [2, 0])])
    );
    assert_eq!(
        counted(&store, p, Some(true)),
        counts(&[("call", [0, 1]), ("one", [1, 0])])
    );
    assert_eq!(
        counted(&store, p, Some(false)),
        counts(&[("call", [1, 0]), ("one", [1, 0])])
    );
    let incident = rig.incident().key;
    rig.set_retries(within.key, 1).unwrap();
    rig.resolve(incident).unwrap();
    follow(&mut rig, &store);
    assert_eq!(counted(&store, p, Some(true)), Counts::new());
    assert_eq!(
        counted(&store, p, None),
        counts(&[("call", [2, 0]), ("one", [2, 0])])
    );
}
