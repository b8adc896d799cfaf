//! Task listeners: jobs whose workers check the transitions of a user task.

use skep_engine::Ban;
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::{Corrections, JobKind, JobResult, ListenerEvent};
use skep_protocol::{Document, Key, Rejection, Response};
use skep_testkit::rig::*;

/// A process with one user task `ask` that has these listeners: event and job type.
fn process(listeners: &[(&str, &str)]) -> Bpmn {
    let listeners: String = listeners
        .iter()
        .map(|(event, job)| format!(r#"<zeebe:taskListener eventType="{event}" type="{job}"/>"#))
        .collect();
    Bpmn::process("p")
        .start("s")
        .user_task("ask")
        .extension(&format!(
            "<zeebe:taskListeners>{listeners}</zeebe:taskListeners>"
        ))
        .end("e")
}

fn answer(rig: &mut Rig, job: Key, result: JobResult) -> Result<Response, Rejection> {
    rig.send(Command::CompleteJob {
        job_key: job,
        variables: Document::new(),
        result: Some(Box::new(result)),
    })
}

fn denied(reason: &str) -> JobResult {
    JobResult {
        denied: true,
        denied_reason: reason.into(),
        ..JobResult::default()
    }
}

fn corrected(corrections: Corrections) -> JobResult {
    JobResult {
        corrections,
        ..JobResult::default()
    }
}

fn life(rig: &Rig) -> Vec<&'static str> {
    rig.intents("USER_TASK")
}

fn last<'a>(rig: &'a Rig, intent: &str) -> &'a Seen {
    let events = rig.events("USER_TASK").filter(|r| r.intent == intent);
    events.last().expect("there is such an event")
}

