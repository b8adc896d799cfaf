use crate::support::*;
use skep_model::builder::Bpmn;

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
fn ends_what_is_about_to_go_on_in_the_same_moment() {
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
