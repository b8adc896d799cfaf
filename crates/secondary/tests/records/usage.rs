//! Usage by tenants.

use skep_model::builder::Bpmn;
use skep_protocol::Document;
use skep_protocol::command::{Command, DecisionRef, EvaluateDecision};
use skep_query::entities::USAGE;

use skep_testkit::rig::decision;
use skep_testkit::stores::{follow, rig};

#[test]
fn root_instances_decisions_and_assignees_are_counted() {
    let (mut rig, store) = rig(super::BACKEND);
    let called = Bpmn::process("called")
        .start("s")
        .user_task("task")
        .end("e");
    rig.deploy(called);
    let calling = Bpmn::process("p")
        .start("s")
        .call_activity("call", "called");
    rig.deploy(calling.end("e"));
    rig.deployed(vec![("a.dmn", decision("file", "d", "1"))]);
    rig.create("p", "{}");
    follow(&mut rig, &store);
    store.find(&USAGE, "{}");
    rig.create("called", "{}");
    for _ in 0..3 {
        rig.send(Command::EvaluateDecision(EvaluateDecision {
            decision: DecisionRef::Id("d".into()),
            variables: Document::parse("{}").unwrap(),
        }))
        .unwrap();
    }
    let created = rig.events("USER_TASK").filter(|r| r.intent == "CREATED");
    let tasks: Vec<_> = created.map(|record| record.key).collect();
    for (task, name) in tasks.iter().zip(["anna", "bert"]) {
        rig.assign(*task, name, "").unwrap();
        rig.assign(*task, "carl", "").unwrap();
    }
    follow(&mut rig, &store);
    let rows = store.find(&USAGE, "{}");
    let count = rows.iter().find(|row| row["assignee"].is_null()).unwrap();
    // Called instances are not roots.
    assert_eq!(
        (&count["processInstances"], &count["decisionInstances"]),
        (&2.into(), &3.into())
    );
    assert_eq!(count["tenantId"], "<default>");
    assert_eq!(rows.len(), 1 + 3, "{rows:?}");
}