#[test]
fn listeners_run_one_after_the_other_and_the_user_waits_for_them() {
    let mut rig = Rig::with(process(&[
        ("completing", "first"),
        ("completing", "second"),
    ]));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    let request = rig.send_async(Rig::completion(task, r#"{"a":1}"#));
    assert_eq!(rig.answer(request), None);
    let job = rig.job("first");
    assert_eq!(job.kind, JobKind::TaskListener(ListenerEvent::Completing));
    let shown = job
        .user_task
        .as_ref()
        .expect("the worker is told of the task");
    assert_eq!(shown.user_task_key, Some(task.0));
    assert_eq!(
        (shown.action.as_str(), shown.priority),
        ("complete", Some(50))
    );
    assert!(rig.jobs("second").is_empty());
    rig.complete(&job, "{}");
    assert_eq!(rig.answer(request), None);
    rig.work("second", "{}");
    assert_eq!(rig.answer(request), Some(Ok(Response::Empty)));
    assert_eq!(rig.variable(instance, "a").as_deref(), Some("1"));
    rig.assert_completed(instance);
}

#[test]
fn a_completion_that_is_denied_changes_nothing() {
    let mut rig = Rig::with(process(&[("completing", "l")]));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    let request = rig.send_async(Rig::completion(task, r#"{"a":1}"#));
    let job = rig.job("l").key;
    answer(&mut rig, job, denied("incomplete")).unwrap();
    let (kind, reason) = rejected(rig.answer(request).expect("an answer"));
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("'incomplete'"), "{reason}");
    assert_eq!(
        last(&rig, "COMPLETION_DENIED").text("deniedReason"),
        "incomplete"
    );
    assert_eq!(rig.variable(instance, "a"), None);
    rig.send_async(Rig::completion(task, "{}"));
    rig.work("l", "{}");
    rig.assert_completed(instance);
}

#[test]
fn assignments_and_updates_can_be_denied() {
    let mut rig = Rig::with(process(&[("assigning", "l"), ("updating", "l")]));
    rig.create("p", "{}");
    let task = rig.user_task();
    let element = rig.element_key("ask");
    let priority = Corrections {
        priority: Some(1),
        ..Corrections::default()
    };
    let variables = Command::SetVariables {
        element_instance_key: element,
        variables: Document::parse(r#"{"x":1}"#).unwrap(),
        local: true,
    };
    for (command, event) in [
        (Rig::assignment(task, "anna", false), "ASSIGNMENT_DENIED"),
        (Rig::assignment(task, "anna", true), "ASSIGNMENT_DENIED"),
        (Rig::task_update(task, priority), "UPDATE_DENIED"),
        (variables, "UPDATE_DENIED"),
    ] {
        let request = rig.send_async(command);
        let job = rig.job("l").key;
        answer(&mut rig, job, denied("no")).unwrap();
        assert_eq!(
            rejected(rig.answer(request).expect("an answer")).0,
            "INVALID_STATE"
        );
        assert_eq!(life(&rig).last(), Some(&event));
        assert_eq!(last(&rig, event).text("assignee"), "");
        assert_eq!(last(&rig, event).field("priority"), 50);
    }
    assert_eq!(
        rig.intents("VARIABLE_DOCUMENT"),
        ["UPDATING", "UPDATE_DENIED"]
    );
    assert_eq!(rig.variable(element, "x"), None);
}

#[test]
fn a_correction_is_seen_by_the_next_listener_and_kept() {
    let mut rig = Rig::with(process(&[("assigning", "first"), ("assigning", "second")]));
    rig.create("p", "{}");
    let task = rig.user_task();
    let request = rig.send_async(Rig::assignment(task, "anna", false));
    let job = rig.job("first").key;
    let corrections = Corrections {
        assignee: Some("bert".into()),
        priority: Some(50),
        ..Corrections::default()
    };
    answer(&mut rig, job, corrected(corrections)).unwrap();
    let changed = last(&rig, "CORRECTED").field("changedAttributes").clone();
    assert_eq!(
        changed,
        serde_json::json!(["assignee"]),
        "the priority is what it was"
    );
    let job = rig.job("second");
    let shown = job
        .user_task
        .as_ref()
        .expect("the worker is told of the task");
    assert_eq!(shown.assignee.as_deref(), Some("bert"));
    rig.complete(&job, "{}");
    assert_eq!(rig.answer(request), Some(Ok(Response::Empty)));
    assert_eq!(last(&rig, "ASSIGNED").text("assignee"), "bert");
}

#[test]
fn an_assignee_that_a_listener_sets_at_creation_needs_no_assignment() {
    let anna = r#"<zeebe:assignmentDefinition assignee="anna"/>"#;
    let listeners = [("creating", "create"), ("assigning", "assign")];
    for (assignee, expected) in [("bert", "bert"), ("", ""), ("anna", "anna")] {
        let mut rig = Rig::new();
        let bpmn = process(&listeners).from("ask");
        rig.deploy_files(vec![(
            "p.bpmn",
            bpmn.xml()
                .replace("<zeebe:userTask/>", &format!("<zeebe:userTask/>{anna}")),
        )])
        .unwrap();
        rig.create("p", "{}");
        let job = rig.job("create").key;
        let corrections = Corrections {
            assignee: Some(assignee.into()),
            ..Corrections::default()
        };
        answer(&mut rig, job, corrected(corrections)).unwrap();
        if assignee == "anna" {
            // Without corrections the model's assignee is assigned.
            rig.work("assign", "{}");
            assert_eq!(last(&rig, "ASSIGNED").text("assignee"), expected);
        } else {
            assert_eq!(life(&rig), ["CREATING", "CORRECTED", "CREATED"]);
            assert_eq!(last(&rig, "CREATED").text("assignee"), expected);
        }
    }
}

#[test]
fn results_that_a_listener_cannot_have_are_refused() {
    let mut rig = Rig::with(process(&[
        ("creating", "create"),
        ("completing", "complete"),
    ]));
    let instance = rig.create("p", "{}");
    let job = rig.job("create").key;
    let priority = |priority| Corrections {
        priority: Some(priority),
        ..Corrections::default()
    };
    let both = JobResult {
        corrections: priority(1),
        ..denied("no")
    };
    for result in [denied(""), both.clone(), corrected(priority(101))] {
        assert_eq!(
            rejected(answer(&mut rig, job, result)).0,
            "INVALID_ARGUMENT"
        );
    }
    let with_variables = Command::CompleteJob {
        job_key: job,
        variables: Document::parse(r#"{"x":1}"#).unwrap(),
        result: None,
    };
    assert_eq!(rejected(rig.send(with_variables)).0, "INVALID_ARGUMENT");
    answer(&mut rig, job, JobResult::default()).unwrap();
    let task = rig.user_task();
    rig.send_async(Rig::completion(task, "{}"));
    let job = rig.job("complete").key;
    assert_eq!(rejected(answer(&mut rig, job, both)).0, "INVALID_ARGUMENT");
    let throw = Command::ThrowError(ThrowError {
        job_key: job,
        error_code: "E".into(),
        error_message: String::new(),
        variables: Document::new(),
    });
    assert_eq!(rejected(rig.send(throw)).0, "INVALID_STATE");
    answer(&mut rig, job, JobResult::default()).unwrap();
    rig.assert_completed(instance);
}

#[test]
fn no_other_command_comes_in_while_listeners_run() {
    let mut rig = Rig::with(process(&[("updating", "l")]));
    rig.create("p", "{}");
    let task = rig.user_task();
    let priority = Corrections {
        priority: Some(1),
        ..Corrections::default()
    };
    rig.send_async(Rig::task_update(task, priority.clone()));
    for answer in [
        rig.complete_task(task, "{}"),
        rig.assign(task, "anna", ""),
        rig.claim(task, "anna"),
        rig.update_task(task, priority),
    ] {
        let (kind, reason) = rejected(answer);
        assert_eq!(kind, "INVALID_STATE");
        assert!(reason.contains("'UPDATING'"), "{reason}");
    }
    let key = rig.element_key("ask");
    let set = Command::SetVariables {
        element_instance_key: key,
        variables: Document::new(),
        local: true,
    };
    assert_eq!(rejected(rig.send(set)).0, "INVALID_STATE");
}

#[test]
fn variables_are_set_when_the_listeners_have_agreed() {
    let mut rig = Rig::with(process(&[("updating", "l")]));
    let instance = rig.create("p", "{}");
    let request = rig.send_async(Command::SetVariables {
        element_instance_key: rig.element_key("ask"),
        variables: Document::parse(r#"{"x":1}"#).unwrap(),
        local: false,
    });
    assert_eq!(rig.variable(instance, "x"), None);
    rig.work("l", "{}");
    assert_eq!(rig.variable(instance, "x").as_deref(), Some("1"));
    let document = rig.events("VARIABLE_DOCUMENT").last().unwrap().key;
    let expected = Some(Ok(Response::VariablesSet { key: document }));
    assert_eq!(rig.answer(request), expected);
}

#[test]
fn a_cancellation_waits_for_its_listeners() {
    let listeners = [("completing", "complete"), ("canceling", "cancel")];
    let mut rig = Rig::with(process(&listeners));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    let request = rig.send_async(Rig::completion(task, "{}"));
    rig.cancel(instance).unwrap();
    // The completion is refused, and the job of its listener is gone.
    assert_eq!(
        rejected(rig.answer(request).expect("an answer")).0,
        "INVALID_STATE"
    );
    assert!(rig.jobs("complete").is_empty());
    assert!(rig.is_running(instance));
    let (kind, _) = rejected(rig.cancel(instance));
    assert_eq!(kind, "NOT_FOUND");
    let job = rig.job("cancel").key;
    let why = rejected(answer(&mut rig, job, denied("stay"))).0;
    assert_eq!(why, "INVALID_ARGUMENT");
    answer(&mut rig, job, JobResult::default()).unwrap();
    assert_eq!(life(&rig)[3..], ["CANCELING", "CANCELED"]);
    rig.assert_terminated(instance);
}

#[test]
fn a_cancellation_runs_its_listeners_once_while_another_instance_is_banned() {
    let mut rig = Rig::with(process(&[("canceling", "l")]));
    let other = rig.create("p", "{}");
    rig.ban(other).unwrap();
    let instance = rig.create("p", "{}");
    rig.cancel(instance).unwrap();
    assert_eq!(rejected(rig.cancel(instance)).0, "NOT_FOUND");
    let job = rig.job("l"); // the only one
    rig.complete(&job, "{}");
    assert_eq!(rig.open_instances(), [other]);
}

/// The termination of a scope begins again if a called instance is banned.
#[test]
fn a_termination_that_begins_again_does_not_repeat_its_listeners() {
    let mut rig = Rig::new();
    let child = process(&[("canceling", "l")]).xml();
    let called = Bpmn::process("called").start("s").service_task("t", "work");
    let parent = Bpmn::process("parent")
        .start("s")
        .parallel("fork")
        .call_activity("first", "p")
        .end("e1")
        .from("fork")
        .call_activity("second", "called")
        .end("e2");
    let called = called.end("e").xml();
    let parent = parent.xml();
    rig.deploy_files(vec![
        ("p.bpmn", child),
        ("called.bpmn", called),
        ("parent.bpmn", parent),
    ])
    .unwrap();
    let root = rig.create("parent", "{}");
    let failed_on = Ban {
        process_instance_key: rig.job("work").process_instance_key,
        message: "it broke".to_string(),
        stacktrace: String::new(),
    };
    let now = rig.now;
    for _ in 0..2 {
        // The second failure is that of its cancellation, which is then not tried either.
        assert!(rig.engine(1).ban(now, &failed_on));
        rig.settle(1);
    }
    rig.cancel(root).unwrap();
    rig.cancel(root).unwrap();
    let job = rig.job("l"); // the only one
    rig.complete(&job, "{}");
    assert_eq!(life(&rig).last(), Some(&"CANCELED"));
}

#[test]
fn a_boundary_event_is_activated_after_the_listeners() {
    let bpmn = process(&[("canceling", "l")])
        .boundary_duration("late", "ask", "PT1M")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    assert!(
        !rig.elements(instance, "ELEMENT_ACTIVATED")
            .contains(&"late".to_string())
    );
    rig.work("l", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_listener_without_retries_has_an_incident() {
    let mut rig = Rig::with(process(&[("canceling", "l")]));
    let instance = rig.create("p", "{}");
    rig.cancel(instance).unwrap();
    let job = rig.job("l");
    rig.fail(&job, 0, 0);
    let incident = rig.incident();
    assert_eq!(incident.kind, "TASK_LISTENER_NO_RETRIES");
    rig.set_retries(job.key, 1).unwrap();
    rig.resolve(incident.key).unwrap();
    rig.work("l", "{}");
    rig.assert_terminated(instance);
}

#[test]
fn a_listener_whose_job_cannot_be_made_is_tried_again() {
    for (event, act) in [
        ("creating", None),
        ("completing", Some("complete")),
        ("canceling", Some("cancel")),
    ] {
        let mut rig = Rig::with(process(&[(event, "=kind")]));
        let instance = rig.create("p", "{}");
        match act {
            Some("complete") => drop(rig.send_async(Rig::completion(rig.user_task(), "{}"))),
            Some(_) => drop(rig.cancel(instance).unwrap()),
            None => {}
        }
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR", "{event}");
        rig.set_variables(instance, r#"{"kind":"l"}"#, true);
        rig.resolve(incident.key).unwrap();
        rig.work("l", "{}");
        match act {
            None => {
                rig.cancel(instance).unwrap();
                rig.assert_terminated(instance);
            }
            Some("complete") => rig.assert_completed(instance),
            Some(_) => rig.assert_terminated(instance),
        }
    }
}

#[test]
fn a_banned_instance_is_cancelled_without_its_listeners() {
    for ban_first in [true, false] {
        let mut rig = Rig::with(process(&[("canceling", "l")]));
        let instance = rig.create("p", "{}");
        if !ban_first {
            rig.cancel(instance).unwrap();
        }
        rig.ban(instance).unwrap();
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    }
}
