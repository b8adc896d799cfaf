//! Banned instances: they make no progress, nothing else is affected, and they can be cancelled.

use skep_engine::Ban;
use skep_model::builder::Bpmn;
use skep_protocol::command::{AwaitResult, Command, FailJob};
use skep_protocol::{Document, Key, RejectionType};
use skep_testkit::rig::*;

/// A job, a timer and a message subscription in parallel.
fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("task", "work")
        .end("e1")
        .from("fork")
        .catch_duration("timer", "PT1M")
        .service_task("after", "late")
        .end("e2")
        .from("fork")
        .catch_message("catch", "paid", "=order")
        .service_task("told", "told")
        .end("e3")
}

#[track_caller]
fn refused(rig: &mut Rig, command: Command, instance: Key) {
    let rejection = rig.send(command).unwrap_err();
    assert_eq!(rejection.kind, RejectionType::InvalidState, "{rejection}");
    let text = format!("process instance with key '{instance}', but it is banned");
    assert!(rejection.reason.contains(&text), "{rejection}");
}

#[test]
fn nothing_happens_in_a_banned_instance_and_others_continue() {
    let mut rig = Rig::with(process());
    let banned = rig.create("p", r#"{"order":"A"}"#);
    let other = rig.create("p", r#"{"order":"B"}"#);
    rig.ban(banned).unwrap();
    assert_eq!(rig.intents("ERROR"), ["CREATED"]);
    let error = rig.events("ERROR").next().unwrap();
    assert_eq!(error.instance(), banned);
    assert_eq!(error.text("exceptionMessage"), "banned by an operator");
    assert_eq!(error.field("errorEventPosition"), -1);

    let jobs = rig.jobs("work");
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].process_instance_key, other);
    rig.publish("paid", "A", 0, "{}");
    rig.advance(MINUTE);
    assert_eq!(rig.engine(1).next_due(), Some(START + 10 * MINUTE + 1));
    assert!(
        rig.jobs("late")
            .iter()
            .all(|job| job.process_instance_key == other)
    );
    assert!(rig.jobs("told").is_empty());
    rig.publish("paid", "B", 0, "{}");
    assert_eq!(rig.jobs("told").len(), 1);
    assert!(rig.is_running(banned));
}

#[test]
fn commands_on_a_banned_instance_are_refused_with_the_reason() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":"A"}"#);
    let job = rig.job("work").key;
    rig.ban(instance).unwrap();
    let variables = Document::new;
    let complete = Command::CompleteJob {
        job_key: job,
        variables: variables(),
        result: None,
    };
    refused(&mut rig, complete, instance);
    let fail = Command::FailJob(FailJob {
        job_key: job,
        retries: 1,
        retry_back_off: 0,
        error_message: String::new(),
        variables: variables(),
    });
    refused(&mut rig, fail, instance);
    let set = Command::SetVariables {
        element_instance_key: instance,
        variables: variables(),
        local: false,
    };
    refused(&mut rig, set, instance);
    let rejection = rig.set_retries(job, 3).unwrap_err();
    assert_eq!(rejection.kind, RejectionType::InvalidState);
    // Its job stays activated: the time-out does not make it available again.
    rig.advance(20 * MINUTE);
    assert!(rig.jobs("work").is_empty());
    assert_eq!(rig.engine(1).next_due(), None);
}

#[test]
fn cancelling_a_banned_instance_removes_it() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":"A"}"#);
    rig.ban(instance).unwrap();
    rig.ban(instance).unwrap();
    assert_eq!(rig.intents("ERROR").len(), 1, "it is banned already");
    assert_eq!(rig.engine(1).state.banned.len(), 1);
    rig.cancel(instance).unwrap();
    assert!(!rig.is_running(instance));
    assert!(rig.engine(1).state.banned.is_empty());
    rig.advance(MINUTE);
    rig.assert_nothing_left();
}

