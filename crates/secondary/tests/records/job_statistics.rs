//! Jobs, counted by minute, type and worker.

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_query::entities::{JOB, JOB_STATISTICS, JOB_STATISTICS_SPAN};
use skep_query::{Answer, Groups, Measure, Query, Search, Value};

use skep_testkit::stores::{follow, rig};

fn counts(row: &Json) -> [&Json; 3] {
    ["created", "completed", "failed"].map(|name| &row[name])
}

#[test]
fn jobs_are_counted_where_they_happen() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
    for _ in 0..3 {
        rig.create("p", "{}");
    }
    follow(&mut rig, &store);
    let made = store.one(&JOB_STATISTICS, r#"{"worker": ""}"#);
    assert_eq!(counts(&made), [&json!(3), &Json::Null, &Json::Null]);
    assert_eq!(
        (&made["jobType"], &made["tenantId"]),
        (&json!("work"), &json!("<default>"))
    );
    // Each failure counts; counts of several windows are added.
    let jobs = rig.jobs("work");
    rig.fail(&jobs[0], 1, 0);
    follow(&mut rig, &store);
    store.find(&JOB_STATISTICS, "{}");
    rig.complete(&jobs[1], "{}");
    rig.throw(&jobs[2], "code", "{}");
    let again = rig.job("work");
    rig.fail(&again, 0, 0);
    follow(&mut rig, &store);
    let worked = store.one(&JOB_STATISTICS, r#"{"worker": "tester"}"#);
    assert_eq!(counts(&worked), [&Json::Null, &json!(1), &json!(2)]);
    let failed = store.find(&JOB, r#"{"errorMessage": {"$in": ["it broke", "no way"]}}"#);
    assert_eq!(failed.len(), 2);
    // Another minute has its own rows.
    rig.advance(JOB_STATISTICS_SPAN);
    rig.create("p", "{}");
    follow(&mut rig, &store);
    let all = store.find(&JOB_STATISTICS, r#"{"jobType": "work"}"#);
    let starts: Vec<&Json> = all.iter().map(|row| &row["startTime"]).collect();
    assert_eq!(all.len(), 3, "{starts:?}");
    // Sums over several minutes.
    let answer = store.ask(Query::Groups(Groups {
        search: Search::all(&JOB_STATISTICS, Vec::new(), 0),
        by: vec![JOB_STATISTICS.column("startTime")],
        span: Some(10_000 * JOB_STATISTICS_SPAN),
        measures: vec![
            Measure::Sum(JOB_STATISTICS.column("created")),
            Measure::Sum(JOB_STATISTICS.column("failed")),
        ],
    }));
    let Answer::Rows(rows) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][1..], [Value::Int(4), Value::Int(2)]);
}
