//! Counts of active process instances by definition. That they are those of a scan after any sequence of records is tested with
//! [`super::active_elements`].

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;
use skep_model::builder::Bpmn;
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{
    Answer, COUNTED_BY, Condition, Conditions, Groups, Measure, Op, Query, Search, Value,
};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow};

use super::active_elements::deployed;

/// By definition key, process ID, name, version and tenant, between bars: active ones without and with incidents.
pub type ByDefinition = BTreeMap<String, [i64; 2]>;

fn is(column: &str, op: Op) -> Condition {
    let field = PROCESS_INSTANCE.column(column);
    Condition::Field { field, op }
}

/// What the statistics of definitions ask.
fn asked(also: Conditions) -> Groups {
    let with = |has: bool| Measure::RowsWhere(vec![is("hasIncident", Op::Eq(has.into()))]);
    let mut filter = vec![is("state", Op::Eq(Value::text("ACTIVE")))];
    filter.extend(also);
    Groups {
        search: Search::all(&PROCESS_INSTANCE, filter, 0),
        by: COUNTED_BY.to_vec(),
        span: None,
        measures: vec![with(false), with(true)],
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
    }
}

fn counted_where(store: &Filled, also: Conditions) -> ByDefinition {
    let Answer::Rows(rows) = store.ask(Query::Groups(asked(also))) else {
        panic!("no rows");
    };
    let row = |row: &Vec<Value>| {
        let (of, counts) = row.split_at(COUNTED_BY.len());
        let of: Vec<String> = of.iter().map(shown).collect();
        let count = |at: usize| counts[at].as_int().expect("a count");
        (of.join("|"), [count(0), count(1)])
    };
    rows.iter().map(row).collect()
}

pub fn counted(store: &Filled) -> ByDefinition {
    counted_where(store, Vec::new())
}

/// What the rows say.
pub fn scanned(store: &Filled) -> ByDefinition {
    let mut counts = ByDefinition::new();
    for row in store.find(&PROCESS_INSTANCE, r#"{"state": "ACTIVE"}"#) {
        let column = |at: &usize| match &row[PROCESS_INSTANCE.field(*at).name] {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let of: Vec<String> = COUNTED_BY.iter().map(column).collect();
        counts.entry(of.join("|")).or_default()[usize::from(row["hasIncident"] == true)] += 1;
    }
    counts
}

/// The counts of the latest version of this process without a name.
fn of(rig: &Rig, process: &str, version: u32, counts: [i64; 2]) -> (String, [i64; 2]) {
    let definition = rig.definition(process);
    let of = format!("{definition}|{process}|null|{version}|<default>");
    (of, counts)
}

#[test]
fn an_instance_counts_for_its_definition_until_it_ends() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = deployed();
    // Each calls another one.
    let [first, second] = [(); 2].map(|()| rig.create("p", "{}"));
    follow(&mut rig, &store);
    let both = |p, called| ByDefinition::from([of(&rig, "p", 1, p), of(&rig, "called", 1, called)]);
    assert_eq!(counted(&store), both([2, 0], [2, 0]));
    let called = rig.definition("called");
    let mut jobs = rig.jobs("work").into_iter();
    let job = jobs.find(|job| job.process_definition_key == called);
    rig.fail(&job.expect("a job of an instance that was called"), 0, 0);
    follow(&mut rig, &store);
    // The incident counts for the caller, too.
    let both = |p, called| ByDefinition::from([of(&rig, "p", 1, p), of(&rig, "called", 1, called)]);
    assert_eq!(counted(&store), both([1, 1], [1, 1]));
    rig.cancel(first).expect("canceled");
    rig.cancel(second).expect("canceled");
    follow(&mut rig, &store);
    assert_eq!(counted(&store), ByDefinition::new());
    assert_eq!(scanned(&store), ByDefinition::new());
}

#[test]
fn a_migrated_instance_counts_for_its_new_definition() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = deployed();
    let [first, _] = [(); 2].map(|()| rig.create("p", "{}"));
    follow(&mut rig, &store);
    let pairs = [("one", "one-new"), ("call", "call-new")];
    rig.migrate(first, "q", &pairs).expect("migrated");
    follow(&mut rig, &store);
    let expected = [("p", [1, 0]), ("q", [1, 0]), ("called", [2, 0])];
    let expected = expected.map(|(process, counts)| of(&rig, process, 1, counts));
    assert_eq!(counted(&store), ByDefinition::from(expected));
}

#[test]
fn versions_are_counted_one_by_one_and_by_what_a_caller_may_see() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = Rig::new();
    rig.record_batches();
    let version = |task: &str| {
        Bpmn::process("order")
            .start("start")
            .service_task(task, "work")
            .end("end")
    };
    rig.deploy(version("first"));
    rig.create("order", "{}");
    let first = of(&rig, "order", 1, [1, 0]);
    rig.deploy(version("second"));
    rig.create("order", "{}");
    rig.create("order", "{}");
    let second = of(&rig, "order", 2, [2, 0]);
    let other = Bpmn::process("other")
        .start("start")
        .service_task("task", "work")
        .end("end");
    rig.deploy(other);
    rig.create("other", "{}");
    let other = of(&rig, "other", 1, [1, 0]);
    follow(&mut rig, &store);
    let all = ByDefinition::from([first.clone(), second.clone(), other.clone()]);
    assert_eq!(counted(&store), all);
    let among = |column, values: &[&str]| {
        let values = values.iter().map(|value| Value::text(value)).collect();
        is(column, Op::In(values))
    };
    let orders = ByDefinition::from([first, second]);
    for (also, expected) in [
        (among("processDefinitionId", &["order"]), orders),
        (
            among("processDefinitionId", &["other", "none"]),
            ByDefinition::from([other]),
        ),
        (among("tenantId", &["<default>"]), all),
        (among("tenantId", &["acme"]), ByDefinition::new()),
    ] {
        assert_eq!(
            counted_where(&store, vec![also.clone()]),
            expected,
            "{also:?}"
        );
        let granted = Condition::Any(vec![vec![also]]);
        assert_eq!(
            counted_where(&store, vec![granted.clone()]),
            expected,
            "{granted:?}"
        );
    }
}
