//! A model that never waits must not stop the partition.

use crate::support::*;
use skep_model::builder::Bpmn;

/// Deployment refuses a loop of elements that never wait; what a sub-process contains may wait.
fn endless() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .exclusive("again")
        .sub_process("sub", |sub| sub.start("s2").end("e2"))
        .exclusive("done?")
        .when("=go")
        .end("e")
        .from("done?")
        .otherwise()
        .to("again")
}

#[test]
fn an_endless_loop_becomes_an_incident_that_a_variable_ends() {
    let mut rig = Rig::with(endless());
    let instance = rig.create("p", r#"{"go":false}"#);
    let incident = rig.incident();
    assert_eq!(incident.kind, "UNKNOWN");
    rig.set_variables(instance, r#"{"go":true}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents(), []);
    rig.assert_completed(instance);
}

#[test]
fn an_endless_loop_can_be_cancelled() {
    let mut rig = Rig::with(endless());
    let instance = rig.create("p", r#"{"go":false}"#);
    let incident = rig.incident();
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents().len(), 1);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_gateway_that_had_chosen_chooses_again() {
    // The loop ends at the gateway itself: it must not leave by all its flows.
    for length in 0..10 {
        let mut bpmn = Bpmn::process("p").start("s");
        for i in 0..length {
            bpmn = bpmn.task(format!("t{i}"));
        }
        let bpmn = bpmn
            .exclusive("again")
            .sub_process("sub", |sub| sub.start("s2").end("e2"))
            .exclusive("done?")
            .when("=go")
            .service_task("end", "end")
            .end("e")
            .from("done?")
            .otherwise()
            .to("again");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", r#"{"go":false}"#);
        let incident = rig.incident();
        rig.set_variables(instance, r#"{"go":true}"#, false);
        rig.resolve(incident.key).unwrap();
        rig.work("end", "{}");
        rig.assert_completed(instance);
    }
}
