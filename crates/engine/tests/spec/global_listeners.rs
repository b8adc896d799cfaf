//! Task listeners for the user tasks of all processes.

use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::{GlobalListenerEvent, GlobalListenerValue, ListenerEvent};
use skep_protocol::{Rejection, Response};
use skep_testkit::rig::*;

fn listener(id: &str, event: GlobalListenerEvent) -> GlobalListenerValue {
    GlobalListenerValue {
        id: id.into(),
        job_type: id.into(),
        retries: 2,
        events: vec![event],
        after_non_global: false,
        priority: 50,
    }
}

const COMPLETING: GlobalListenerEvent = GlobalListenerEvent::One(ListenerEvent::Completing);

fn create(rig: &mut Rig, value: GlobalListenerValue) -> Result<Response, Rejection> {
    rig.send(Command::CreateGlobalListener(value))
}

fn update(rig: &mut Rig, value: GlobalListenerValue) -> Result<Response, Rejection> {
    rig.send(Command::UpdateGlobalListener(value))
}

fn delete(rig: &mut Rig, id: &str) -> Result<Response, Rejection> {
    rig.send(Command::DeleteGlobalListener { id: id.into() })
}

fn process() -> Bpmn {
    let own = r#"<zeebe:taskListener eventType="completing" type="own"/>"#;
    Bpmn::process("p")
        .start("s")
        .user_task("ask")
        .extension(&format!("<zeebe:taskListeners>{own}</zeebe:taskListeners>"))
        .end("e")
}

/// The job types of the listeners, in execution order, until none is left.
fn order(rig: &mut Rig, types: &[&str]) -> Vec<String> {
    let mut ran = Vec::new();
    loop {
        let jobs: Vec<_> = types.iter().flat_map(|t| rig.jobs(t)).collect();
        let [job] = &jobs[..] else {
            assert!(jobs.is_empty(), "one after the other: {jobs:?}");
            return ran;
        };
        ran.push(job.job_type.to_string());
        rig.complete(job, "{}");
    }
}

#[test]
fn they_run_by_priority_before_and_behind_those_of_the_model() {
    let mut rig = Rig::with(process());
    let behind = GlobalListenerValue {
        after_non_global: true,
        priority: 100,
        ..listener("behind", GlobalListenerEvent::All)
    };
    let high = GlobalListenerValue {
        priority: 51,
        ..listener("high", COMPLETING)
    };
    for value in [
        behind,
        listener("b", COMPLETING),
        listener("a", COMPLETING),
        high,
    ] {
        assert!(matches!(
            create(&mut rig, value),
            Ok(Response::GlobalListener(_))
        ));
    }
    let types = ["own", "behind", "a", "b", "high"];
    let instance = rig.create("p", "{}");
    assert_eq!(
        order(&mut rig, &types),
        ["behind"],
        "of all events, the creation first"
    );
    let task = rig.user_task();
    let request = rig.send_async(Rig::completion(task, "{}"));
    assert_eq!(order(&mut rig, &types), ["high", "a", "b", "own", "behind"]);
    assert_eq!(rig.answer(request), Some(Ok(Response::Empty)));
    assert!(!rig.is_running(instance));
}

#[test]
fn a_transition_keeps_the_listeners_of_its_beginning() {
    let mut rig = Rig::with(process());
    create(&mut rig, listener("a", COMPLETING)).unwrap();
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    rig.send_async(Rig::completion(task, "{}"));
    delete(&mut rig, "a").unwrap();
    create(&mut rig, listener("b", COMPLETING)).unwrap();
    assert_eq!(order(&mut rig, &["a", "b", "own"]), ["a", "own"]);
    assert!(!rig.is_running(instance));
    assert_eq!(
        rig.intents("GLOBAL_LISTENER"),
        ["CREATED", "DELETED", "CREATED"]
    );
}

#[test]
fn they_are_changed_and_deleted_by_id() {
    let mut rig = Rig::with(process());
    let value = listener("a", COMPLETING);
    assert_eq!(rejected(update(&mut rig, value.clone())).0, "NOT_FOUND");
    assert_eq!(rejected(delete(&mut rig, "a")).0, "NOT_FOUND");
    create(&mut rig, value.clone()).unwrap();
    assert_eq!(
        rejected(create(&mut rig, value.clone())).0,
        "ALREADY_EXISTS"
    );
    let changed = GlobalListenerValue {
        job_type: "other".into(),
        ..value
    };
    let answer = update(&mut rig, changed.clone());
    assert_eq!(answer, Ok(Response::GlobalListener(changed)));
    rig.create("p", "{}");
    let task = rig.user_task();
    rig.send_async(Rig::completion(task, "{}"));
    assert_eq!(rig.job("other").retries, 2);
}

#[test]
fn one_that_cannot_run_is_refused() {
    let mut rig = Rig::new();
    let value = listener("a", COMPLETING);
    for wrong in [
        GlobalListenerValue {
            id: "".into(),
            ..value.clone()
        },
        GlobalListenerValue {
            job_type: " ".into(),
            ..value.clone()
        },
        GlobalListenerValue {
            events: vec![],
            ..value.clone()
        },
        GlobalListenerValue {
            retries: 0,
            ..value.clone()
        },
    ] {
        assert_eq!(rejected(create(&mut rig, wrong)).0, "INVALID_ARGUMENT");
    }
}

#[test]
fn every_partition_has_them() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    create(&mut rig, listener("a", COMPLETING)).unwrap();
    create(&mut rig, listener("b", COMPLETING)).unwrap();
    delete(&mut rig, "b").unwrap();
    for partition in 1..=3 {
        rig.create_on(partition, "p", "{}");
        let task = rig.user_task();
        rig.send_async(Rig::completion(task, "{}"));
        assert_eq!(order(&mut rig, &["a", "b", "own"]), ["a", "own"]);
    }
}
