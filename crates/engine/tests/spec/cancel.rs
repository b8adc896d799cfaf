//! Cancelling a process instance.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_testkit::rig::*;

#[test]
fn ends_everything_that_belongs_to_the_instance() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("task", "work")
        .end("e1")
        .from("fork")
        .sub_process("sub", |sub| {
            sub.start("s2").catch_duration("timer", "PT1M").end("e2")
        })
        .end("e3")
        .from("fork")
        .receive_task("receive", "m", "=\"k\"")
        .end("e4")
        .from("fork")
        .service_task("bad", "=missing")
        .end("e5");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let other = rig.create("p", "{}");
    rig.cancel(instance).unwrap();
    let mut terminated = rig.terminated(instance);
    terminated.sort();
    assert_eq!(terminated, ["bad", "p", "receive", "sub", "task", "timer"]);
    assert!(rig.is_running(other));
    assert_eq!(rejected(rig.cancel(instance)).0, "NOT_FOUND");
    rig.cancel(other).unwrap();
    rig.assert_terminated(other);
}

#[test]
fn only_a_process_instance_can_be_cancelled() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e"),
    );
    rig.create("p", "{}");
    let task = rig.element_key("task");
    assert_eq!(rejected(rig.cancel(task)).0, "NOT_FOUND");
    assert_eq!(rejected(rig.cancel(Key::new(1, 999))).0, "NOT_FOUND");
}

#[test]
fn canceling_is_recorded_before_the_elements_end() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.cancel(instance).unwrap();
    let life = rig.life(instance);
    let end = &life[life.len() - 5..];
    assert_eq!(
        end,
        [
            "CANCELING p",
            "TERMINATING p",
            "TERMINATING task",
            "TERMINATED task",
            "TERMINATED p"
        ]
    );
}
