//! Message start events: a message starts an instance.

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, CorrelateMessage};
use skep_protocol::{Document, Key, Response};
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start_message("s", "order")
        .service_task("task", "work")
        .end("e")
}

fn correlate(rig: &mut Rig, key: &str) -> Result<Response, skep_protocol::Rejection> {
    rig.send(Command::CorrelateMessage(CorrelateMessage {
        name: "order".into(),
        correlation_key: key.into(),
        variables: Document::new(),
    }))
}

#[test]
fn a_message_starts_an_instance_with_its_variables() {
    let mut rig = Rig::with(process());
    rig.publish("other", "k", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 0);
    rig.publish("order", "k", 0, r#"{"total":7}"#);
    let instance = rig.instance_of("p");
    assert_eq!(rig.variable(instance, "total").unwrap(), "7");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn output_mappings_of_the_start_event_choose() {
    let bpmn = Bpmn::process("p")
        .start_message("s", "order")
        .output("=total * 2", "double")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.publish("order", "k", 0, r#"{"total":7}"#);
    let instance = rig.instance_of("p");
    assert_eq!(rig.variable(instance, "double").unwrap(), "14");
    assert_eq!(rig.variable(instance, "total"), None);
}

/// A failed mapping keeps the instance at its start event; the variables of the message are preserved.
#[test]
fn a_failing_mapping_of_the_start_event_can_be_mended() {
    let bpmn = Bpmn::process("p")
        .start_message("s", "order")
        .output("=assert(rate, rate != null)", "seen")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.publish("order", "k", 0, r#"{"total":7}"#);
    let instance = rig.instance_of("p");
    let incident = rig.incident();
    assert_eq!(incident.element, "s");
    rig.set_variables(instance, r#"{"rate":2}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
}

#[test]
fn one_instance_lives_per_correlation_key() {
    let mut rig = Rig::with(process());
    rig.publish("order", "k", 60_000, "{}");
    rig.publish("order", "k", 60_000, "{}");
    rig.publish("order", "k", 0, "{}");
    rig.publish("order", "other", 0, "{}");
    assert_eq!(rig.events("MESSAGE_START_EVENT_SUBSCRIPTION").count(), 3);
    assert_eq!(rig.jobs("work").len(), 2);
}

#[test]
fn without_a_correlation_key_each_message_starts_one() {
    let mut rig = Rig::with(process());
    rig.publish("order", "", 60_000, "{}");
    rig.publish("order", "", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 2);
}

#[test]
fn the_end_of_an_instance_lets_the_next_message_start_one() {
    let mut rig = Rig::with(process());
    for total in 1..=3 {
        rig.publish("order", "k", 60_000, &format!(r#"{{"total":{total}}}"#));
    }
    for total in 1..=3 {
        let instance = rig.instance_of("p");
        assert_eq!(rig.variable(instance, "total").unwrap(), total.to_string());
        match total {
            2 => drop(rig.cancel(instance).unwrap()),
            _ => rig.work("work", "{}"),
        }
    }
    assert_eq!(rig.jobs("work").len(), 0);
    rig.assert_nothing_left();
}

#[test]
fn a_process_that_is_deployed_after_a_message_is_not_started_by_it() {
    let mut rig = Rig::with(process());
    rig.publish("order", "k", 60_000, "{}");
    rig.publish("order", "k", 60_000, "{}");
    let later = Bpmn::process("later")
        .start_message("s", "order")
        .service_task("task", "later")
        .end("e");
    rig.deploy(later);
    rig.work("work", "{}");
    assert_eq!((rig.jobs("work").len(), rig.jobs("later").len()), (1, 0));
    // A message of its own starts it, and finds the key of the other taken.
    rig.publish("order", "k", 0, "{}");
    assert_eq!((rig.jobs("work").len(), rig.jobs("later").len()), (0, 1));
}

#[test]
fn expired_messages_start_no_instances() {
    let mut rig = Rig::with(process());
    rig.publish("order", "k", 60_000, "{}");
    rig.publish("order", "k", 1_000, "{}");
    rig.advance(2_000);
    rig.work("work", "{}");
    assert_eq!(rig.jobs("work").len(), 0);
}

#[test]
fn a_message_goes_to_every_process_that_waits_for_it_or_starts_by_it() {
    let mut rig = Rig::with(process());
    rig.deploy(
        Bpmn::process("q")
            .start_message("s", "order")
            .service_task("task", "work")
            .end("e"),
    );
    rig.deploy(
        Bpmn::process("waits")
            .start("s")
            .catch_message("catch", "order", "=\"k\"")
            .service_task("task", "work")
            .end("e"),
    );
    rig.create("waits", "{}");
    rig.publish("order", "k", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 3);
}

#[test]
fn only_the_latest_version_starts() {
    let mut rig = Rig::with(process());
    let second = Bpmn::process("p")
        .start_message("s2", "order")
        .service_task("task", "second")
        .end("e");
    rig.deploy(second);
    assert_eq!(
        rig.intents("MESSAGE_START_EVENT_SUBSCRIPTION"),
        ["CREATED", "DELETED", "CREATED"]
    );
    rig.publish("order", "k", 0, "{}");
    assert_eq!((rig.jobs("work").len(), rig.jobs("second").len()), (0, 1));
}

#[test]
fn a_new_version_keeps_the_correlation_keys_of_running_instances() {
    let mut rig = Rig::with(process());
    rig.publish("order", "k", 0, "{}");
    rig.deploy(process().name("the second"));
    rig.publish("order", "k", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn the_version_before_starts_again_when_the_latest_is_deleted() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    let second = rig.deploy(Bpmn::process("p").start("s").end("e"));
    let Response::Deployed(second) = second else {
        panic!("nothing was deployed");
    };
    rig.publish("order", "k", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 0);
    rig.send(Command::DeleteResource {
        resource_key: second.processes[0].key,
        delete_history: false,
    })
    .unwrap();
    for key in ["a", "b", "c", "d"] {
        rig.publish("order", key, 0, "{}");
    }
    assert_eq!(rig.jobs("work").len(), 4);
}

#[test]
fn an_instance_begins_where_its_message_is() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    let keys = ["a", "b", "c", "d", "e", "f"];
    for key in keys {
        let message = rig.publish("order", key, 0, "{}");
        let instance = rig.instance_of("p");
        assert_eq!(instance.partition(), message.partition());
    }
    assert_eq!(rig.jobs("work").len(), keys.len());
    let partitions: std::collections::BTreeSet<_> =
        rig.events("MESSAGE").map(|r| r.partition).collect();
    assert_eq!(
        partitions.len(),
        3,
        "the keys are spread over all partitions"
    );
}

#[test]
fn correlating_starts_an_instance_and_returns_its_key() {
    let mut rig = Rig::with(process());
    let answer = correlate(&mut rig, "k").unwrap();
    let Response::MessageCorrelated {
        process_instance_key,
        ..
    } = answer
    else {
        panic!("the message was not correlated: {answer:?}");
    };
    assert_eq!(process_instance_key, rig.instance_of("p"));
    assert_ne!(process_instance_key, Key::NONE);
    let (kind, _) = rejected(correlate(&mut rig, "k"));
    assert_eq!(kind, "NOT_FOUND", "the correlation key is taken");
    rig.work("work", "{}");
    correlate(&mut rig, "k").unwrap();
}

#[test]
fn it_is_no_process_to_create_or_call() {
    let mut rig = Rig::with(process());
    let (kind, reason) = rejected(rig.send(Rig::creation("p", "{}").into_command()));
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("none start event"), "{reason}");
}

#[test]
fn a_message_for_many_processes_takes_turns() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    for number in 0..50 {
        let bpmn = Bpmn::process(format!("p{number}"))
            .start_message("s", "order")
            .service_task("t", "work")
            .end("e");
        rig.deploy(bpmn);
    }
    rig.publish("order", "k", 0, "{}");
    assert_eq!(rig.jobs("work").len(), 50);
}
