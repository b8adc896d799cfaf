//! Random processes: the rows of each entity always equal those derived from the records, and agree with the engine's state for everything
//! that is still active.
//!
//! `SKEP_SEEDS=500 cargo test -p skep-secondary --test records property` tries more processes; `SKEP_SEED=7` only this one.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;
use skep_protocol::Key;
use skep_query::entities::{
    DECISION_INSTANCE, ELEMENT_INSTANCE, INCIDENT, JOB, JOB_STATISTICS, JOB_STATISTICS_SPAN,
    MESSAGE_SUBSCRIPTION, PROCESS_INSTANCE, USER_TASK, VARIABLE,
};
use skep_query::{Entity, parse_time};

use skep_testkit::rig::{Rig, Seen};
use skep_testkit::stores::Filled;
use skep_testkit::story::{STEPS, Story};

/// Rows by their keys, with the columns that are compared.
type Rows = BTreeMap<String, Vec<String>>;

/// Expected rows, entity by entity, derived independently of the projections from the JSON that exporters see.
#[derive(Default)]
struct Expected {
    process_instances: Rows,
    element_instances: Rows,
    variables: Rows,
    jobs: Rows,
    incidents: Rows,
    user_tasks: Rows,
    subscriptions: Rows,
    decisions: usize,
    /// By minute, type and worker: created, completed, failed.
    counted: BTreeMap<(i64, String, String), [i64; 3]>,
}

