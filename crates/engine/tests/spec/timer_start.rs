//! Timer start events: timers start instances.

use skep_model::builder::Bpmn;
use skep_protocol::Response;
use skep_protocol::command::Command;
use skep_testkit::rig::*;

fn cyclic(cycle: &str) -> Bpmn {
    Bpmn::process("p")
        .start_cycle("tick", cycle)
        .service_task("task", "work")
        .end("e")
}

fn definition_key(response: &Response) -> skep_protocol::Key {
    match response {
        Response::Deployed(deployed) => deployed.processes[0].key,
        other => panic!("nothing was deployed: {other:?}"),
    }
}

#[test]
fn a_cycle_starts_an_instance_each_time() {
    let mut rig = Rig::with(cyclic("R2/PT1H"));
    assert_eq!(rig.jobs("work").len(), 0);
    rig.advance(3_600_000);
    rig.work("work", "{}");
    rig.advance(3_600_000);
    rig.work("work", "{}");
    rig.advance(10 * 3_600_000);
    assert_eq!(rig.jobs("work").len(), 0);
    assert_eq!(
        rig.intents("TIMER"),
        ["CREATED", "TRIGGERED", "CREATED", "TRIGGERED"]
    );
}

#[test]
fn the_timer_names_the_instance_that_it_starts() {
    let mut rig = Rig::with(cyclic("R1/PT1H"));
    rig.advance(3_600_000);
    let fired = rig.events("TIMER").last().unwrap();
    assert_eq!(fired.instance(), rig.instance_of("p"));
    assert_eq!(fired.field("elementInstanceKey"), -1);
    let instance = rig.instance_of("p");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance), ["tick", "task", "e", "p"]);
}

#[test]
fn an_expression_is_evaluated_at_deployment_without_variables() {
    let mut rig = Rig::with(cyclic(r#"="R/PT" + string(2) + "H""#));
    rig.advance(2 * 3_600_000);
    rig.work("work", "{}");
    rig.advance(2 * 3_600_000);
    rig.work("work", "{}");

    let mut rig = Rig::new();
    let deployment = rig.deploy_files(vec![("p.bpmn", cyclic("=every").xml())]);
    let (kind, reason) = rejected(deployment);
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(
        reason.contains("tick") && reason.contains("every"),
        "{reason}"
    );
    assert_eq!(
        rig.events("PROCESS").count() + rig.events("TIMER").count(),
        0
    );
}

#[test]
fn a_date_that_has_passed_starts_at_once() {
    let bpmn = Bpmn::process("p")
        .start_date("s", "2020-01-01T00:00:00Z")
        .service_task("task", "work")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.run_due();
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn only_the_latest_version_starts() {
    let mut rig = Rig::with(cyclic("R/PT1H"));
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("b", "b")
            .end("e"),
    );
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("work").len(), 0);
}

#[test]
fn deploying_an_unchanged_process_leaves_the_timer_alone() {
    let mut rig = Rig::with(cyclic("R/PT1H"));
    rig.deploy(cyclic("R/PT1H"));
    assert_eq!(rig.intents("TIMER"), ["CREATED"]);
}

#[test]
fn the_version_before_starts_again_when_the_latest_is_deleted() {
    let mut rig = Rig::with(cyclic("R/PT1H"));
    let second = rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("b", "b")
            .end("e"),
    );
    let delete = |key| Command::DeleteResource {
        resource_key: key,
        delete_history: false,
    };
    rig.send(delete(definition_key(&second))).unwrap();
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn a_deleted_process_starts_no_more() {
    let mut rig = Rig::new();
    let deployed = rig.deploy(cyclic("R/PT1H"));
    rig.send(Command::DeleteResource {
        resource_key: definition_key(&deployed),
        delete_history: false,
    })
    .unwrap();
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("work").len(), 0);
    rig.assert_nothing_left();
}

#[test]
fn only_the_partition_that_took_the_deployment_starts_by_timers() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(cyclic("R/PT1H"));
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn many_that_fall_due_together_start_in_turns() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    for number in 0..20 {
        let bpmn = Bpmn::process(format!("p{number}"))
            .start_cycle("s", "R1/PT1H")
            .service_task("t", "work")
            .end("e");
        rig.deploy(bpmn);
    }
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("work").len(), 20);
}
