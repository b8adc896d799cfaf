//! Business rule tasks: a decision, or a job.

use skep_model::builder::Bpmn;

use skep_testkit::rig::*;

fn process(decision: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .decision("decide", decision, "result")
}

/// `fee` is `1 + x`, and fails without `x`.
fn fees() -> (&'static str, String) {
    (
        "fees.dmn",
        decision("fees", "fee", "assert(1 + x, x != null)"),
    )
}

fn deployed(bpmn: Bpmn) -> Rig {
    let mut rig = Rig::new();
    rig.deployed(vec![("p.bpmn", bpmn.xml()), fees()]);
    rig
}

#[test]
fn the_output_becomes_a_variable_of_the_process() {
    let mut rig = deployed(process("fee").end("e"));
    let instance = rig.create("p", r#"{"x":2}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "result").as_deref(), Some("3"));
    let life = rig.life(instance);
    let of_task: Vec<_> = life.iter().filter(|l| l.ends_with(" decide")).collect();
    assert_eq!(
        of_task,
        [
            "ACTIVATING decide",
            "ACTIVATED decide",
            "COMPLETING decide",
            "COMPLETED decide"
        ]
    );
    let record = rig.events("DECISION_EVALUATION").next().unwrap();
    assert_eq!(
        (
            record.intent,
            record.text("bpmnProcessId"),
            record.element()
        ),
        ("EVALUATED", "p", "decide")
    );
}

#[test]
fn with_mappings_it_sees_local_variables_and_keeps_the_result_local() {
    let bpmn = process("fee")
        .input("=amount * 10", "x")
        .output("=result + 1", "total")
        .end("e");
    let mut rig = deployed(bpmn);
    let instance = rig.create("p", r#"{"amount":4}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "total").as_deref(), Some("42"));
    assert_eq!(rig.variable(instance, "result"), None);
}

#[test]
fn a_failed_evaluation_is_an_incident_and_tried_again() {
    let mut rig = deployed(process("fee").end("e"));
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.kind, "DECISION_EVALUATION_ERROR");
    assert!(incident.message.contains("'fee'"), "{}", incident.message);
    rig.resolve(incident.key).unwrap();
    let incident = rig.incident();
    rig.set_variables(instance, r#"{"x":1}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(
        rig.intents("DECISION_EVALUATION"),
        ["FAILED", "FAILED", "EVALUATED"]
    );
}

#[test]
fn a_missing_decision_is_an_incident_until_it_is_deployed() {
    let mut rig = Rig::new();
    rig.deployed(vec![("p.bpmn", process("=which").end("e").xml())]);
    let instance = rig.create("p", r#"{"x":1,"which":"fee"}"#);
    let incident = rig.incident();
    assert_eq!(incident.kind, "CALLED_DECISION_ERROR");
    assert!(
        incident.message.contains("'fee' to be deployed"),
        "{}",
        incident.message
    );
    rig.deployed(vec![fees()]);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);

    rig.create("p", r#"{"which":7}"#);
    assert_eq!(rig.incident().kind, "EXTRACT_VALUE_ERROR");
}

#[test]
fn boundary_events_are_closed_again_as_it_never_waits() {
    let bpmn = process("fee")
        .end("e")
        .boundary_duration("late", "decide", "PT1M")
        .end("e2");
    let mut rig = deployed(bpmn);
    let instance = rig.create("p", r#"{"x":1}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
}

#[test]
fn an_endless_loop_of_decisions_raises_an_incident() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |b| {
            b.start("is").decision("decide", "fee", "x").end("ie")
        })
        .exclusive("g")
        .when("=false")
        .end("e")
        .from("g")
        .otherwise()
        .to("sub");
    let mut rig = deployed(bpmn);
    let instance = rig.create("p", r#"{"x":1}"#);
    assert!(rig.incident().message.contains("steps in a row"));
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn as_a_job_it_waits_for_a_worker() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .job_task("businessRuleTask", "decide", "rules")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("rules", r#"{"result":1}"#);
    rig.assert_completed(instance);
}