impl Expected {
    fn take(&mut self, record: &Seen) {
        let key = record.key.to_string();
        if record.value_type == "JOB" {
            self.count(record);
        }
        let text = |name: &str| match record.field(name) {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        match (record.value_type, record.intent) {
            ("PROCESS_INSTANCE", intent) => self.lifecycle(record, intent, key),
            ("VARIABLE", "CREATED" | "UPDATED") => {
                let row = vec![text("scopeKey"), text("name"), text("value")];
                self.variables.insert(key, row);
            }
            ("JOB", "CREATED") => {
                let row = vec!["CREATED".to_string(), text("type"), text("elementId")];
                self.jobs.insert(key, row);
            }
            (
                "JOB",
                "COMPLETED" | "FAILED" | "CANCELED" | "ERROR_THROWN" | "TIMED_OUT"
                | "RETRIES_UPDATED",
            ) => self.jobs.get_mut(&key).expect("a job")[0] = record.intent.to_string(),
            ("INCIDENT", "CREATED") => {
                let row = vec!["ACTIVE".to_string(), text("errorType"), text("elementId")];
                self.incidents.insert(key, row);
            }
            ("INCIDENT", "RESOLVED") => {
                self.incidents.get_mut(&key).expect("an incident")[0] = "RESOLVED".to_string();
            }
            ("USER_TASK", intent) => self.user_task(record, intent, key),
            ("PROCESS_MESSAGE_SUBSCRIPTION", "CREATING") => {
                let row = vec!["CREATED".to_string(), text("messageName")];
                self.subscriptions.insert(key, row);
            }
            ("PROCESS_MESSAGE_SUBSCRIPTION", "CORRELATED") => {
                self.subscriptions.get_mut(&key).expect("a subscription")[0] =
                    "CORRELATED".to_string();
            }
            ("PROCESS_MESSAGE_SUBSCRIPTION", "DELETING") => {
                self.subscriptions.get_mut(&key).expect("a subscription")[0] =
                    "DELETED".to_string();
            }
            ("DECISION_EVALUATION", "EVALUATED" | "FAILED") => {
                let decisions = record.field("evaluatedDecisions").as_array();
                self.decisions += decisions.map_or(0, Vec::len);
            }
            _ => {}
        }
    }

    fn count(&mut self, record: &Seen) {
        let of = ["CREATED", "COMPLETED", "FAILED"];
        let Some(at) = of.iter().position(|intent| *intent == record.intent) else {
            return;
        };
        let time = record.json["timestamp"].as_i64().expect("a time");
        let text = |name: &str| record.text(name).to_string();
        let minute = time / JOB_STATISTICS_SPAN * JOB_STATISTICS_SPAN;
        let about = (minute, text("type"), text("worker"));
        self.counted.entry(about).or_default()[at] += 1;
    }

    fn lifecycle(&mut self, record: &Seen, intent: &str, key: String) {
        let is_process = record.key == record.instance();
        let rows = if is_process {
            &mut self.process_instances
        } else {
            &mut self.element_instances
        };
        match intent {
            "ELEMENT_ACTIVATING" => {
                let name = if is_process {
                    record.text("bpmnProcessId")
                } else {
                    record.text("elementId")
                };
                rows.insert(key, vec!["ACTIVE".to_string(), name.to_string()]);
            }
            "ELEMENT_COMPLETED" => rows.get_mut(&key).expect("it began")[0] = "COMPLETED".into(),
            "ELEMENT_TERMINATED" => rows.get_mut(&key).expect("it began")[0] = "TERMINATED".into(),
            _ => {}
        }
    }

    fn user_task(&mut self, record: &Seen, intent: &str, key: String) {
        let (state, holds) = match intent {
            "CREATING" => ("CREATING", true),
            "ASSIGNING" | "CLAIMING" => ("ASSIGNING", false),
            "UPDATING" | "COMPLETING" => (intent, false),
            "CANCELING" | "CANCELED" => (intent, false),
            "CREATED" | "ASSIGNED" | "UPDATED" => ("CREATED", true),
            "ASSIGNMENT_DENIED" | "UPDATE_DENIED" | "COMPLETION_DENIED" => ("CREATED", false),
            "COMPLETED" => ("COMPLETED", true),
            _ => return,
        };
        let row = self.user_tasks.entry(key).or_default();
        row.resize(2, String::new());
        row[0] = state.to_string();
        if holds {
            row[1] = record.text("assignee").to_string();
        }
    }
}

fn stored(store: &Filled, entity: &'static Entity, columns: &[&str]) -> Rows {
    let text = |value: &Json| match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = store.find(entity, "{}").into_iter();
    let row = |row: Json| {
        let values = columns.iter().map(|column| text(&row[*column]));
        (text(&row[entity.key().name]), values.collect())
    };
    rows.map(row).collect()
}

fn compare(rig: &Rig, expected: &Expected, store: &Filled, seed: u64) {
    let same = |entity: &'static Entity, rows: &Rows, columns: &[&str]| {
        let found = stored(store, entity, columns);
        assert_eq!(&found, rows, "seed {seed}: {}", entity.title);
    };
    same(
        &PROCESS_INSTANCE,
        &expected.process_instances,
        &["state", "processDefinitionId"],
    );
    same(
        &ELEMENT_INSTANCE,
        &expected.element_instances,
        &["state", "elementId"],
    );
    same(
        &VARIABLE,
        &expected.variables,
        &["scopeKey", "name", "value"],
    );
    same(&JOB, &expected.jobs, &["state", "type", "elementId"]);
    same(
        &INCIDENT,
        &expected.incidents,
        &["state", "errorType", "elementId"],
    );
    same(&USER_TASK, &expected.user_tasks, &["state", "assignee"]);
    same(
        &MESSAGE_SUBSCRIPTION,
        &expected.subscriptions,
        &["messageSubscriptionState", "messageName"],
    );
    assert_eq!(
        store.find(&DECISION_INSTANCE, "{}").len(),
        expected.decisions,
        "seed {seed}"
    );
    let counted = store.find(&JOB_STATISTICS, "{}").into_iter().map(|row| {
        let text = |name: &str| row[name].as_str().expect("a text").to_string();
        let start = parse_time(&text("startTime")).expect("a time");
        let counts = ["created", "completed", "failed"];
        let counts = counts.map(|name| row[name].as_i64().unwrap_or(0));
        ((start, text("jobType"), text("worker")), counts)
    });
    let counted: BTreeMap<_, _> = counted.collect();
    assert_eq!(counted, expected.counted, "seed {seed}");
    // The state contains active instances only.
    let mut open: Vec<String> = rig.open_instances().iter().map(Key::to_string).collect();
    open.sort_unstable();
    let active = r#"{"state": "ACTIVE", "parentProcessInstanceKey": {"$exists": false}}"#;
    let active = store.find(&PROCESS_INSTANCE, active);
    let mut active: Vec<String> = active
        .iter()
        .map(|row| row["processInstanceKey"].as_str().unwrap().to_string())
        .collect();
    active.sort_unstable();
    assert_eq!(active, open, "seed {seed}: open instances");
    // An instance is marked while it, or an instance that it called, has an open incident.
    let incidents = rig.incidents();
    let marked = store.find(&PROCESS_INSTANCE, r#"{"hasIncident": true}"#);
    assert_eq!(
        marked.is_empty(),
        incidents.is_empty(),
        "seed {seed}: {incidents:?}"
    );
}

/// Runs a random process; returns the store with its story.
pub fn run(seed: u64) -> Filled {
    // In some runs everything is merged in memory, in others each batch is stored separately.
    let window = [0, 5, 10_000][(seed % 3) as usize];
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(window));
    let mut story = Story::new(seed);
    let (mut expected, mut seen) = (Expected::default(), 0);
    for n in 0..STEPS {
        story.step();
        let rig = &mut story.rig;
        skep_testkit::stores::follow(rig, &store);
        for record in rig.seen[seen..].iter().filter(|record| record.is_event()) {
            expected.take(record);
        }
        seen = rig.seen.len();
        if n % 5 == 4 {
            compare(rig, &expected, &store, seed);
        }
    }
    store.check_pages();
    store
}

#[test]
fn the_store_matches_the_records() {
    skep_sim::each(super::BACKEND.seeds(), |seed| drop(run(seed)));
}
