//! The two sides of a subscription on different partitions, over a network that loses and duplicates commands.

use std::sync::{Arc, Mutex};

use skep_engine::{EngineConfig, RemoteCommand, Sent, TurnTime};
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, CorrelateMessage};
use skep_protocol::{Document, Response};
use skep_testkit::rig::*;

/// "k" belongs to partition 3 of 3.
const KEY: &str = "k";

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_message("catch", "m", "=key")
        .service_task("task", "work")
        .end("e")
}

fn rig(bpmn: Bpmn) -> Rig {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(bpmn);
    assert_ne!(skep_protocol::Routing::new(3).of_correlation(KEY), 1);
    rig
}

fn name(command: &RemoteCommand) -> &'static str {
    match command {
        RemoteCommand::OpenMessageSubscription(_) => "open",
        RemoteCommand::MessageSubscriptionOpened { .. } => "opened",
        RemoteCommand::CorrelateSubscription(_) => "correlate",
        RemoteCommand::MessageCorrelated { .. } => "correlated",
        RemoteCommand::RejectCorrelation { .. } => "reject",
        RemoteCommand::CloseMessageSubscription { .. }
        | RemoteCommand::CloseMessageSubscriptionByKey { .. } => "close",
        RemoteCommand::MessageSubscriptionClosed { .. } => "closed",
        RemoteCommand::Distribute { .. } => "distribute",
        RemoteCommand::AcknowledgeDistribution { .. } => "acknowledge",
        RemoteCommand::BatchPart { .. } => "batch",
        RemoteCommand::Scaling(_) => "scaling",
        RemoteCommand::Routing(_) => "routing",
        RemoteCommand::SentOn { command, .. } => name(command),
    }
}

/// Drops the first command of this kind.
fn lose_first(rig: &mut Rig, kind: &'static str) {
    let mut lost = false;
    rig.fate = Box::new(move |command| {
        if name(command) == kind && !lost {
            lost = true;
            return Fate::Lost;
        }
        Fate::Arrives
    });
}

