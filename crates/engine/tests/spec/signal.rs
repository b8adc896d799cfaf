//! Signals: broadcasts, caught by intermediate, boundary and start events.

use skep_model::builder::Bpmn;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_protocol::{Document, Rejection, Response};
use skep_testkit::rig::*;

fn broadcast(rig: &mut Rig, name: &str, variables: &str) -> Result<Response, Rejection> {
    rig.send(Command::BroadcastSignal(BroadcastSignal {
        signal_name: name.into(),
        variables: Document::parse(variables).unwrap(),
    }))
}

fn waiting() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_signal("await", "go")
        .service_task("task", "work")
        .end("e")
}

#[test]
fn it_reaches_all_that_wait_for_it() {
    let mut rig = Rig::with(waiting());
    for _ in 0..3 {
        rig.create("p", "{}");
    }
    let answer = broadcast(&mut rig, "other", "{}").unwrap();
    assert!(matches!(answer, Response::SignalBroadcast { .. }));
    assert_eq!(rig.jobs("work").len(), 0);
    broadcast(&mut rig, "go", r#"{"by":"us"}"#).unwrap();
    assert_eq!(rig.jobs("work").len(), 3);
    let instance = rig.instance_of("p");
    assert_eq!(rig.variable(instance, "by").unwrap(), r#""us""#);
}

#[test]
fn a_signal_that_nobody_waits_for_is_not_kept() {
    let mut rig = Rig::with(waiting());
    broadcast(&mut rig, "go", "{}").unwrap();
    rig.create("p", "{}");
    assert_eq!(rig.jobs("work").len(), 0, "it is not kept for later");
}

#[test]
fn a_name_is_needed() {
    let mut rig = Rig::new();
    let (kind, _) = rejected(broadcast(&mut rig, "", "{}"));
    assert_eq!(kind, "INVALID_ARGUMENT");
}

#[test]
fn its_variables_go_through_output_mappings() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_signal("await", "go")
        .output("=n + 1", "next")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    broadcast(&mut rig, "go", r#"{"n":1}"#).unwrap();
    assert_eq!(rig.variable(instance, "next").unwrap(), "2");
    assert_eq!(rig.variable(instance, "n"), None);
    rig.assert_completed(instance);
}

/// The trigger keeps the variables of the signal.
#[test]
fn a_failing_output_mapping_can_be_mended() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_signal("await", "go")
        .output("=assert(rate, rate != null) * n", "sum")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    broadcast(&mut rig, "go", r#"{"n":3}"#).unwrap();
    let incident = rig.incident();
    rig.set_variables(instance, r#"{"rate":2}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.variable(instance, "sum").unwrap(), "6");
    rig.assert_completed(instance);
}

#[test]
fn boundary_events_interrupt_or_do_not() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_signal("note", "task", "note")
        .non_interrupting()
        .service_task("noted", "noted")
        .end("e2")
        .boundary_signal("stop", "task", "stop")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    broadcast(&mut rig, "note", "{}").unwrap();
    broadcast(&mut rig, "note", "{}").unwrap();
    let jobs = rig.jobs("noted");
    assert_eq!(jobs.len(), 2);
    broadcast(&mut rig, "stop", "{}").unwrap();
    assert_eq!(rig.terminated(instance), ["task"]);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn it_starts_the_latest_version_of_a_process_once() {
    let start = |job: &str| {
        Bpmn::process("p")
            .start_signal("s", "go")
            .service_task("task", job)
            .end("e")
    };
    let mut rig = Rig::with_partitions(3);
    rig.deploy(start("old"));
    rig.deploy(start("new"));
    broadcast(&mut rig, "go", r#"{"by":"us"}"#).unwrap();
    assert_eq!((rig.jobs("old").len(), rig.jobs("new").len()), (0, 1));
    let instance = rig.instance_of("p");
    assert_eq!(rig.variable(instance, "by").unwrap(), r#""us""#);
}

#[test]
fn it_reaches_every_partition_wherever_it_comes_from() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(waiting());
    for partition in 1..=3 {
        rig.create_on(partition, "p", "{}");
    }
    let command = Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    });
    let request = rig.send_to(2, command);
    assert!(rig.answer(request).unwrap().is_ok());
    assert_eq!(rig.jobs("work").len(), 3);
}

#[test]
fn an_event_throws_it_with_its_own_variables() {
    let mut rig = Rig::with(waiting());
    let throwing = Bpmn::process("thrower")
        .start("s")
        .throw_signal("shout", "=name")
        .input("=secret + 1", "told")
        .end_signal("again", "go");
    rig.deploy(throwing);
    let waiting = rig.create("p", "{}");
    let thrower = rig.create("thrower", r#"{"secret":1}"#);
    let incident = rig.incident();
    assert_eq!(incident.element, "shout");
    rig.set_variables(thrower, r#"{"name":"go"}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.variable(waiting, "told").unwrap(), "2");
    assert_eq!(rig.variable(waiting, "secret"), None);
    rig.work("work", "{}");
    rig.assert_completed(thrower);
    assert_eq!(rig.intents("SIGNAL"), ["BROADCASTED", "BROADCASTED"]);
}

#[test]
fn a_catch_event_activated_alongside_the_throw_event_gets_the_signal() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .catch_signal("await", "go")
        .end("e")
        .from("fork")
        .throw_signal("shout", "go")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
}

/// A process that throws its own start signal would never end: an incident stops it.
#[test]
fn a_process_that_starts_itself_has_an_incident() {
    let bpmn = Bpmn::process("p")
        .start_signal("s", "go")
        .end_signal("e", "go");
    let mut rig = Rig::with(bpmn);
    broadcast(&mut rig, "go", "{}").unwrap();
    let incidents = rig.incidents();
    assert!(!incidents.is_empty());
    let names_the_cause = |message: &str| message.contains("without a wait state");
    assert!(
        incidents
            .iter()
            .all(|incident| names_the_cause(&incident.message))
    );
}

#[test]
fn very_many_waiting_instances_are_reached_over_several_turns() {
    let mut rig = Rig::with(waiting());
    rig.turn_steps(50);
    rig.interrupted = true;
    for _ in 0..300 {
        rig.create("p", "{}");
    }
    broadcast(&mut rig, "go", "{}").unwrap();
    let reached = |rig: &Rig| {
        let life = rig.events("PROCESS_INSTANCE");
        life.filter(|r| r.intent == "ELEMENT_COMPLETED" && r.element() == "await")
            .count()
    };
    assert!(reached(&rig) < 200, "one command does not do it all");
    assert!(rig.engine(1).has_work());
    // Later subscriptions do not receive the signal.
    let late = rig.create("p", "{}");
    rig.interrupted = false;
    rig.settle(1);
    assert_eq!(reached(&rig), 300);
    assert!(!rig.engine(1).has_work());
    assert!(!rig.completed(late).contains(&"await".to_string()));
    assert_eq!(rig.engine(1).state.signals.on_their_way.len(), 0);
}

#[test]
fn a_name_that_is_too_long_is_an_incident_that_variables_mend() {
    let throwing = Bpmn::process("thrower")
        .start("s")
        .throw_signal("shout", "=name")
        .end("e");
    let mut rig = Rig::with(throwing);
    let longest = "ä".repeat(32_768);
    let instance = rig.create("thrower", &format!(r#"{{"name":"{longest}ä"}}"#));
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
    let said = "The signal name that its expression yields has 32769 characters, but at most 32768 are allowed.";
    assert!(incident.message.contains(said), "{}", incident.message);
    rig.set_variables(instance, &format!(r#"{{"name":"{longest}"}}"#), false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
}
