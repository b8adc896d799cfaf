//! Start events with incoming flows, and flows that leave their scope.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn a_flow_back_into_the_start_event_starts_over() {
    let model = include_str!("../../../../tests/processes/valid/flow-back-into-start.bpmn");
    let mut rig = Rig::new();
    rig.deploy_files(vec![("back.bpmn", model.to_string())])
        .expect("it is deployed");
    let instance = rig.create("flow-back-into-start", r#"{"done":false}"#);
    rig.work("flow-back-work", "{}");
    rig.work("flow-back-work", r#"{"done":true}"#);
    assert_eq!(
        rig.completed(instance),
        [
            "start",
            "work",
            "done",
            "start",
            "work",
            "done",
            "end",
            "flow-back-into-start"
        ]
    );
    rig.assert_completed(instance);
}

/// The subscriptions of a scope open at its start event, and not again when the start event runs again.
#[test]
fn a_scope_listens_once_however_often_its_start_event_runs() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .exclusive("g")
        .when("=again")
        .to("s")
        .from("g")
        .otherwise()
        .end("e")
        .event_sub_process("on-message", |sub| {
            sub.start_message_for("ms", "ping", "=\"k\"")
                .non_interrupting()
                .end("me")
        })
        .event_sub_process("on-timer", |sub| {
            sub.start_duration("ts", "PT1M")
                .non_interrupting()
                .end("te")
        });
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", r#"{"again":true}"#);
    rig.advance(MINUTE);
    rig.publish("ping", "k", 0, "{}");
    let completed = rig.completed(instance);
    for event in ["ts", "ms"] {
        assert_eq!(
            completed.iter().filter(|id| **id == event).count(),
            1,
            "{event}"
        );
    }
    rig.work("work", r#"{"again":false}"#);
    rig.assert_completed(instance);
}

#[test]
fn flows_that_stand_outside_of_their_scope_are_taken_in_it() {
    let model = include_str!("../../../../tests/processes/valid/flow-outside-of-its-scope.bpmn");
    let mut rig = Rig::new();
    rig.deploy_files(vec![("outside.bpmn", model.to_string())])
        .expect("it is deployed");
    let instance = rig.create("flow-outside-of-its-scope", "{}");
    rig.work("flow-outside-work", "{}");
    assert_eq!(
        rig.completed(instance),
        [
            "start",
            "sub-start",
            "work",
            "sub-end",
            "sub",
            "end",
            "flow-outside-of-its-scope"
        ]
    );
    rig.assert_completed(instance);
}
