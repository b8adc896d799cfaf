//! Exclusive gateways: the choice of the flow.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("start")
        .exclusive("choice")
        .when("=x > 5")
        .end("middle")
        .from("choice")
        .when("=x > 10")
        .end("large")
        .from("choice")
        .otherwise()
        .end("small")
}

fn end_of(variables: &str) -> Vec<String> {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", variables);
    rig.assert_completed(instance);
    rig.completed(instance)
}

#[test]
fn of_two_conditions_that_hold_the_later_in_the_file_chooses() {
    assert_eq!(end_of(r#"{"x":11}"#), ["start", "choice", "large", "p"]);
    assert_eq!(end_of(r#"{"x":6}"#), ["start", "choice", "middle", "p"]);
}

#[test]
fn the_default_flow_is_taken_when_none_holds() {
    assert_eq!(end_of(r#"{"x":1}"#), ["start", "choice", "small", "p"]);
}

#[test]
fn many_flows_join_without_waiting() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .parallel("fork")
        .task("a")
        .exclusive("merge")
        .service_task("work", "work")
        .end("end")
        .from("fork")
        .task("b")
        .to("merge");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let jobs = rig.jobs("work");
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn no_condition_and_no_default_is_an_incident_that_variables_mend() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .exclusive("choice")
        .when("=x > 10")
        .end("large")
        .from("choice")
        .when("=x < 0")
        .end("negative");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"x":5}"#);
    let incident = rig.incident();
    assert_eq!(incident.kind, "CONDITION_ERROR");
    assert_eq!(incident.element, "choice");
    rig.set_variables(instance, r#"{"x":-1}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(
        rig.completed(instance),
        ["start", "choice", "negative", "p"]
    );
    rig.assert_completed(instance);
}

#[test]
fn a_condition_that_is_no_boolean_is_an_incident() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
    assert!(incident.message.contains("BOOLEAN"), "{}", incident.message);
    rig.set_variables(instance, r#"{"x":6}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
}
