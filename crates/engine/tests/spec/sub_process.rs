use crate::support::*;
use skep_model::builder::Bpmn;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("start")
        .sub_process("sub", |sub| {
            sub.start("s2").service_task("task", "work").end("e2")
        })
        .service_task("after", "after")
        .end("end")
}

#[test]
fn is_a_scope_that_completes_with_its_last_child() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    assert_eq!(
        rig.completed(instance),
        ["start", "s2", "task", "e2", "sub"]
    );
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn its_children_name_it_as_flow_scope() {
    let mut rig = Rig::with(process());
    rig.create("p", "{}");
    let sub = rig.element_key("sub");
    let task = rig.element_key("task");
    let row = rig.engine(1).state.elements.get(task).unwrap();
    assert_eq!(row.flow_scope_key, sub);
}

#[test]
fn waits_for_all_paths_within_it() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .parallel("fork")
                .service_task("a", "a")
                .end("ea")
                .from("fork")
                .service_task("b", "b")
                .end("eb")
        })
        .end("end");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert!(rig.is_running(instance));
    rig.work("b", "{}");
    rig.assert_completed(instance);
}

#[test]
fn sub_processes_nest() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .sub_process("one", |one| {
            one.start("s1")
                .sub_process("two", |two| {
                    two.start("s2").service_task("task", "work").end("e2")
                })
                .end("e1")
        })
        .end("end");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    assert_eq!(
        rig.completed(instance),
        [
            "start", "s1", "s2", "task", "e2", "two", "e1", "one", "end", "p"
        ]
    );
    rig.assert_completed(instance);
}

#[test]
fn one_that_is_empty_but_for_its_start_completes_at_once() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .sub_process("sub", |sub| sub.start("s2"))
        .end("end");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
}
