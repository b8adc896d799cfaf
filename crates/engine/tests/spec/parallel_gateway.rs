//! Parallel gateways: forks and joins.

use crate::modification::activate;
use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn forks_into_all_flows_and_joins_when_all_have_come() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .parallel("fork")
        .service_task("a", "a")
        .parallel("join")
        .end("end")
        .from("fork")
        .service_task("b", "b")
        .to("join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("b", "{}");
    assert!(!rig.completed(instance).contains(&"join".to_string()));
    rig.work("a", "{}");
    assert_eq!(
        rig.completed(instance),
        ["start", "fork", "b", "a", "join", "end", "p"]
    );
    rig.assert_completed(instance);
}

#[test]
fn one_gateway_joins_and_forks() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .parallel("fork")
        .service_task("a", "a")
        .parallel("both")
        .service_task("c", "c")
        .end("end-c")
        .from("fork")
        .service_task("b", "b")
        .to("both")
        .service_task("d", "d")
        .end("end-d");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert!(rig.jobs("c").is_empty());
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.work("d", "{}");
    rig.assert_completed(instance);
}

#[test]
fn nested_forks_join_inside_out() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .parallel("outer")
        .parallel("inner")
        .service_task("a", "a")
        .parallel("inner-join")
        .parallel("outer-join")
        .end("end")
        .from("inner")
        .service_task("b", "b")
        .to("inner-join")
        .from("outer")
        .service_task("c", "c")
        .to("outer-join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    for job_type in ["c", "b", "a"] {
        assert!(rig.is_running(instance));
        rig.work(job_type, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn a_flow_that_comes_twice_counts_once_per_join() {
    // Two tokens arrive over "m-join" and one over "b-join": that is one join, and one token that waits.
    let bpmn = Bpmn::process("p")
        .start("start")
        .parallel("fork")
        .task("b")
        .parallel("join")
        .service_task("after", "after")
        .end("end")
        .from("fork")
        .exclusive("m")
        .to("join")
        .from("fork")
        .task("x")
        .to("m");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert_eq!(
        rig.elements(instance, "ELEMENT_ACTIVATED")
            .iter()
            .filter(|e| *e == "join")
            .count(),
        1
    );
    rig.work("after", "{}");
    // The second token can never be joined, which the instance reports.
    let incident = rig.incident();
    assert_eq!(incident.element, "p");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_flow_to_the_join_may_come_round_again() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .exclusive("again")
        .parallel("fork")
        .service_task("a", "a")
        .parallel("join")
        .exclusive("done?")
        .when("=n < 3")
        .to("again")
        .from("done?")
        .otherwise()
        .end("end")
        .from("fork")
        .task("b")
        .to("join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    for n in 1..=3 {
        rig.work("a", &format!("{{\"n\":{n}}}"));
    }
    rig.assert_completed(instance);
}

#[test]
fn a_join_that_can_never_be_complete_is_an_incident() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .exclusive("choice")
        .when("=true")
        .service_task("a", "a")
        .parallel("join")
        .end("end")
        .from("choice")
        .otherwise()
        .task("b")
        .to("join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "p");
    assert!(incident.message.contains("'join'"), "{}", incident.message);
    rig.resolve(incident.key).unwrap();
    assert_ne!(rig.incident().key, incident.key, "nothing has changed");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

/// The flow straight to the join is taken before the branch beside it has a token.
#[test]
fn a_branch_without_elements_makes_no_incident() {
    let service = include_str!("../../../../tests/processes/valid/parallel-empty-branch.bpmn");
    let task = include_str!("../../../../tests/processes/valid/parallel-empty-branch-task.bpmn");
    for (name, model) in [
        ("parallel-empty-branch", service),
        ("parallel-empty-branch-task", task),
    ] {
        let mut rig = Rig::new();
        rig.deploy_files(vec![("model.bpmn", model.to_string())])
            .unwrap();
        let instance = rig.create(name, "{}");
        for job in rig.jobs(name) {
            rig.complete(&job, "{}");
        }
        assert_eq!(rig.intents("INCIDENT"), Vec::<&str>::new());
        rig.assert_completed(instance);
    }
}

/// The stuck join gets the missing token: the instance continues, and the incident is resolved.
#[test]
fn the_incident_of_a_scope_ends_with_the_scope() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .exclusive("choice")
        .when("=true")
        .task("a")
        .parallel("join")
        .end("end")
        .from("choice")
        .otherwise()
        .task("b")
        .to("join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert_eq!(rig.incident().element, "p");
    rig.modify(instance).activate(activate("b")).done();
    assert_eq!(rig.incidents(), []);
    rig.assert_completed(instance);
}

/// A join that has a token of "a" and waits for one of "b", to which none comes; behind it a service task "after". A service task "c" leads
/// to an end of its own.
fn stuck_join() -> Bpmn {
    Bpmn::process("p")
        .start("start")
        .exclusive("choice")
        .when("=true")
        .task("a")
        .parallel("join")
        .service_task("after", "after")
        .end("end")
        .from("choice")
        .when("=false")
        .task("b")
        .to("join")
        .from("choice")
        .otherwise()
        .service_task("c", "c")
        .end("other-end")
}

#[test]
fn the_incident_of_a_stuck_join_ends_when_the_missing_token_comes() {
    let mut rig = Rig::with(stuck_join());
    let instance = rig.create("p", "{}");
    assert_eq!(rig.incident().element, "p");
    rig.modify(instance).activate(activate("b")).done();
    assert_eq!(rig.incidents(), []);
    assert!(rig.is_running(instance));
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_join_that_is_still_stuck_when_something_else_has_ended_has_a_new_incident() {
    let mut rig = Rig::with(stuck_join());
    let instance = rig.create("p", "{}");
    let first = rig.incident();
    rig.modify(instance).activate(activate("c")).done();
    assert_eq!(rig.incidents(), [], "something is active again");
    rig.work("c", "{}");
    assert_ne!(rig.incident().key, first.key);
    rig.modify(instance).activate(activate("b")).done();
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn the_incident_of_a_stuck_join_ends_when_an_event_sub_process_takes_over() {
    let bpmn = stuck_join().event_sub_process("esp", |p| {
        p.start_signal("on", "go").service_task("x", "x").end("ee")
    });
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert_eq!(rig.incident().element, "p");
    rig.broadcast("go", "{}");
    assert_eq!(rig.incidents(), []);
    rig.work("x", "{}");
    rig.assert_completed(instance);
}

/// No sequence flow leads out of an event sub-process, so the tokens still wait in vain.
#[test]
fn the_incident_of_a_stuck_join_stays_during_an_event_sub_process_that_does_not_interrupt() {
    let bpmn = stuck_join().event_sub_process("esp", |p| {
        p.start_signal("on", "go")
            .non_interrupting()
            .service_task("x", "x")
            .end("ee")
    });
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    rig.broadcast("go", "{}");
    rig.work("x", "{}");
    assert_eq!(rig.incident().key, incident.key);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}
