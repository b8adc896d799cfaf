//! Escalations thrown by events, and the events that catch them.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn thrower(sub: Bpmn) -> Bpmn {
    sub.start("s2")
        .throw_escalation("raise", "late")
        .service_task("work", "work")
        .end("e2")
}

#[test]
fn an_escalation_need_not_be_caught() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .throw_escalation("raise", "late")
        .end_escalation("e", "later");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(
        rig.intents("ESCALATION"),
        ["NOT_ESCALATED", "NOT_ESCALATED"]
    );
}

#[test]
fn a_non_interrupting_boundary_event_runs_beside_the_activity() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", thrower)
        .end("e")
        .boundary_escalation("caught", "inner", "late")
        .non_interrupting()
        .service_task("handle", "handle")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("handle", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    let escalated = rig.events("ESCALATION").next().unwrap();
    assert_eq!(
        (
            escalated.text("throwElementId"),
            escalated.text("catchElementId")
        ),
        ("raise", "caught")
    );
}

#[test]
fn an_interrupting_boundary_event_ends_the_activity() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", thrower)
        .end("e")
        .boundary_escalation("caught", "inner", None)
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.terminated(instance), ["raise", "inner"]);
}

#[test]
fn the_code_goes_before_all_codes() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", thrower)
        .end("e")
        .boundary_escalation("any", "inner", None)
        .end("e3")
        .boundary_escalation("exact", "inner", "late")
        .end("e4");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let completed = rig.completed(instance);
    assert!(completed.contains(&"exact".to_string()));
    assert!(!completed.contains(&"any".to_string()));
}

#[test]
fn it_leaves_a_called_process() {
    let mut rig = Rig::with(thrower(Bpmn::process("called")));
    let bpmn = Bpmn::process("p")
        .start("s")
        .call_activity("call", "called")
        .end("e")
        .boundary_escalation("caught", "call", "late")
        .end("e3");
    rig.deploy(bpmn);
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.terminated(instance), ["call"]);
}

#[test]
fn an_event_sub_process_of_the_scope_catches_it_first() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", |sub| {
            thrower(sub).event_sub_process("esp", |esp| {
                esp.start_escalation("inside", "late")
                    .non_interrupting()
                    .end("e4")
            })
        })
        .end("e")
        .boundary_escalation("outside", "inner", "late")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert!(rig.completed(instance).contains(&"inside".to_string()));
    assert!(rig.terminated(instance).is_empty());
}
