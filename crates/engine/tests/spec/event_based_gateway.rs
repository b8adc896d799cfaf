//! The event-based gateway: the first event to occur decides which flow is taken.

use skep_model::builder::Bpmn;
use skep_protocol::Document;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_testkit::rig::*;

fn race() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .event_based("which")
        .catch_message("message", "paid", "=key")
        .service_task("a", "paid")
        .end("e1")
        .from("which")
        .catch_duration("timer", "PT1H")
        .service_task("b", "late")
        .end("e2")
        .from("which")
        .catch_signal("signal", "stop")
        .service_task("c", "stopped")
        .end("e3")
}

#[test]
fn the_first_event_counts_and_the_others_are_forgotten() {
    let mut rig = Rig::with(race());
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("paid", "k", 0, r#"{"amount":7}"#);
    assert_eq!(rig.variable(instance, "amount").unwrap(), "7");
    rig.advance(3_600_000);
    assert_eq!(rig.jobs("late").len(), 0);
    rig.work("paid", "{}");
    rig.assert_completed(instance);
}

#[test]
fn timers_and_signals_count_too() {
    let mut rig = Rig::with(race());
    let late = rig.create("p", r#"{"key":"k"}"#);
    rig.advance(3_600_000);
    rig.work("late", "{}");
    rig.assert_completed(late);
    let stopped = rig.create("p", r#"{"key":"k"}"#);
    rig.send(Command::BroadcastSignal(BroadcastSignal {
        signal_name: "stop".into(),
        variables: Document::new(),
    }))
    .unwrap();
    rig.work("stopped", "{}");
    rig.assert_completed(stopped);
}

#[test]
fn an_expression_that_fails_holds_up_the_gateway() {
    let mut rig = Rig::with(race());
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "which");
    rig.set_variables(instance, r#"{"key":"k"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.publish("paid", "k", 0, "{}");
    rig.work("paid", "{}");
    rig.assert_completed(instance);
}

#[test]
fn it_ends_with_its_instance() {
    let mut rig = Rig::with(race());
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn an_event_behind_it_is_no_place_to_start() {
    let mut rig = Rig::with(race());
    let mut creation = Rig::creation("p", r#"{"key":"k"}"#);
    creation.start_instructions = vec!["timer".into()];
    let (kind, reason) = rejected(rig.send(creation.into_command()));
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("event-based gateway"), "{reason}");
}
