//! None and link throw events.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn a_none_throw_event_only_happens() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .throw("x")
            .input("=1", "i")
            .output("=2", "o")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance), ["s", "x", "e", "p"]);
    assert_eq!(rig.variable(instance, "o").unwrap(), "2");
    assert_eq!(
        rig.variable(rig.element_key("x"), "i"),
        None,
        "inputs have no effect"
    );
}

fn links() -> Bpmn {
    let process = Bpmn::process("p").start("s").parallel("fork");
    let process = process
        .throw_link("a", "L")
        .from("fork")
        .throw_link("b", "L");
    process.catch_link("land", "L").end("e")
}

#[test]
fn each_token_of_a_link_continues_at_its_catch_event() {
    let mut rig = Rig::with(links());
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    let completed = rig.completed(instance);
    assert_eq!(
        completed,
        ["s", "fork", "b", "a", "land", "land", "e", "e", "p"]
    );
    rig.assert_nothing_left();
}

#[test]
fn a_token_between_throw_and_catch_survives_being_put_off() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    rig.deploy(links());
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn a_link_stays_in_its_scope() {
    let process = Bpmn::process("p").start("s").sub_process("sub", |sub| {
        let sub = sub.start("s2").throw_link("a", "L");
        sub.catch_link("land", "L")
            .service_task("t", "work")
            .end("e2")
    });
    let mut rig = Rig::with(process.end("e"));
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    assert_eq!(&*job.element_id, "t");
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_terminate_end_event_ends_tokens_on_links() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    let process = Bpmn::process("p").start("s").parallel("fork");
    let process = process
        .end_terminate("stop")
        .from("fork")
        .throw_link("a", "L");
    rig.deploy(
        process
            .catch_link("land", "L")
            .service_task("t", "work")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}
