//! The caller and the operation reference of a command: part of its record and, where relevant, of all records that it causes, including
//! deferred ones.

use serde_json::json;
use skep_engine::RemoteCommand;
use skep_model::builder::Bpmn;
use skep_protocol::command::{BroadcastSignal, Command, Draft, Request};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::{Document, Key};

use skep_testkit::rig::*;

fn fork(tasks: usize) -> Bpmn {
    let mut process = Bpmn::process("p").start("s").parallel("fork");
    for i in 0..tasks {
        process = process.task(format!("t{i}")).end(format!("e{i}"));
        process = process.from("fork");
    }
    process.task("last").end("end")
}

fn request(claims: Claims) -> Request {
    Request {
        operation_reference: Some(4711),
        batch_operation_reference: Key::new(1, 99),
        ..Draft::from(Rig::creation("p", "{}").into_command()).by(claims)
    }
}

fn process(rig: &mut Rig, request: &Request) {
    let now = rig.now;
    rig.partitions[0]
        .engine
        .process(now, None, request, &mut rig.streams);
    rig.settle(1);
}

#[test]
fn references_stay_with_work_that_is_put_off() {
    let mut rig = Rig::with(fork(6));
    rig.turn_steps(1);
    let from = rig.seen.len();
    process(&mut rig, &request(Claims::Anonymous));
    while rig.run_work() {}
    let records = &rig.seen[from..];
    let turns = records.iter().filter(|r| r.intent == "CONTINUE").count();
    assert!(turns > 5, "{turns} turns");
    assert!(
        records
            .iter()
            .any(|r| r.intent == "ELEMENT_COMPLETED" && r.element() == "p")
    );
    for record in records {
        let references = (
            &record.json["operationReference"],
            &record.json["batchOperationReference"],
        );
        assert_eq!(
            references,
            (&json!(4711), &json!(Key::new(1, 99))),
            "{} {}",
            record.value_type,
            record.intent
        );
    }
}

#[test]
fn the_work_of_other_commands_has_no_foreign_references() {
    let mut rig = Rig::with(fork(6));
    rig.turn_steps(1);
    rig.interrupted = true;
    process(&mut rig, &request(Claims::Anonymous));
    let from = rig.seen.len();
    rig.create("p", "{}");
    let records = &rig.seen[from..];
    assert!(!records.is_empty());
    for record in records {
        assert_eq!(record.json["operationReference"], -1, "{}", record.intent);
        assert_eq!(record.json["batchOperationReference"], -1);
    }
}

#[test]
fn the_record_of_a_command_contains_its_caller_and_those_that_it_causes_the_name() {
    let principal = Principal {
        id: "anna".into(),
        groups: Some(vec!["sales".into()]),
        token: r#"{"sub":"anna","aud":["a"]}"#.into(),
    };
    let token = json!({"sub": "anna", "aud": ["a"]});
    let expected = [
        (
            Claims::Anonymous,
            json!({"authorized_anonymous_user": true}),
            json!({}),
        ),
        (
            Claims::User(principal.clone().into()),
            json!({"authorized_username": "anna", "user_groups_claims": ["sales"], "user_token_claims": token}),
            json!({"authorized_username": "anna"}),
        ),
        (
            Claims::Client(
                Principal {
                    id: "app".into(),
                    ..Principal::default()
                }
                .into(),
            ),
            json!({"authorized_client_id": "app"}),
            json!({"authorized_client_id": "app"}),
        ),
    ];
    for (claims, shown, named) in expected {
        let mut rig = Rig::with(fork(6));
        rig.turn_steps(1);
        let deployed = rig.seen.len();
        process(&mut rig, &request(claims));
        while rig.run_work() {}
        let commands = rig
            .seen
            .iter()
            .filter(|r| r.json["recordType"] == "COMMAND");
        let commands: Vec<_> = commands
            .filter(|r| ["CREATE", "CONTINUE"].contains(&r.intent))
            .filter(|r| r.value_type != "DEPLOYMENT")
            .collect();
        assert!(commands.len() > 5);
        for command in commands {
            assert_eq!(command.json["authorizations"], shown, "{}", command.intent);
        }
        // Also those of work that was put off.
        let events = rig.seen[deployed..].iter().filter(|r| r.is_event());
        for event in events {
            assert_eq!(event.json["authorizations"], named, "{}", event.intent);
        }
    }
}

/// Records on other partitions than the first, from index `from` on: their operation reference and caller.
fn elsewhere(rig: &Rig, from: usize) -> Vec<(String, serde_json::Value, serde_json::Value)> {
    let records = rig.seen[from..].iter();
    let elsewhere = records.filter(|r| r.json["partitionId"] != 1 && !r.is_event());
    elsewhere
        .map(|r| {
            let (reference, who) = (&r.json["operationReference"], &r.json["authorizations"]);
            (
                format!("{} {}", r.value_type, r.intent),
                reference.clone(),
                who.clone(),
            )
        })
        .collect()
}

fn anna() -> Claims {
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    Claims::User(anna.into())
}

#[test]
fn a_distributed_command_carries_its_caller_to_every_partition_even_when_repeated() {
    let mut rig = Rig::with_partitions(2);
    let mut lost = false;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if !std::mem::replace(&mut lost, true) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let from = rig.seen.len();
    let signal = Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    });
    let asked = Request {
        operation_reference: Some(4711),
        ..Draft::from(signal).by(anna())
    };
    process(&mut rig, &asked);
    assert_eq!(elsewhere(&rig, from), []);
    rig.advance(MINUTE);
    let who = json!({"authorized_username": "anna"});
    let broadcast = ("SIGNAL BROADCAST".to_string(), json!(4711), who);
    assert_eq!(elsewhere(&rig, from), [broadcast]);
}

#[test]
fn a_subscription_is_opened_in_the_name_of_the_creator_of_the_instance() {
    let waits = Bpmn::process("p")
        .start("s")
        .catch_message("c", "m", "=key")
        .end("e");
    let mut rig = Rig::with_partitions(2);
    rig.deploy(waits);
    let key = (0..).map(|n| format!("k{n}"));
    let key = key
        .into_iter()
        .find(|key| skep_protocol::Routing::new(2).of_correlation(key) == 2)
        .unwrap();
    let from = rig.seen.len();
    let asked = Request {
        operation_reference: Some(4711),
        ..Draft::from(Rig::creation("p", &json!({"key": key}).to_string()).into_command())
            .by(anna())
    };
    process(&mut rig, &asked);
    let who = json!({"authorized_username": "anna"});
    let opened = ("MESSAGE_SUBSCRIPTION CREATE".to_string(), json!(4711), who);
    assert_eq!(elsewhere(&rig, from), [opened]);
}