#[test]
fn a_message_finds_instances_on_all_partitions() {
    let mut rig = rig(process());
    for partition in 1..=3 {
        let instance = rig.create_on(partition, "p", r#"{"key":"k"}"#);
        rig.publish("m", KEY, 0, r#"{"x":1}"#);
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}

#[test]
fn each_lost_command_is_repeated() {
    for kind in ["open", "opened", "correlate", "correlated", "closed"] {
        let mut rig = rig(process());
        lose_first(&mut rig, kind);
        let instance = rig.create("p", r#"{"key":"k"}"#);
        rig.advance(10_000);
        rig.publish("m", KEY, MINUTE, "{}");
        rig.advance(10_000);
        rig.work("work", "{}");
        rig.advance(10_000);
        assert_eq!(
            rig.completed(instance),
            ["s", "catch", "task", "e", "p"],
            "{kind} lost"
        );
        rig.assert_completed(instance);
    }
}

#[test]
fn each_lost_command_is_repeated_while_the_clock_is_pinned() {
    for kind in ["open", "correlate", "closed"] {
        let mut rig = rig(process());
        let timestamp = START + 100 * MINUTE;
        rig.send(Command::PinClock { timestamp }).unwrap();
        lose_first(&mut rig, kind);
        let instance = rig.create("p", r#"{"key":"k"}"#);
        rig.advance(10_000);
        rig.publish("m", KEY, MINUTE, "{}");
        rig.advance(10_000);
        rig.work("work", "{}");
        rig.advance(10_000);
        rig.assert_completed(instance);
    }
}

#[test]
fn each_lost_command_is_repeated_though_the_clock_of_the_wall_was_set_back() {
    for kind in ["open", "correlate", "closed"] {
        let mut rig = rig(process());
        rig.run_due();
        lose_first(&mut rig, kind);
        let instance = rig.create("p", r#"{"key":"k"}"#);
        rig.advance(-60 * MINUTE);
        rig.publish("m", KEY, MINUTE, "{}");
        rig.advance(-60 * MINUTE);
        rig.work("work", "{}");
        rig.advance(-60 * MINUTE);
        rig.assert_completed(instance);
    }
}

/// As partitions are configured: with a monotonic clock that advances independently of the wall clock.
#[test]
fn a_lost_command_is_repeated_after_its_interval_though_the_clock_of_the_wall_stands_still() {
    thread_local! {
        static PASSED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    let clock = || PASSED.get();
    let pass = |millis: u64| PASSED.set(PASSED.get() + millis * 1_000_000);
    let mut rig = Rig::with_configs(3, |id| EngineConfig {
        turn_time: Some(TurnTime {
            most: u64::MAX,
            clock,
        }),
        ..config(id, 3)
    });
    rig.deploy(process());
    rig.run_due();
    lose_first(&mut rig, "open");
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("m", KEY, MINUTE, "{}");
    pass(9_000);
    rig.run_due();
    assert_eq!(rig.jobs("work").len(), 0, "not before its time");
    pass(1_000);
    rig.run_due();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn everything_twice_is_the_same_as_once() {
    let mut rig = rig(process());
    rig.fate = Box::new(|_| Fate::Twice);
    let first = rig.create("p", r#"{"key":"k"}"#);
    let second = rig.create_on(2, "p", r#"{"key":"k"}"#);
    rig.publish("m", KEY, 0, r#"{"n":1}"#);
    assert_eq!(rig.jobs("work").len(), 1, "one instance takes the message");
    rig.publish("m", KEY, 0, r#"{"n":2}"#);
    assert_eq!(rig.jobs("work").len(), 1);
    for instance in [first, second] {
        rig.cancel(instance).unwrap();
    }
    rig.assert_nothing_left();
}

#[test]
fn a_message_whose_acknowledgement_is_lost_is_not_given_to_another_instance() {
    let mut rig = rig(process());
    let first = rig.create("p", r#"{"key":"k"}"#);
    let second = rig.create("p", r#"{"key":"k"}"#);
    lose_first(&mut rig, "correlated");
    rig.publish("m", KEY, 0, "{}");
    rig.advance(10_000);
    rig.advance(10_000);
    assert!(rig.completed(first).contains(&"catch".to_string()));
    assert!(!rig.completed(second).contains(&"catch".to_string()));
}

fn news() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_message("news", "task", "m", "=key")
        .non_interrupting()
        .end("e2")
}

#[test]
fn a_non_interrupting_event_takes_a_repeated_message_once() {
    for kind in ["correlate", "correlated"] {
        let mut rig = rig(news());
        let instance = rig.create("p", r#"{"key":"k"}"#);
        lose_first(&mut rig, kind);
        rig.publish("m", KEY, 0, "{}");
        for _ in 0..3 {
            rig.advance(10_000);
        }
        let taken = rig
            .completed(instance)
            .iter()
            .filter(|e| *e == "news")
            .count();
        assert_eq!(taken, 1, "{kind} lost");
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}

/// After a pause, a node sends its queued commands: others were repeated over another route long ago.
#[test]
fn a_non_interrupting_event_takes_no_message_again_that_comes_after_later_ones() {
    for messages in [2, 5, 100] {
        let mut rig = rig(news());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let copies = sent.clone();
        rig.fate = Box::new(move |command| {
            if name(command) == "correlate" {
                copies.lock().unwrap().push(Sent::from(command.clone()));
            }
            Fate::Arrives
        });
        let instance = rig.create("p", r#"{"key":"k"}"#);
        for _ in 0..messages {
            rig.publish("m", KEY, 0, "{}");
        }
        let late = sent.lock().unwrap().clone();
        assert_eq!(late.len(), messages);
        rig.network.extend(late.into_iter().map(|copy| (1, copy)));
        rig.advance(10_000);
        let completed = rig.completed(instance);
        let taken = completed.iter().filter(|e| *e == "news").count();
        assert_eq!(taken, messages);
        rig.work("work", "{}");
        rig.advance(10_000);
        rig.assert_nothing_left();
    }
}

#[test]
fn a_subscription_that_is_opened_again_after_its_end_is_closed_again() {
    let mut rig = rig(process());
    let sent = Arc::new(Mutex::new(Vec::new()));
    let copies = sent.clone();
    rig.fate = Box::new(move |command| {
        if name(command) == "open" {
            copies.lock().unwrap().push(Sent::from(command.clone()));
        }
        Fate::Arrives
    });
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("m", KEY, 0, "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    let late = sent.lock().unwrap().clone();
    assert_eq!(late.len(), 1);
    let partition = skep_protocol::Routing::new(3).of_correlation(KEY);
    let late = late.into_iter().map(|copy| (partition, copy));
    rig.network.extend(late);
    rig.advance(10_000);
    rig.assert_nothing_left();
}

#[test]
fn a_message_for_an_instance_that_has_gone_goes_to_the_next_one() {
    let mut rig = rig(process());
    let first = rig.create("p", r#"{"key":"k"}"#);
    let second = rig.create("p", r#"{"key":"k"}"#);
    // The message is in transit while the first instance is cancelled, and the close command overtakes it.
    lose_first(&mut rig, "correlate");
    let request = rig.send_async(Command::CorrelateMessage(CorrelateMessage {
        name: "m".into(),
        correlation_key: KEY.into(),
        variables: Document::new(),
    }));
    rig.cancel(first).unwrap();
    for _ in 0..3 {
        rig.advance(10_000);
    }
    match rig.answer(request) {
        Some(Ok(Response::MessageCorrelated {
            process_instance_key,
            ..
        })) => {
            assert_eq!(process_instance_key, second);
        }
        other => panic!("{other:?}"),
    }
    rig.work("work", "{}");
    rig.advance(10_000);
    rig.assert_nothing_left();
}

#[test]
fn correlate_is_refused_when_the_only_taker_has_gone() {
    let mut rig = rig(process());
    let instance = rig.create("p", r#"{"key":"k"}"#);
    lose_first(&mut rig, "correlate");
    let request = rig.send_async(Command::CorrelateMessage(CorrelateMessage {
        name: "m".into(),
        correlation_key: KEY.into(),
        variables: Document::new(),
    }));
    rig.cancel(instance).unwrap();
    for _ in 0..3 {
        rig.advance(10_000);
    }
    assert_eq!(rejected(rig.answer(request).unwrap()).0, "NOT_FOUND");
    rig.assert_nothing_left();
}

#[test]
fn closing_is_repeated_until_the_message_side_answers() {
    for kind in ["close", "closed"] {
        let mut rig = rig(process());
        let instance = rig.create("p", r#"{"key":"k"}"#);
        lose_first(&mut rig, kind);
        rig.cancel(instance).unwrap();
        rig.advance(10_000);
        rig.assert_nothing_left();
    }
}

#[test]
fn whatever_the_network_does_each_message_is_taken_exactly_once() {
    skep_sim::each(8, |seed| {
        let mut rig = rig(process());
        let mut chance = skep_random::Random(seed);
        rig.fate = Box::new(move |_| match chance.below(4) {
            0 => Fate::Lost,
            1 => Fate::Twice,
            _ => Fate::Arrives,
        });
        let instances: Vec<_> = (0..6)
            .map(|i| rig.create_on(1 + i % 3, "p", r#"{"key":"k"}"#))
            .collect();
        for n in 0..6 {
            rig.publish("m", KEY, 60 * MINUTE, &format!("{{\"n\":{n}}}"));
        }
        for _ in 0..60 {
            rig.advance(10_000);
        }
        let mut taken: Vec<String> = rig
            .events("VARIABLE")
            .filter(|r| r.text("name") == "n")
            .map(|r| r.text("value").to_string())
            .collect();
        taken.sort();
        assert_eq!(taken, ["0", "1", "2", "3", "4", "5"], "seed {seed}");
        let jobs = rig.jobs("work");
        assert_eq!(jobs.len(), instances.len());
    });
}
