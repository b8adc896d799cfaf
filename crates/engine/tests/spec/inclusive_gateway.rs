//! Inclusive gateways: flows taken by forks, and tokens awaited by joins.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

/// Three branches, the third by default.
fn branches() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=x > 0")
        .service_task("a", "a")
        .inclusive("join")
        .end("e")
        .from("fork")
        .when("=x > 10")
        .service_task("b", "b")
        .to("join")
        .from("fork")
        .otherwise()
        .service_task("c", "c")
        .to("join")
}

#[test]
fn takes_every_flow_whose_condition_holds_and_joins_them() {
    let mut rig = Rig::with(branches());
    let instance = rig.create("p", r#"{"x":20}"#);
    rig.work("a", "{}");
    assert!(rig.is_running(instance), "the other branch may still come");
    rig.work("b", "{}");
    rig.assert_completed(instance);
    let joins = rig
        .completed(instance)
        .into_iter()
        .filter(|id| id == "join");
    assert_eq!(joins.count(), 1);
    rig.assert_nothing_left();
}

#[test]
fn the_default_is_taken_when_no_condition_holds() {
    let mut rig = Rig::with(branches());
    let instance = rig.create("p", r#"{"x":0}"#);
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn without_a_flow_to_take_it_is_an_incident() {
    let fork = Bpmn::process("p").start("s").inclusive("fork");
    let fork = fork
        .when("=x > 0")
        .end("a")
        .from("fork")
        .when("=x > 1")
        .end("b");
    let mut rig = Rig::with(fork);
    let instance = rig.create("p", r#"{"x":0}"#);
    assert_eq!(rig.incident().kind, "CONDITION_ERROR");
    rig.set_variables(instance, r#"{"x":2}"#, false);
    rig.resolve(rig.incident().key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance).len(), 5);
}

/// A join does not wait for a branch whose token cannot arrive any more. (The reference engine waits for ever.)
#[test]
fn a_branch_that_ends_elsewhere_is_not_waited_for() {
    let late = branches().boundary_duration("late", "b", "PT1M").end("e2");
    let mut rig = Rig::with(late);
    let instance = rig.create("p", r#"{"x":20}"#);
    rig.work("a", "{}");
    rig.advance(2 * MINUTE);
    rig.run_due();
    rig.assert_completed(instance);
    assert!(rig.completed(instance).contains(&"join".to_string()));
    rig.assert_nothing_left();
}

/// Active elements that cannot reach the join do not matter.
#[test]
fn others_in_the_scope_do_not_hold_it_up() {
    let process = Bpmn::process("p").start("s").parallel("split");
    let process = process
        .service_task("beside", "beside")
        .end("e2")
        .from("split");
    let process = process
        .inclusive("fork")
        .when("=true")
        .service_task("a", "a");
    let process = process
        .inclusive("join")
        .service_task("after", "after")
        .end("e");
    let process = process
        .from("fork")
        .when("=false")
        .service_task("b", "b")
        .to("join");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("after", "{}");
    rig.work("beside", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_token_that_goes_another_way_releases_the_join() {
    let process = Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=true");
    let process = process
        .service_task("a", "a")
        .inclusive("join")
        .service_task("after", "after");
    let process = process
        .end("e")
        .from("fork")
        .when("=true")
        .service_task("b", "b");
    let process = process
        .exclusive("choice")
        .when("=away")
        .service_task("long", "long")
        .end("e2");
    let process = process.from("choice").otherwise().to("join");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", r#"{"away":true}"#);
    rig.work("a", "{}");
    assert!(rig.jobs("after").is_empty(), "'b' may still come");
    rig.work("b", "{}");
    rig.work("after", "{}");
    rig.work("long", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_loop_back_is_waited_for() {
    let process = Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=true");
    let process = process
        .service_task("a", "a")
        .inclusive("join")
        .end("e")
        .from("fork");
    let process = process
        .when("=true")
        .service_task("b", "b")
        .exclusive("redo");
    let process = process
        .when("=again")
        .to("b")
        .from("redo")
        .otherwise()
        .to("join");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", r#"{"again":true}"#);
    assert!(rig.is_running(instance));
    rig.work("b", r#"{"again":false}"#);
    rig.assert_completed(instance);
}

/// Several tokens on one flow: each activation takes one from each flow. (The reference engine leaves the second behind.)
#[test]
fn a_second_token_on_a_flow_activates_the_join_again() {
    let process = Bpmn::process("p")
        .start("s")
        .parallel("split")
        .task("t1")
        .exclusive("merge");
    let process = process
        .inclusive("join")
        .end("e")
        .from("split")
        .task("t2")
        .to("merge");
    let process = process.from("split").service_task("x", "x").to("join");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("x", "{}");
    rig.assert_completed(instance);
    let joins = rig
        .completed(instance)
        .into_iter()
        .filter(|id| id == "join");
    assert_eq!(joins.count(), 2);
    rig.assert_nothing_left();
}

#[test]
fn nested_gateways_join_inside_out() {
    let process = Bpmn::process("p")
        .start("s")
        .inclusive("f1")
        .when("=true")
        .inclusive("f2");
    let process = process
        .when("=true")
        .service_task("a", "a")
        .inclusive("j2")
        .inclusive("j1");
    let process = process
        .end("e")
        .from("f2")
        .when("=true")
        .service_task("b", "b")
        .to("j2");
    let process = process
        .from("f1")
        .when("=true")
        .service_task("c", "c")
        .to("j1");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("c", "{}");
    assert!(rig.is_running(instance));
    rig.work("b", "{}");
    rig.assert_completed(instance);
    let completed = rig.completed(instance);
    assert_eq!(completed.iter().filter(|id| id.starts_with('j')).count(), 2);
}

/// Two joins that wait for each other: nothing else is active in the scope, so one of them is activated.
#[test]
fn gateways_waiting_for_each_other_do_not_deadlock() {
    let process = Bpmn::process("p")
        .start("s")
        .parallel("split")
        .service_task("a", "a");
    let process = process
        .inclusive("j1")
        .exclusive("x1")
        .when("=false")
        .inclusive("j2");
    let process = process
        .exclusive("x2")
        .when("=false")
        .to("j1")
        .from("x2")
        .otherwise()
        .end("e2");
    let process = process.from("x1").otherwise().end("e1");
    let process = process.from("split").service_task("b", "b").to("j2");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn terminate_end_events_take_waiting_tokens_along() {
    let process = Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=true");
    let process = process
        .service_task("a", "a")
        .inclusive("join")
        .end("e")
        .from("fork");
    let process = process
        .when("=true")
        .service_task("b", "b")
        .to("join")
        .from("fork");
    let process = process
        .when("=true")
        .service_task("k", "k")
        .end_terminate("stop");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("k", "{}");
    rig.assert_completed(instance);
    assert!(!rig.completed(instance).contains(&"join".to_string()));
    rig.assert_nothing_left();
}

#[test]
fn the_gateway_joins_with_a_pause_after_each_step() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    rig.deploy(branches());
    let instance = rig.create("p", r#"{"x":20}"#);
    rig.work("b", "{}");
    rig.work("a", "{}");
    rig.assert_completed(instance);
    let joins = rig
        .completed(instance)
        .into_iter()
        .filter(|id| id == "join");
    assert_eq!(joins.count(), 1);
    rig.assert_nothing_left();
}

#[test]
fn a_wide_join_waits_for_the_last_token() {
    const BRANCHES: usize = 150;
    let mut process = Bpmn::process("p").start("s").inclusive("fork");
    for branch in 0..BRANCHES {
        process = process.from("fork").when("=true");
        process = process.service_task(format!("t{branch}"), "work");
        process = match branch {
            0 => process.inclusive("join").end("e"),
            _ => process.to("join"),
        };
    }
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    let mut done = 0;
    while rig.is_running(instance) {
        for job in rig.jobs("work") {
            rig.complete(&job, "{}");
            done += 1;
        }
    }
    assert_eq!(done, BRANCHES);
    rig.assert_completed(instance);
    let joins = rig
        .completed(instance)
        .into_iter()
        .filter(|id| id == "join");
    assert_eq!(joins.count(), 1);
}

/// Plays a model of `tests/processes/valid`, completing its jobs, all of one type, in this order.
fn ends_once(name: &str, model: &str, order: &[usize]) {
    let mut rig = Rig::new();
    rig.deploy_files(vec![("model.bpmn", model.to_string())])
        .unwrap();
    let instance = rig.create(name, "{}");
    let jobs = rig.jobs(name);
    assert_eq!(jobs.len(), order.len());
    for job in order {
        rig.complete(&jobs[*job], "{}");
    }
    assert_eq!(rig.intents("INCIDENT"), Vec::<&str>::new());
    let completed = rig.completed(instance);
    let ends = completed.iter().filter(|id| *id == "end");
    assert_eq!(ends.count(), 1, "{order:?}: {completed:?}");
    rig.assert_completed(instance);
}

macro_rules! model {
    ($name:literal) => {
        include_str!(concat!(
            "../../../../tests/processes/valid/",
            $name,
            ".bpmn"
        ))
    };
}

/// The parallel join inside has all its tokens, but its activation is deferred to a later turn.
#[test]
fn a_join_inside_that_is_about_to_be_activated_is_waited_for() {
    let name = "inclusive-around-parallel";
    for first in [0, 1] {
        let mut rig = Rig::new();
        let model = model!("inclusive-around-parallel");
        rig.deploy_files(vec![("model.bpmn", model.to_string())])
            .unwrap();
        let instance = rig.create(name, "{}");
        let jobs = rig.jobs(name);
        rig.complete(&jobs[first], "{}");
        rig.complete(&jobs[1 - first], "{}");
        rig.work("inclusive-around-parallel-charge", "{}");
        rig.assert_completed(instance);
    }
}

#[test]
fn joins_inside_of_joins_are_waited_for_in_any_order_of_their_branches() {
    let (two, three) = (
        "inclusive-around-nested-parallel",
        "inclusive-around-nested-parallel-jobs",
    );
    for order in [[0, 1], [1, 0]] {
        ends_once(two, model!("inclusive-around-nested-parallel"), &order);
    }
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        ends_once(
            three,
            model!("inclusive-around-nested-parallel-jobs"),
            &order,
        );
    }
    ends_once("inclusive-nested", model!("inclusive-nested"), &[0]);
}

/// Each gateway leads to the next one and back to another, so what ends anywhere may be what all of them wait for. If their
/// checks piled up, thousands of turns would be spent on them.
#[test]
fn loops_of_many_gateways_soon_reach_the_limit_of_steps() {
    const GATEWAYS: usize = 100;
    let mut loops = Bpmn::process("p").start("s").inclusive("g0");
    for i in 1..GATEWAYS {
        loops = loops.when("=true").inclusive(format!("g{i}"));
    }
    loops = loops.when("=true").service_task("t", "t").end("e");
    for i in 0..GATEWAYS - 1 {
        let back = (i * 7 + 3) % GATEWAYS;
        if back != i + 1 {
            loops = loops
                .from(&format!("g{i}"))
                .when("=true")
                .to(&format!("g{back}"));
        }
    }
    let mut rig = Rig::with(loops);
    rig.interrupted = true;
    let instance = rig.create("p", "{}");
    let mut turns = 0;
    while turns < 1000 && rig.run_work() {
        turns += 1;
    }
    assert!(
        turns < 1000,
        "{} elements are done",
        rig.completed(instance).len()
    );
    assert_eq!(rig.incident().kind, "UNKNOWN");
    rig.cancel(instance).unwrap();
    while rig.run_work() {}
    rig.assert_terminated(instance);
}