#[test]
fn only_a_process_instance_can_be_banned() {
    let mut rig = Rig::with(process());
    rig.create("p", r#"{"order":"A"}"#);
    for key in [Key::new(1, 999), rig.job("work").key] {
        let rejection = rig.ban(key).unwrap_err();
        assert_eq!(rejection.kind, RejectionType::NotFound);
    }
    assert_eq!(rig.intents("ERROR").len(), 0);
}

#[test]
fn a_client_awaiting_the_result_of_a_banned_instance_gets_an_error() {
    let mut rig = Rig::with(process());
    let mut creation = Rig::creation("p", r#"{"order":"A"}"#);
    creation.await_result = Some(AwaitResult {
        fetch_variables: vec![],
    });
    let request = rig.send_async(creation.into_command());
    let instance = rig.open_instances()[0];
    rig.ban(instance).unwrap();
    let rejection = rig.answer(request).unwrap().unwrap_err();
    assert_eq!(rejection.kind, RejectionType::InvalidState);
}

#[test]
fn a_called_instance_is_banned_alone_and_ends_with_its_caller() {
    let mut rig = Rig::new();
    let child = Bpmn::process("child")
        .start("s")
        .service_task("task", "child-work")
        .end("e");
    let parent = Bpmn::process("parent")
        .start("s")
        .parallel("fork")
        .call_activity("call", "child")
        .end("e1")
        .from("fork")
        .service_task("own", "parent-work")
        .end("e2");
    rig.deploy_files(vec![
        ("child.bpmn", child.xml()),
        ("parent.bpmn", parent.xml()),
    ])
    .unwrap();
    for ban_child in [true, false] {
        let root = rig.create("parent", "{}");
        let job = rig.job("child-work");
        let child = job.process_instance_key;
        rig.ban(if ban_child { child } else { root }).unwrap();
        if ban_child {
            rig.work("parent-work", "{}");
        } else {
            // It completes, and its caller does not continue.
            rig.complete(&job, "{}");
            assert!(rig.jobs("parent-work").is_empty());
        }
        assert!(rig.is_running(root));
        rig.cancel(root).unwrap();
        assert_eq!(rig.open_instances(), []);
        assert!(rig.engine(1).state.banned.is_empty());
    }
    rig.assert_nothing_left();
}

#[test]
fn a_message_for_a_banned_instance_goes_to_another_one() {
    let mut rig = Rig::with_partitions(2);
    rig.deploy(process());
    let banned = rig.create_on(2, "p", r#"{"order":"A"}"#);
    let other = rig.create_on(2, "p", r#"{"order":"A"}"#);
    rig.ban(banned).unwrap();
    rig.publish("paid", "A", MINUTE, "{}");
    assert_eq!(rig.job("told").process_instance_key, other);
}

fn failed_on(process_instance_key: Key) -> Ban {
    Ban {
        process_instance_key,
        message: "it broke".to_string(),
        stacktrace: "at step.rs:1".to_string(),
    }
}

#[test]
fn an_instance_on_which_the_engine_fails_again_is_not_cancelled_either() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":"A"}"#);
    let now = rig.now;
    for failure in 0..2 {
        assert!(rig.engine(1).ban(now, &failed_on(instance)), "{failure}");
        rig.settle(1);
    }
    let error = rig.events("ERROR").next().unwrap();
    assert_eq!(error.text("exceptionMessage"), "it broke");
    assert_eq!(error.text("stacktrace"), "at step.rs:1");
    let cancel = Command::CancelProcessInstance {
        process_instance_key: instance,
    };
    refused(&mut rig, cancel, instance);
    assert!(!rig.engine(1).ban(now, &failed_on(instance)), "no remedy");
    let second = rig.create("p", r#"{"order":"A"}"#);
    rig.ban(second).unwrap();
    // After an upgrade that fixes the bug, an operator retries the cancellation.
    rig.ban(instance).unwrap();
    rig.cancel(instance).unwrap();
    assert!(!rig.is_running(instance));
    // An instance created by the failed command does not exist.
    assert!(!rig.engine(1).ban(now, &failed_on(Key::new(1, 999))));
}

#[test]
fn an_instance_of_another_partition_is_banned_here_if_there_is_such_a_partition() {
    let mut rig = Rig::with_partitions(2);
    let now = rig.now;
    // It may exist: its subscription is here.
    assert!(rig.engine(1).ban(now, &failed_on(Key::new(2, 999))));
    assert!(!rig.engine(1).ban(now, &failed_on(Key::new(3, 999))));
}

#[test]
fn the_engine_knows_for_which_instance_it_worked() {
    let process = Bpmn::process("p").start("s").service_task("task", "work");
    let mut rig = Rig::with(process.end("e"));
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    assert_eq!(rig.engine(1).working_for(), Some(instance));
    rig.publish("other", "A", 0, "{}");
    assert_eq!(rig.engine(1).working_for(), None);
    rig.complete(&job, "{}");
    assert_eq!(rig.engine(1).working_for(), Some(instance));
}
