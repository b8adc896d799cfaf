//! Buffering, time to live, message ids, one instance per process; the correlate command, whose answer names the correlated instance.

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, CorrelateMessage};
use skep_protocol::{Document, Response};
use skep_testkit::rig::*;

fn process(id: &str) -> Bpmn {
    Bpmn::process(id)
        .start("s")
        .catch_message("catch", "m", "=key")
        .end("e")
}

#[test]
fn a_message_is_buffered_for_its_time_to_live() {
    let mut rig = Rig::with(process("p"));
    rig.publish("m", "k", MINUTE, "{}");
    rig.advance(MINUTE - 1);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.assert_completed(instance);
}

#[test]
fn it_expires_after_its_time_to_live() {
    let mut rig = Rig::with(process("p"));
    rig.publish("m", "k", MINUTE, "{}");
    rig.advance(MINUTE);
    assert_eq!(rig.intents("MESSAGE"), ["PUBLISHED", "EXPIRED"]);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    assert!(rig.is_running(instance));
    assert!(rig.engine(1).state.messages.is_empty());
}

#[test]
fn without_time_to_live_it_is_not_buffered() {
    let mut rig = Rig::with(process("p"));
    rig.publish("m", "k", 0, "{}");
    assert_eq!(rig.intents("MESSAGE"), ["PUBLISHED", "EXPIRED"]);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    assert!(rig.is_running(instance));
}

#[test]
fn the_oldest_buffered_message_comes_first() {
    let mut rig = Rig::with(process("p"));
    rig.publish("m", "k", MINUTE, r#"{"n":1}"#);
    rig.publish("m", "k", MINUTE, r#"{"n":2}"#);
    let first = rig.create("p", r#"{"key":"k"}"#);
    let second = rig.create("p", r#"{"key":"k"}"#);
    assert_eq!(rig.variable(first, "n").unwrap(), "1");
    assert_eq!(rig.variable(second, "n").unwrap(), "2");
}

#[test]
fn a_message_goes_to_one_instance_of_each_process() {
    let mut rig = Rig::new();
    rig.deploy(process("p"));
    rig.deploy(process("q"));
    let first = rig.create("p", r#"{"key":"k"}"#);
    let second = rig.create("p", r#"{"key":"k"}"#);
    let other = rig.create("q", r#"{"key":"k"}"#);
    rig.publish("m", "k", MINUTE, "{}");
    assert!(!rig.is_running(first));
    assert!(rig.is_running(second), "the process has had the message");
    assert!(!rig.is_running(other));
    rig.publish("m", "k", MINUTE, "{}");
    rig.assert_completed(second);
}

#[test]
fn a_message_id_is_unique_while_the_message_is_buffered() {
    let mut rig = Rig::with(process("p"));
    let message = || {
        let mut message = Rig::message("m", "k", MINUTE, "{}");
        message.message_id = "id-1".into();
        Command::PublishMessage(message)
    };
    rig.send(message()).unwrap();
    assert_eq!(rejected(rig.send(message())).0, "ALREADY_EXISTS");
    let mut other = Rig::message("m", "k2", MINUTE, "{}");
    other.message_id = "id-1".into();
    rig.send(Command::PublishMessage(other)).unwrap();
    rig.advance(MINUTE);
    rig.send(message()).unwrap();
}

fn correlate(key: &str) -> Command {
    Command::CorrelateMessage(CorrelateMessage {
        name: "m".into(),
        correlation_key: key.into(),
        variables: Document::parse(r#"{"x":1}"#).unwrap(),
    })
}

#[test]
fn correlation_returns_the_instance_that_took_the_message() {
    let mut rig = Rig::with(process("p"));
    let instance = rig.create("p", r#"{"key":"k"}"#);
    match rig.send(correlate("k")) {
        Ok(Response::MessageCorrelated {
            process_instance_key,
            ..
        }) => {
            assert_eq!(process_instance_key, instance);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.variable(instance, "x").unwrap(), "1");
    assert_eq!(
        rig.intents("MESSAGE_CORRELATION"),
        ["CORRELATING", "CORRELATED"]
    );
    rig.assert_completed(instance);
}

#[test]
fn correlate_is_refused_when_nobody_waits() {
    let mut rig = Rig::with(process("p"));
    rig.create("p", r#"{"key":"other"}"#);
    assert_eq!(rejected(rig.send(correlate("k"))).0, "NOT_FOUND");
    assert!(rig.engine(1).state.messages.is_empty());
}

/// Later instances, of any version, wait for another message.
#[test]
fn a_buffered_message_is_taken_once_per_process() {
    let version = |job: &str| {
        Bpmn::process("p")
            .start("s")
            .catch_message("catch", "m", "=k")
            .service_task("t", job)
            .end("e")
    };
    let mut rig = Rig::with(version("first"));
    rig.publish("m", "a", 10 * MINUTE, "{}");
    let taker = rig.create("p", r#"{"k":"a"}"#);
    assert_eq!(rig.jobs("first").len(), 1);
    rig.create("p", r#"{"k":"a"}"#);
    rig.cancel(taker).unwrap();
    rig.deploy(version("second"));
    rig.create("p", r#"{"k":"a"}"#);
    assert_eq!((rig.jobs("first").len(), rig.jobs("second").len()), (0, 0));
    rig.publish("m", "a", 0, "{}");
    assert_eq!((rig.jobs("first").len(), rig.jobs("second").len()), (1, 0));
    rig.publish("m", "a", 0, "{}");
    assert_eq!((rig.jobs("first").len(), rig.jobs("second").len()), (0, 1));
}

#[test]
fn an_instance_takes_a_message_once_however_often_it_waits() {
    let side_by_side = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .catch_message("c1", "m", "=k")
        .service_task("t1", "work")
        .end("e1")
        .from("fork")
        .catch_message("c2", "m", "=k")
        .service_task("t2", "work")
        .end("e2");
    let in_a_row = Bpmn::process("p")
        .start("s")
        .catch_message("c1", "m", "=k")
        .service_task("t1", "work")
        .catch_message("c2", "m", "=k")
        .service_task("t2", "work")
        .end("e");
    for bpmn in [side_by_side, in_a_row] {
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", r#"{"k":"a"}"#);
        for _ in 0..2 {
            rig.publish("m", "a", MINUTE, "{}");
            rig.work("work", "{}");
            assert!(rig.jobs("work").is_empty());
        }
        rig.assert_completed(instance);
    }
}

#[test]
fn the_key_is_that_of_the_moment_when_the_element_was_reached() {
    let mut rig = Rig::with(process("p"));
    let instance = rig.create("p", r#"{"key":"a"}"#);
    rig.set_variables(instance, r#"{"key":"b"}"#, false);
    rig.publish("m", "b", 0, "{}");
    assert!(rig.is_running(instance));
    rig.publish("m", "a", 0, "{}");
    rig.assert_completed(instance);
}
