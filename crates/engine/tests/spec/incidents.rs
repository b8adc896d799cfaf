//! Common behaviour of all incidents; each kind is specified with its cause.

use skep_model::builder::Bpmn;
use skep_protocol::command::Command;
use skep_protocol::{Key, Response};
use skep_testkit::rig::*;

#[test]
fn resolving_an_unknown_incident_is_refused() {
    let mut rig = Rig::new();
    assert_eq!(rejected(rig.resolve(Key::new(1, 77))).0, "NOT_FOUND");
}

#[test]
fn an_incident_ends_with_its_instance() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "=missing")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert_eq!(rig.incident().kind, "EXTRACT_VALUE_ERROR");
    rig.cancel(instance).unwrap();
    assert_eq!(rig.intents("INCIDENT"), ["CREATED", "RESOLVED"]);
    rig.assert_terminated(instance);
}

#[test]
fn a_cause_that_is_not_mended_raises_a_new_incident() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "=missing")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.create("p", "{}");
    let first = rig.incident();
    rig.resolve(first.key).unwrap();
    let second = rig.incident();
    assert_ne!(first.key, second.key);
    assert_eq!(rejected(rig.resolve(first.key)).0, "NOT_FOUND");
}

#[test]
fn each_expression_of_a_service_task_can_be_mended() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "=type")
        .retries("=tries")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    for variables in [
        r#"{"type":1}"#,
        r#"{"type":""}"#,
        r#"{"type":"work"}"#,
        r#"{"tries":"x"}"#,
    ] {
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
        rig.set_variables(instance, variables, false);
        rig.resolve(incident.key).unwrap();
    }
    let incident = rig.incident();
    rig.set_variables(instance, r#"{"tries":4}"#, false);
    rig.resolve(incident.key).unwrap();
    let job = rig.job("work");
    assert_eq!(job.retries, 4);
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn other_paths_continue_beside_an_incident() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("bad", "=missing")
        .end("e1")
        .from("fork")
        .service_task("good", "good")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("good", "{}");
    assert!(rig.completed(instance).contains(&"e2".to_string()));
    assert_eq!(rig.incident().element, "bad");
}

#[test]
fn events_do_not_reach_an_activity_that_waits_for_its_output_mapping() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .output("=assert(x, x != null)", "y")
        .end("e")
        .boundary_message("stop", "t", "stop", "=\"k\"")
        .end("e2")
        .boundary_duration("late", "t", "PT1M")
        .end("e3")
        .boundary_cycle("tick", "t", "R/PT1M")
        .end("e4");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    let incident = rig.incident();
    assert_eq!(incident.kind, "IO_MAPPING_ERROR");
    rig.publish("stop", "k", 0, "{}");
    rig.advance(MINUTE);
    rig.advance(MINUTE);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CREATED"]);
    let refused = |r: &&Seen| !r.is_event() && r.value_type == "TIMER" && r.intent == "TRIGGER";
    let refusals = rig.seen.iter().filter(refused);
    let refusals = refusals.filter(|r| r.json["rejectionType"] == "INVALID_STATE");
    assert_eq!(refusals.count(), 2, "each is refused once and rests");
    rig.set_variables(instance, r#"{"x":1}"#, false);
    rig.resolve(incident.key).unwrap();
    assert!(rig.completed(instance).contains(&"e".to_string()));
    rig.assert_completed(instance);
}

#[test]
fn open_incidents_are_listed_and_the_list_leaves_no_trace() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "=missing")
        .end("e");
    let mut rig = Rig::with(bpmn);
    for _ in 0..3 {
        rig.create("p", "{}");
    }
    let mut list = |after, limit| {
        let command = Command::ListIncidents {
            partition: 1,
            after,
            limit,
        };
        match rig.send(command).unwrap() {
            Response::IncidentsListed { incidents, more } => (incidents, more),
            other => panic!("{other:?}"),
        }
    };
    let (first, more) = list(Key::NONE, 2);
    assert_eq!((first.len(), more), (2, true));
    assert_eq!(
        (&*first[0].element_id, &*first[0].bpmn_process_id),
        ("t", "p")
    );
    let (rest, more) = list(first[1].key, 2);
    assert_eq!((rest.len(), more), (1, false));
    assert!(rest[0].key > first[1].key);
    assert_eq!(rig.intents("INCIDENT"), ["CREATED"; 3]);
}

/// The message contains the warnings of the evaluation, so that its reader knows which variable to fix.
#[test]
fn the_message_has_the_warnings_of_the_expression() {
    let around = |p: fn(Bpmn) -> Bpmn| p(Bpmn::process("p").start("s")).end("e");
    let missing = "The evaluation reported the following warnings:\n\
                   [NO_VARIABLE_FOUND] No variable found with name 'x'";
    for (bpmn, message) in [
        (
            around(|p| p.service_task("t", "=x")),
            "Expected result of the expression 'x' to be 'STRING', but was 'NULL'.",
        ),
        (
            around(|p| p.service_task("t", "work").retries("=x")),
            "Expected result of the expression 'x' to be 'NUMBER', but was 'NULL'.",
        ),
        (
            around(|p| p.catch_message("t", "m", "=x")),
            "Failed to extract the correlation key for 'x': The value must be either a string or a number, but was 'NULL'.",
        ),
        (
            around(|p| p.catch_duration("t", "=x")),
            "Expected result of the expression 'x' to be a duration, as a value or as text, but was 'NULL'.",
        ),
        (
            around(|p| p.exclusive("t").when("=x")),
            "Expected result of the expression 'x' to be 'BOOLEAN', but was 'NULL'.",
        ),
        (
            around(|p| {
                p.service_task("t", "work")
                    .input("=assert(x, x != null)", "y")
            }),
            "Assertion failure on evaluate the expression 'assert(x, x != null)': The condition is not fulfilled",
        ),
    ] {
        let mut rig = Rig::with(bpmn);
        rig.create("p", "{}");
        assert!(
            rig.incident()
                .message
                .starts_with(&format!("{message} {missing}")),
            "{}",
            rig.incident().message
        );
    }
}

#[test]
fn a_message_without_warnings_ends_with_itself() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "=x")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.create("p", r#"{"x":null}"#);
    assert_eq!(
        rig.incident().message,
        "Expected result of the expression 'x' to be 'STRING', but was 'NULL'."
    );
}

#[test]
fn a_message_is_bounded() {
    let names: Vec<String> = (0..3000).map(|i| format!("unknown{i}")).collect();
    let expression = format!("={}", names.join(" + "));
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", &expression)
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.create("p", "{}");
    let message = rig.incident().message;
    assert!(message.len() < 16 << 10, "{}", message.len());
    assert!(message.contains("… and "), "{message}");
}
