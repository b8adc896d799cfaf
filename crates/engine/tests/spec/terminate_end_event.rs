//! Terminate end events: the end of everything else in their scope.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn ends_everything_else_in_the_process() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("a", "a")
        .end_terminate("stop")
        .from("fork")
        .service_task("b", "b")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert_eq!(rig.terminated(instance), ["b"]);
    rig.assert_completed(instance);
}

#[test]
fn ends_tokens_that_would_move_at_the_same_time() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .end_terminate("stop")
        .from("fork")
        .task("t")
        .service_task("b", "b")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert!(rig.jobs("b").is_empty());
    rig.assert_completed(instance);
}

#[test]
fn ends_tokens_that_wait_at_a_join() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .task("t")
        .parallel("join")
        .end("e")
        .from("fork")
        .service_task("a", "a")
        .to("join")
        .from("fork")
        .service_task("b", "b")
        .end_terminate("stop");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("b", "{}");
    assert_eq!(rig.terminated(instance), ["a"]);
    rig.assert_completed(instance);
}

#[test]
fn in_a_sub_process_it_ends_that_scope_alone() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .parallel("fork")
                .service_task("a", "a")
                .end_terminate("stop")
                .from("fork")
                .sub_process("inner", |inner| {
                    inner.start("s3").service_task("b", "b").end("e3")
                })
                .end("e2")
        })
        .service_task("after", "after")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert_eq!(rig.terminated(instance), ["b", "inner"]);
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

/// Before the terminate end event and in the called process there are pass-through tasks, which decide which of both comes first.
fn races_with_a_called_process(before: usize, called: usize) -> Rig {
    let mut bpmn = Bpmn::process("p").start("s").parallel("fork");
    for i in 0..before {
        bpmn = bpmn.task(format!("t{i}"));
    }
    let bpmn = bpmn
        .end_terminate("stop")
        .from("fork")
        .call_activity("call", "child")
        .end("e");
    let mut child = Bpmn::process("child").start("cs");
    for i in 0..called {
        child = child.task(format!("c{i}"));
    }
    let mut rig = Rig::new();
    rig.deploy(child.end("ce"));
    rig.deploy(bpmn);
    rig
}

#[test]
fn a_called_process_that_ends_in_the_same_moment_does_not_hold_the_scope_open() {
    for before in 0..8 {
        for called in 0..6 {
            let mut rig = races_with_a_called_process(before, called);
            let instance = rig.create("p", "{}");
            assert_eq!(
                rig.open_instances(),
                [],
                "{before} tasks, {called} in the child"
            );
            rig.assert_completed(instance);
        }
    }
}

#[test]
fn it_may_be_reached_while_the_instance_is_terminated() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .exclusive("choice")
        .when("=true")
        .task("t")
        .end("e")
        .from("choice")
        .otherwise()
        .end_terminate("stop");
    let mut rig = Rig::with(bpmn);
    let mut creation = Rig::creation("p", "{}");
    creation.start_instructions = vec!["t".into(), "stop".into()];
    creation.terminate_after = vec!["t".into()];
    rig.send(creation.into_command()).unwrap();
    let instance = rig.instance_of("p");
    rig.assert_terminated(instance);
}
