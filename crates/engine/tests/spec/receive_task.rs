//! Receive tasks: activities that wait for a message.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn waits_for_its_message() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .receive_task("receive", "paid", "=order")
        .end("e")
        .boundary_duration("late", "receive", "PT1M")
        .end("too-late");
    let mut rig = Rig::with(bpmn);
    let first = rig.create("p", r#"{"order":"A-1"}"#);
    let second = rig.create("p", r#"{"order":"A-2"}"#);
    rig.publish("paid", "A-1", 0, r#"{"x":1}"#);
    rig.advance(MINUTE);
    assert_eq!(rig.completed(first), ["s", "receive", "e", "p"]);
    assert_eq!(rig.completed(second), ["s", "late", "too-late", "p"]);
    rig.assert_nothing_left();
}

#[test]
fn input_mappings_are_seen_by_its_correlation_key() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .receive_task("receive", "paid", "=local")
        .input("=\"key-\" + order", "local")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"order":"A"}"#);
    rig.publish("paid", "key-A", 0, "{}");
    rig.assert_completed(instance);
}
