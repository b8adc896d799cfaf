//! Execution listeners: jobs that run before an element begins and before it has ended.

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, ThrowError};
use skep_protocol::value::{JobKind, ListenerEvent};
use skep_protocol::{Document, RejectionType};
use skep_testkit::rig::*;

/// A service task with two start and two end listeners.
fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .listener("start", "start-1")
        .listener("start", "start-2")
        .listener("end", "end-1")
        .listener("end", "end-2")
        .end("e")
}

#[test]
fn listeners_run_one_after_the_other_around_the_work() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    for (job_type, kind) in [
        ("start-1", JobKind::ExecutionListener(ListenerEvent::Start)),
        ("start-2", JobKind::ExecutionListener(ListenerEvent::Start)),
        ("work", JobKind::BpmnElement),
        ("end-1", JobKind::ExecutionListener(ListenerEvent::End)),
        ("end-2", JobKind::ExecutionListener(ListenerEvent::End)),
    ] {
        assert!(rig.is_running(instance));
        let job = rig.job(job_type);
        assert_eq!(job.kind, kind);
        assert_eq!(&*job.element_id, "task");
        rig.complete(&job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn variables_of_a_start_listener_stay_and_those_of_an_end_listener_leave() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"x":0}"#);
    rig.work("start-1", r#"{"x":1,"y":1}"#);
    let task = rig.element_key("task");
    assert_eq!(rig.variable(task, "y").as_deref(), Some("1"));
    rig.work("start-2", "{}");
    let job = rig.job("work");
    let seen: serde_json::Value = serde_json::from_str(&job.variables).unwrap();
    assert_eq!(seen, serde_json::json!({"x": 1, "y": 1}));
    rig.complete(&job, "{}");
    rig.work("end-1", r#"{"x":2,"z":2}"#);
    rig.work("end-2", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "x").as_deref(), Some("2"));
    assert_eq!(rig.variable(instance, "z").as_deref(), Some("2"));
    assert_eq!(rig.variable(instance, "y"), None);
}

#[test]
fn mappings_are_applied_once_whatever_fails_after_the_first_listener() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "=kind")
        .input("=n + 1", "n")
        .listener("start", "start")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"n":1}"#);
    rig.work("start", r#"{"n":10}"#);
    // The job type cannot be evaluated: the incident comes after the listener.
    let incident = rig.incident();
    rig.set_variables(instance, r#"{"kind":"work"}"#, true);
    rig.resolve(incident.key).unwrap();
    let task = rig.element_key("task");
    assert_eq!(rig.variable(task, "n").as_deref(), Some("10"));
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_listener_without_retries_raises_an_incident_of_a_separate_type() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("start-1");
    rig.fail(&job, 0, 0);
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXECUTION_LISTENER_NO_RETRIES");
    rig.set_retries(job.key, 1).unwrap();
    rig.resolve(incident.key).unwrap();
    for job_type in ["start-1", "start-2", "work", "end-1", "end-2"] {
        rig.work(job_type, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn a_listener_cannot_throw_errors() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let throw = Command::ThrowError(ThrowError {
        job_key: rig.job("start-1").key,
        error_code: "E".into(),
        error_message: String::new(),
        variables: Document::new(),
    });
    let rejection = rig.send(throw).unwrap_err();
    assert_eq!(rejection.kind, RejectionType::InvalidState);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn boundary_events_wait_between_the_listeners_only() {
    let bpmn = process()
        .boundary_duration("late", "task", "PT1M")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    rig.work("start-1", "{}");
    rig.work("start-2", "{}");
    assert_eq!(rig.intents("TIMER"), ["CREATED"]);
    rig.work("work", "{}");
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
    rig.advance(2 * MINUTE);
    rig.work("end-1", "{}");
    rig.work("end-2", "{}");
    rig.assert_completed(instance);
}

#[test]
fn the_listeners_of_a_process_surround_all_of_it() {
    let bpmn = Bpmn::process("p")
        .process_listener("start", "begins")
        .process_listener("end", "ends")
        .start("s")
        .end("e");
    // The builder writes one extension element per listener, of which the reference reads only the first: merged into one.
    let mut rig = Rig::new();
    let text = bpmn
        .xml()
        .replace("</zeebe:executionListeners><zeebe:executionListeners>", "");
    rig.deploy_files(vec![("p.bpmn", text)]).unwrap();
    let instance = rig.create("p", "{}");
    assert!(rig.completed(instance).is_empty());
    rig.work("begins", r#"{"x":1}"#);
    assert_eq!(rig.completed(instance), ["s", "e"]);
    rig.work("ends", r#"{"y":2}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "x").as_deref(), Some("1"));
    assert_eq!(rig.variable(instance, "y").as_deref(), Some("2"));
}

#[test]
fn each_instance_of_a_multi_instance_activity_has_its_listeners() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .listener("start", "begins")
        .listener("end", "ends")
        .for_each("=[1,2]", "item")
        .collect("=item", "items")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    for job_type in ["begins", "work", "ends"] {
        let jobs = rig.jobs(job_type);
        assert_eq!(jobs.len(), 2);
        jobs.iter().for_each(|job| rig.complete(job, "{}"));
    }
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "items").as_deref(), Some("[1,2]"));
}

#[test]
fn a_cancel_ends_an_element_whose_listener_runs() {
    for done in [&["start-1"][..], &["start-1", "start-2", "work"][..]] {
        let mut rig = Rig::with(process());
        let instance = rig.create("p", "{}");
        done.iter().for_each(|job_type| rig.work(job_type, "{}"));
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    }
}
