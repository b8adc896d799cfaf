//! A migration that takes more than one turn: others get their turns in between, a restart does not end it, and nobody sees a half-migrated
//! instance.

use skep_model::builder::Bpmn;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_protocol::{Document, Key};
use skep_testkit::rig::*;

const TASKS: usize = 3000;

/// This many parallel tasks, each with a boundary event.
fn wide(process: &str, prefix: &str) -> Bpmn {
    Bpmn::process(process)
        .start("s")
        .service_task(format!("{prefix}task"), "work")
        .for_each("=items", "item")
        .end("e")
        .boundary_signal(format!("{prefix}bell"), &format!("{prefix}task"), "ring")
        .end("rung")
}

const PAIRS: [(&str, &str); 2] = [("task", "xtask"), ("bell", "xbell")];

/// An instance with very many tasks, whose migration has begun and waits for its next turn.
fn begun() -> (Rig, Key, u64) {
    let mut rig = Rig::with(wide("p", ""));
    rig.deploy(wide("q", "x"));
    let items: Vec<usize> = (0..TASKS).collect();
    let instance = rig.create("p", &format!(r#"{{"items":{items:?}}}"#));
    rig.interrupted = true;
    let command = rig.migration(instance, "q", &PAIRS);
    let request = rig.send_async(command);
    let answer = rig.answer(request);
    assert!(answer.is_none(), "{answer:?}");
    (rig, instance, request)
}

/// Number of elements migrated so far.
fn migrated(rig: &Rig) -> usize {
    let events = rig.events("PROCESS_INSTANCE");
    events.filter(|r| r.intent == "ELEMENT_MIGRATED").count()
}

fn finish(rig: &mut Rig) {
    while rig.run_work() {}
    rig.interrupted = false;
}

#[test]
fn others_have_their_turn_and_the_client_is_answered_at_the_end() {
    let (mut rig, _, request) = begun();
    rig.deploy(Bpmn::process("small").start("s").end("e"));
    let small = rig.create("small", "{}");
    assert_eq!(rig.completed(small), ["s", "e", "small"]);
    let mut turns = 0;
    while rig.run_work() {
        turns += 1;
    }
    assert!(turns > 5, "{turns} turns");
    assert!(rig.answer(request).unwrap().is_ok());
    assert_eq!(migrated(&rig), TASKS + 2);
    assert_eq!(
        rig.intents("PROCESS_INSTANCE_MIGRATION").last(),
        Some(&"MIGRATED")
    );
}

#[test]
fn a_restart_does_not_end_it() {
    let (mut rig, instance, _) = begun();
    loop {
        rig.change_leader(1);
        if !rig.run_work() {
            break;
        }
    }
    rig.interrupted = false;
    assert_eq!(migrated(&rig), TASKS + 2);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn the_target_may_be_deleted_meanwhile() {
    let (mut rig, instance, _) = begun();
    let target = rig.definition("q");
    rig.delete_resource(target).unwrap();
    assert_eq!(rig.intents("PROCESS").last(), Some(&"DELETING"));
    finish(&mut rig);
    assert_eq!(migrated(&rig), TASKS + 2);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
    assert_eq!(rig.intents("PROCESS").last(), Some(&"DELETED"));
}

#[test]
fn commands_for_the_instance_are_refused_meanwhile() {
    let (mut rig, instance, _) = begun();
    while migrated(&rig) < TASKS / 2 {
        assert!(rig.run_work());
    }
    let job = rig.jobs("work").remove(0);
    let completion = Command::CompleteJob {
        job_key: job.key,
        variables: Document::new(),
        result: None,
    };
    for command in [
        completion,
        Command::CancelProcessInstance {
            process_instance_key: instance,
        },
        rig.migration(instance, "q", &PAIRS),
    ] {
        let (kind, reason) = rejected(rig.send(command));
        assert_eq!(kind, "INVALID_STATE");
        assert!(reason.contains("is being migrated"), "{reason}");
    }
    finish(&mut rig);
    rig.complete(&job, "{}");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_signal_waits_until_it_is_over() {
    let (mut rig, instance, _) = begun();
    while migrated(&rig) < TASKS / 2 {
        assert!(rig.run_work());
    }
    rig.send(Command::BroadcastSignal(BroadcastSignal {
        signal_name: "ring".into(),
        variables: Document::new(),
    }))
    .unwrap();
    assert!(rig.terminated(instance).is_empty());
    finish(&mut rig);
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance)[1..], ["xbell", "rung", "q"]);
}

#[test]
fn a_problem_found_in_the_last_token_is_refused_without_changes() {
    // The last token visited has no mapping.
    let model = |process: &str, prefix: &str| {
        wide(process, prefix)
            .from("s")
            .service_task(format!("{prefix}last"), "last")
            .end("e2")
    };
    let mut rig = Rig::with(model("p", ""));
    rig.deploy(model("q", "x"));
    let items: Vec<usize> = (0..TASKS).collect();
    let instance = rig.create("p", &format!(r#"{{"items":{items:?}}}"#));
    let before = rig.seen.len();
    // Inner instances are visited last; their job would belong to an element without an implementation.
    let pairs = [("task", "xtask"), ("bell", "xlast"), ("last", "xlast")];
    let (kind, _) = rejected(rig.migrate(instance, "q", &pairs));
    assert_eq!(kind, "INVALID_STATE");
    let changed = rig.seen[before..]
        .iter()
        .any(|r| r.intent.ends_with("MIGRATED"));
    assert!(!changed);
    rig.work("last", "{}");
    assert!(rig.is_running(instance));
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn an_instance_that_is_banned_meanwhile_can_be_cancelled() {
    let (mut rig, instance, _) = begun();
    while migrated(&rig) < TASKS / 2 {
        assert!(rig.run_work());
    }
    let state = &mut rig.engine(1).state;
    assert!(state.migrations.go_on_below(instance));
    rig.ban(instance).unwrap();
    finish(&mut rig);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
    let (old, new) = (rig.definition("p"), rig.definition("q"));
    let elements = &mut rig.engine(1).state.elements;
    assert_eq!((elements.running_of(old), elements.running_of(new)), (0, 0));
}
