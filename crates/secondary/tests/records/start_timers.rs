//! Timers of start events: when a process starts next by itself.

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::{BatchCommand, Command};
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_query::entities::{EVENT_WAIT, PROCESS_INSTANCE, START_TIMER};

use skep_testkit::stores::{Filled, follow, rig};

/// The start events of a process that wait for their time, and when it comes.
fn start_timers(store: &Filled, definition: Key) -> Vec<(Json, Json)> {
    let filter = format!(r#"{{"processDefinitionKey": "{definition}", "isOpen": true}}"#);
    let rows = store.find(&START_TIMER, &filter).into_iter();
    let mut rows: Vec<_> = rows
        .map(|row| (row["dueDate"].clone(), row["repetitions"].clone()))
        .collect();
    rows.sort_by_key(|(due, _)| due.to_string());
    rows
}

#[test]
fn a_timer_start_event_has_one_row_that_says_when_it_fires_next() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start_cycle("hourly", "R2/PT1H")
            .end("end"),
    );
    let first = rig.definition("p");
    follow(&mut rig, &store);
    let at = |time: &str, left: i64| (json!(format!("2026-01-01T{time}:00.000Z")), json!(left));
    assert_eq!(start_timers(&store, first), [at("01:00", 2)]);
    let row = store.one(&START_TIMER, "{}");
    assert_eq!(
        (
            &row["elementId"],
            &row["processDefinitionId"],
            &row["tenantId"]
        ),
        (&json!("hourly"), &json!("p"), &json!("<default>"))
    );
    rig.advance(3_600_000);
    follow(&mut rig, &store);
    assert_eq!(start_timers(&store, first), [at("02:00", 1)]);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 1);
    // Instances wait for none of these timers.
    assert_eq!(store.find(&EVENT_WAIT, "{}"), [] as [Json; 0]);
    rig.advance(3_600_000);
    follow(&mut rig, &store);
    assert_eq!(start_timers(&store, first), []);
    assert_eq!(store.find(&START_TIMER, "{}").len(), 1);
}

#[test]
fn a_cycle_without_repetitions_fires_once() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(Bpmn::process("p").start_cycle("once", "R0/PT1H").end("end"));
    follow(&mut rig, &store);
    let due = json!("2026-01-01T01:00:00.000Z");
    let definition = rig.definition("p");
    assert_eq!(start_timers(&store, definition), [(due, json!(1))]);
    rig.advance(3_600_000);
    follow(&mut rig, &store);
    assert_eq!(start_timers(&store, definition), []);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 1);
}

#[test]
fn only_the_latest_version_of_a_process_has_start_timers_that_wait() {
    let (mut rig, store) = rig(super::BACKEND);
    let version = |every: &str| Bpmn::process("p").start_cycle("start", every).end("end");
    rig.deploy(version("R/PT1H"));
    let first = rig.definition("p");
    rig.deploy(version("R/PT2H"));
    let second = rig.definition("p");
    follow(&mut rig, &store);
    assert_eq!(start_timers(&store, first), []);
    let due = json!("2026-01-01T02:00:00.000Z");
    assert_eq!(start_timers(&store, second), [(due, json!(-1))]);
    rig.delete_resource(second).unwrap();
    follow(&mut rig, &store);
    assert_eq!(start_timers(&store, second), []);
    // The version before is the latest one again.
    let due = json!("2026-01-01T01:00:00.000Z");
    assert_eq!(start_timers(&store, first), [(due, json!(-1))]);
}

#[test]
fn start_timers_leave_with_the_history_of_their_definition() {
    let (mut rig, store) = rig(super::BACKEND);
    let process = |id: &str| Bpmn::process(id).start_cycle("start", "R/PT1H").end("end");
    rig.deploy(process("p"));
    rig.deploy(process("q"));
    let [first, other] = ["p", "q"].map(|id| rig.definition(id));
    follow(&mut rig, &store);
    assert_eq!(store.find(&START_TIMER, "{}").len(), 2);
    // Without its history, the definition remains, and so does what was known of its timer.
    rig.delete_resource(first).unwrap();
    follow(&mut rig, &store);
    assert_eq!(store.find(&START_TIMER, "{}").len(), 2);
    assert_eq!(start_timers(&store, first), []);
    let history = BatchCommand::DeleteHistory(HistoryDeletionValue {
        resource_key: first,
        kind: HistoryDeletionType::ProcessDefinition,
    });
    rig.send(Command::Batch(history)).unwrap();
    follow(&mut rig, &store);
    let left = store.one(&START_TIMER, "{}");
    assert_eq!(left["processDefinitionKey"], json!(other.to_string()));
}
