//! Errors thrown by jobs and end events, and the events that catch them.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_error("declined", "task", "card-declined")
        .end("refused")
        .boundary_error("other", "task", None)
        .end("failed")
}

#[test]
fn a_thrown_error_is_caught_by_its_code() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "card-declined", r#"{"reason":"limit"}"#);
    assert_eq!(rig.completed(instance), ["s", "declined", "refused", "p"]);
    let caught = rig.element_key("declined");
    assert_eq!(rig.variable(caught, "reason").unwrap(), "\"limit\"");
    assert_eq!(rig.variable(instance, "reason"), None, "it stays there");
    assert_eq!(rig.intents("JOB"), ["CREATED", "ERROR_THROWN"]);
    rig.assert_completed(instance);
}

/// Only the output mappings of the boundary event propagate variables of an error.
#[test]
fn the_variables_of_an_error_leave_the_boundary_event_by_its_mappings_alone() {
    let bpmn = |mapped: bool| {
        let bpmn = Bpmn::process("p")
            .start("s")
            .sub_process("sub", |sub| {
                sub.start("s2").service_task("task", "work").end("e2")
            })
            .end("e")
            .boundary_error("caught", "sub", "E1");
        let bpmn = if mapped {
            bpmn.output("=why", "seen")
        } else {
            bpmn
        };
        bpmn.service_task("after", "after").end("e3")
    };
    for (mapped, visible) in [(false, "{}"), (true, r#"{"seen":1}"#)] {
        let mut rig = Rig::with(bpmn(mapped));
        rig.create("p", "{}");
        let job = rig.job("work");
        rig.throw(&job, "E1", r#"{"why":1}"#);
        let caught = rig.element_key("caught");
        assert_eq!(rig.variable(caught, "why").unwrap(), "1");
        assert_eq!(rig.job("after").variables, visible);
    }
}

#[test]
fn any_other_code_is_caught_by_the_event_that_catches_all() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "whatever", "{}");
    assert_eq!(rig.completed(instance), ["s", "other", "failed", "p"]);
    rig.assert_completed(instance);
}

#[test]
fn an_empty_code_is_caught_by_the_event_that_catches_all() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "", "{}");
    assert_eq!(rig.completed(instance), ["s", "other", "failed", "p"]);
    rig.assert_completed(instance);
}

#[test]
fn an_uncaught_error_is_an_incident_and_the_job_can_be_tried_again() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_error("declined", "task", "card-declined")
        .end("refused");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "unknown", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("UNHANDLED_ERROR_EVENT", "task")
    );
    assert_eq!(
        incident.message,
        "Expected to throw an error event with the code 'unknown' with message 'no way', but it was not caught. \
         Available error events are ['card-declined']"
    );
    assert!(rig.jobs("work").is_empty());
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_instance_with_an_uncaught_error_can_be_cancelled() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "unknown", "{}");
    rig.cancel(instance).unwrap();
    assert_eq!(rig.intents("INCIDENT"), ["CREATED", "RESOLVED"]);
    assert_eq!(rig.intents("JOB"), ["CREATED", "ERROR_THROWN", "CANCELED"]);
    rig.assert_terminated(instance);
}

#[test]
fn an_error_end_event_reaches_the_boundary_event_of_its_sub_process() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .parallel("fork")
                .service_task("a", "a")
                .end("ea")
                .from("fork")
                .end_error("throw", "=code")
        })
        .end("e")
        .boundary_error("caught", "sub", "E1")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"code":"E1"}"#);
    assert_eq!(rig.terminated(instance), ["throw", "a", "sub"]);
    assert!(
        rig.completed(instance)
            .ends_with(&["caught".into(), "e2".into(), "p".into()])
    );
    rig.assert_completed(instance);
}

#[test]
fn an_uncaught_error_end_event_is_an_incident() {
    let bpmn = Bpmn::process("p").start("s").end_error("throw", "=code");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"code":"E1"}"#);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("UNHANDLED_ERROR_EVENT", "throw")
    );
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents().len(), 1, "nothing has changed");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn the_nearest_scope_that_catches_wins() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("outer", |outer| {
            outer
                .start("s1")
                .sub_process("inner", |inner| inner.start("s2").end_error("throw", "E1"))
                .end("e1")
                .boundary_error("near", "inner", None)
                .end("caught-near")
        })
        .end("e")
        .boundary_error("far", "outer", "E1")
        .end("caught-far");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert!(rig.completed(instance).contains(&"caught-near".to_string()));
    rig.assert_completed(instance);
}

#[test]
fn an_error_crosses_call_activities() {
    let child = Bpmn::process("child")
        .start("cs")
        .service_task("ctask", "work")
        .end("ce");
    let parent = Bpmn::process("parent")
        .start("s")
        .call_activity("call", "child")
        .end("e")
        .boundary_error("caught", "call", "E1")
        .end("e2");
    let mut rig = Rig::with(child);
    rig.deploy(parent);
    let instance = rig.create("parent", "{}");
    let called = rig.instance_of("child");
    let job = rig.job("work");
    rig.throw(&job, "E1", r#"{"why":1}"#);
    assert_eq!(rig.terminated(called), ["ctask", "child"]);
    assert_eq!(rig.completed(instance), ["s", "caught", "e2", "parent"]);
    let caught = rig.element_key("caught");
    assert_eq!(rig.variable(caught, "why").unwrap(), "1");
    assert_eq!(rig.variable(instance, "why"), None, "it stays there");
    rig.assert_completed(instance);
}

#[test]
fn two_errors_at_once_are_caught_once() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .parallel("fork")
                .end_error("throw1", "E1")
                .from("fork")
                .end_error("throw2", "E2")
        })
        .end("e")
        .boundary_error("one", "sub", "E1")
        .end("caught1")
        .boundary_error("two", "sub", "E2")
        .end("caught2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let completed = rig.completed(instance);
    // The later flow of the file is taken first.
    assert!(
        completed.contains(&"caught2".to_string()) && !completed.contains(&"caught1".to_string())
    );
    rig.assert_completed(instance);
}

#[test]
fn the_variables_of_an_error_outlive_the_incident_of_a_mapping() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_error("caught", "task", None)
        .output("=assert(missing, missing != null) + why", "seen")
        .service_task("after", "after")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "E1", r#"{"why":1}"#);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "caught")
    );
    assert_eq!(
        rig.terminated(instance),
        ["task"],
        "it is over all the same"
    );
    rig.set_variables(instance, r#"{"missing":2}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.job("after").variables, r#"{"missing":2,"seen":3}"#);
}

/// The search for a catch event begins at the task, not at its scope.
#[test]
fn an_error_of_a_job_passes_by_what_does_not_catch_it() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("outer", |outer| {
            outer
                .start("s1")
                .service_task("task", "work")
                .end("e1")
                .boundary_error("other", "task", "E2")
                .end("caught-other")
                .boundary_duration("late", "task", "PT1M")
                .end("caught-late")
        })
        .end("e")
        .boundary_message("message", "outer", "m", "=\"k\"")
        .end("caught-message")
        .boundary_error("any", "outer", None)
        .end("caught-any");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "E1", "{}");
    assert_eq!(
        rig.completed(instance),
        ["s", "s1", "any", "caught-any", "p"]
    );
    assert_eq!(rig.terminated(instance), ["task", "outer"]);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
    rig.assert_completed(instance);
}
