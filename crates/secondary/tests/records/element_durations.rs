//! Durations of elements, counted by definition, element and day.

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_DURATION, ELEMENT_DURATION_COUNTS, ELEMENT_DURATION_SPAN};
use skep_query::{Answer, Groups, Measure, Query, Search, Value, durations};

use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow, rig};

fn of_element(store: &Filled, id: &str) -> Vec<Json> {
    let filter = json!({ "elementId": id }).to_string();
    let mut rows = store.find(&ELEMENT_DURATION, &filter);
    rows.sort_by_key(|row| row["startTime"].to_string());
    rows
}

/// Shortest and longest duration in a row, and the count in the bucket of `ms`.
fn summary(row: &Json, ms: i64) -> (i64, i64, i64) {
    let number = |name: &str| row[name].as_i64().unwrap_or(-1);
    let count = durations::COUNTS[durations::place(ms)];
    (number("shortest"), number("longest"), number(count))
}

fn deployed(rig: &mut Rig) {
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
}

#[test]
fn completed_elements_are_counted_by_duration() {
    let (mut rig, store) = rig(super::BACKEND);
    deployed(&mut rig);
    for _ in 0..4 {
        rig.create("p", "{}");
    }
    follow(&mut rig, &store);
    // Elements count once they have ended.
    assert_eq!(of_element(&store, "task"), Vec::<Json>::new());
    let started = of_element(&store, "start");
    assert_eq!(started.len(), 1);
    assert_eq!(summary(&started[0], 0), (0, 0, 4));
    // The start is stored already, the end comes in another window.
    rig.advance(5_000);
    let jobs = rig.jobs("work");
    rig.complete(&jobs[0], "{}");
    follow(&mut rig, &store);
    let one = of_element(&store, "task");
    assert_eq!(summary(&one[0], 5_000), (5_000, 5_000, 1));
    // Added in another window, together with an element that starts and ends in it.
    rig.advance(55_000);
    rig.complete(&jobs[1], "{}");
    rig.create("p", "{}");
    let new = rig.jobs("work").pop().unwrap();
    rig.complete(&new, "{}");
    follow(&mut rig, &store);
    let all = of_element(&store, "task");
    assert_eq!(all.len(), 1);
    assert_eq!(summary(&all[0], 60_000), (0, 60_000, 1));
    assert_eq!(summary(&all[0], 5_000), (0, 60_000, 1));
    assert_eq!(summary(&all[0], 0), (0, 60_000, 1));
    // Cancelled elements do not count.
    let instance = Key(jobs[2].process_instance_key.0);
    rig.cancel(instance).unwrap();
    follow(&mut rig, &store);
    assert_eq!(of_element(&store, "task"), all);
    // Another day has its own row.
    rig.advance(ELEMENT_DURATION_SPAN);
    rig.complete(&jobs[3], "{}");
    follow(&mut rig, &store);
    let days = of_element(&store, "task");
    assert_eq!(days.len(), 2);
    assert_eq!(days[0], all[0]);
    let long = ELEMENT_DURATION_SPAN + 60_000;
    assert_eq!(summary(&days[1], long), (long, long, 1));
    assert_eq!(days[1]["tenantId"], "<default>");
    assert_eq!(days[1]["processDefinitionId"], "p");
    sums_up(&store, long);
}

/// Checks the sums over all days.
fn sums_up(store: &Filled, longest: i64) {
    let count = |ms: i64| Measure::Sum(ELEMENT_DURATION_COUNTS + durations::place(ms));
    let mut search = Search::all(&ELEMENT_DURATION, Vec::new(), 0);
    search.filter = skep_query::search(&ELEMENT_DURATION, r#"{"filter": {"elementId": "task"}}"#)
        .unwrap()
        .filter;
    let answer = store.ask(Query::Groups(Groups {
        search,
        by: vec![ELEMENT_DURATION.column("elementId")],
        span: None,
        measures: vec![
            Measure::Least(ELEMENT_DURATION.column("shortest")),
            Measure::Most(ELEMENT_DURATION.column("longest")),
            count(0),
            count(60_000),
            count(longest),
        ],
    }));
    let Answer::Rows(rows) = answer else {
        panic!("{answer:?}");
    };
    let numbers = [0, longest, 1, 1, 1].map(Value::Int);
    assert_eq!(
        rows,
        [[vec![Value::text("task")], numbers.to_vec()].concat()]
    );
}

#[test]
fn inner_instances_are_counted_and_multi_instance_bodies_are_not() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .for_each("=[1, 2, 3]", "item")
            .end("end"),
    );
    rig.create("p", "{}");
    rig.advance(1_000);
    for job in rig.jobs("work") {
        rig.complete(&job, "{}");
        rig.advance(1_000);
    }
    follow(&mut rig, &store);
    let rows = of_element(&store, "task");
    assert_eq!(rows.len(), 1);
    assert_eq!(summary(&rows[0], 1_000), (1_000, 3_000, 1));
    let counts = durations::COUNTS.map(|name| rows[0][name].as_i64().unwrap_or_default());
    assert_eq!(counts.iter().sum::<i64>(), 3);
}
