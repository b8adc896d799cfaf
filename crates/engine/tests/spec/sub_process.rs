//! Embedded sub-processes: scopes that complete with their last child.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

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

/// The maximum nesting depth of models, on a stack of the size that threads have.
#[test]
fn sub_processes_nest_as_deep_as_a_model_may_be() {
    fn nest(bpmn: Bpmn, depth: usize) -> Bpmn {
        let start = format!("s{depth}");
        let bpmn = bpmn.start(&start);
        let bpmn = match depth {
            0 => bpmn.service_task("task", "work"),
            _ => bpmn.sub_process(format!("sub{depth}"), |sub| nest(sub, depth - 1)),
        };
        bpmn.end(format!("e{depth}"))
    }
    let bpmn = nest(Bpmn::process("p"), 250);
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    // Created outside the thread: its size does not depend on the depth, and unoptimized code moves the whole state over the stack.
    let mut rig = Rig::new();
    let run = move || {
        rig.deploy(bpmn);
        let instance = rig.create("p", "{}");
        rig.work("work", r#"{"a":1}"#);
        rig.assert_completed(instance);
        let instance = rig.create("p", "{}");
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    };
    thread.spawn(run).unwrap().join().unwrap();
}
