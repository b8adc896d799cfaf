//! A job that is too large for a message causes an incident instead of being sent; the jobs behind it are sent.

use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::{ActivatedJob, Document, Key, Response};
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

/// An instance whose job exceeds the size of a message; each of its variables does not.
fn large(rig: &mut Rig) -> Key {
    let instance = rig.create("p", &format!(r#"{{"a":"{}"}}"#, "y".repeat(3_000_000)));
    set(
        rig,
        instance,
        &format!(r#"{{"b":"{}"}}"#, "y".repeat(3_000_000)),
    );
    instance
}

fn set(rig: &mut Rig, instance: Key, variables: &str) {
    rig.send(Command::SetVariables {
        element_instance_key: instance,
        variables: Document::parse(variables).unwrap(),
        local: false,
    })
    .unwrap();
}

fn activate(rig: &mut Rig, max_jobs: u32, fetch_variables: &[&str]) -> Vec<ActivatedJob> {
    let command = ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: MINUTE,
        max_jobs,
        fetch_variables: fetch_variables.iter().map(|name| (*name).into()).collect(),
        tenants: skep_protocol::Tenants::default(),
    };
    match rig.send(Command::ActivateJobs(command)).unwrap() {
        Response::JobsActivated { jobs, .. } => jobs,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_gets_an_incident_and_the_jobs_behind_it_are_activated() {
    let mut rig = Rig::with(process());
    large(&mut rig);
    let behind = rig.create("p", r#"{"a":1}"#);
    let jobs = activate(&mut rig, 1, &[]);
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].process_instance_key, behind);
    let incident = rig.incident();
    assert_eq!(
        (incident.kind.as_str(), incident.element.as_str()),
        ("MESSAGE_SIZE_EXCEEDED", "task")
    );
    assert!(incident.message.contains("6000"), "{}", incident.message);
    assert!(activate(&mut rig, 10, &[]).is_empty());
    rig.incident();
    rig.check_nothing_is_stuck();
}

#[test]
fn a_worker_that_fetches_less_can_have_it() {
    let mut rig = Rig::with(process());
    let instance = large(&mut rig);
    let jobs = activate(&mut rig, 1, &["a"]);
    assert_eq!(jobs[0].process_instance_key, instance);
    assert!(rig.incidents().is_empty());
}

#[test]
fn made_smaller_and_resolved_it_is_offered_again() {
    let mut rig = Rig::with(process());
    let instance = large(&mut rig);
    assert!(activate(&mut rig, 1, &[]).is_empty());
    let first = rig.incident();
    rig.resolve(first.key).unwrap();
    assert!(activate(&mut rig, 1, &[]).is_empty(), "nothing was mended");
    let second = rig.incident();
    assert_ne!(first.key, second.key);
    set(&mut rig, instance, r#"{"b":1}"#);
    rig.resolve(second.key).unwrap();
    let jobs = activate(&mut rig, 1, &[]);
    rig.complete(&jobs[0], "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_stream_does_not_get_it_and_keeps_its_credit() {
    let mut rig = Rig::with(process());
    large(&mut rig);
    rig.streams.open("work", 1);
    let now = rig.now;
    let pushed = rig.partitions[0]
        .engine
        .push_waiting_jobs(now, "work", 10, &mut rig.streams);
    rig.settle(1);
    assert_eq!((pushed.jobs, rig.streams.take().len()), (0, 0));
    assert_eq!(rig.incident().kind, "MESSAGE_SIZE_EXCEEDED");
    let next = rig.create("p", "{}");
    let jobs = rig.streams.take();
    assert_eq!(jobs.len(), 1, "the credit came back");
    assert_eq!(jobs[0].process_instance_key, next);
}
