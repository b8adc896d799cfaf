//! Ad-hoc sub-processes, controlled by expressions and commands, or by the worker of a job.

use skep_model::builder::Bpmn;
use skep_protocol::command::{ActivateAdHoc, Command};
use skep_protocol::value::{ActivateElement, JobKind, JobResult, JobResultType};
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};
use skep_testkit::rig::*;

/// Two service tasks, the second followed by a third.
fn content(inside: Bpmn) -> Bpmn {
    inside
        .service_task("a", "a")
        .apart()
        .service_task("b", "b")
        .service_task("c", "c")
}

fn process(active: &str) -> Bpmn {
    let bpmn = Bpmn::process("p").start("s").ad_hoc("hoc", content);
    match active {
        "" => bpmn.end("e"),
        _ => bpmn.active_elements(active).end("e"),
    }
}

fn run_by_job() -> Bpmn {
    let job = r#"<zeebe:taskDefinition type="agent"/>"#;
    Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", content)
        .extension(job)
        .end("e")
}

fn element(id: &str, variables: &str) -> ActivateElement {
    ActivateElement {
        element_id: id.into(),
        variables: Document::parse(variables).unwrap().into_entries().collect(),
    }
}

fn activate(
    rig: &mut Rig,
    key: Key,
    elements: Vec<ActivateElement>,
    cancel_remaining_instances: bool,
) -> Result<Response, Rejection> {
    rig.send(Command::ActivateAdHoc(ActivateAdHoc {
        ad_hoc_sub_process_instance_key: key,
        elements,
        cancel_remaining_instances,
    }))
}

/// Completes the job of the sub-process with this result.
fn decide(rig: &mut Rig, elements: &[&str], fulfilled: bool, cancel: bool) {
    let job = rig.job("agent");
    assert_eq!(job.kind, JobKind::AdHocSubProcess);
    let result = JobResult {
        kind: JobResultType::AdHocSubProcess,
        activate_elements: elements.iter().map(|id| element(id, "{}")).collect(),
        completion_condition_fulfilled: fulfilled,
        cancel_remaining_instances: cancel,
        ..JobResult::default()
    };
    let complete = Command::CompleteJob {
        job_key: job.key,
        variables: Document::new(),
        result: Some(Box::new(result)),
    };
    rig.send(complete).unwrap();
}

#[test]
fn it_completes_after_all_activated_activities_and_their_successors() {
    let mut rig = Rig::with(process(r#"=["a","b"]"#));
    let instance = rig.create("p", "{}");
    rig.work("b", "{}");
    rig.work("c", "{}");
    assert!(rig.is_running(instance));
    rig.work("a", "{}");
    rig.assert_completed(instance);
}

#[test]
fn without_active_elements_it_waits_for_a_command() {
    let mut rig = Rig::with(process(""));
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    let elements = rig.variable(hoc, "adHocSubProcessElements");
    let expected = r#"[{"elementId":"a"},{"elementId":"b"}]"#;
    assert_eq!(elements.as_deref(), Some(expected));
    activate(&mut rig, hoc, vec![element("a", r#"{"x":1}"#)], false).unwrap();
    let job = rig.job("a");
    let seen: serde_json::Value = serde_json::from_str(&job.variables).unwrap();
    assert_eq!(seen["x"], 1);
    assert_eq!(rig.variable(instance, "x"), None, "they are local");
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_activation_may_cancel_running_activities() {
    let mut rig = Rig::with(process(r#"=["a","a","a"]"#));
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, vec![element("b", "{}")], true).unwrap();
    assert!(rig.jobs("a").is_empty());
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_activation_with_an_unknown_activity_is_refused_as_a_whole() {
    let mut rig = Rig::with(process(""));
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    let refused = |rig: &mut Rig, key, ids: &[&str]| {
        let elements = ids.iter().map(|id| element(id, "{}")).collect();
        activate(rig, key, elements, false).unwrap_err()
    };
    // An unknown activity; one with an incoming sequence flow; the process itself; an unknown instance.
    let rejection = refused(&mut rig, hoc, &["a", "nope", "c"]);
    assert_eq!(rejection.kind, RejectionType::NotFound);
    assert!(rejection.reason.contains("[nope, c]"), "{rejection}");
    let rejection = refused(&mut rig, instance, &["a"]);
    assert!(rejection.reason.contains("which is none"), "{rejection}");
    assert_eq!(
        refused(&mut rig, Key(17), &["a"]).kind,
        RejectionType::NotFound
    );
    let many = vec!["a"; 1_001];
    let rejection = refused(&mut rig, hoc, &many);
    assert_eq!(rejection.kind, RejectionType::InvalidArgument);
    assert!(rig.jobs("a").is_empty());
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn it_stays_open_until_its_completion_condition_holds() {
    let bpmn = Bpmn::process("p").start("s").ad_hoc("hoc", content);
    let bpmn = bpmn
        .active_elements(r#"=["a"]"#)
        .until("=done = true")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert!(rig.is_running(instance));
    let hoc = rig.element_key("hoc");
    let two = vec![element("a", "{}"), element("b", "{}")];
    activate(&mut rig, hoc, two, false).unwrap();
    // The activity that is still running is terminated.
    rig.work("a", r#"{"done":true}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.terminated(instance), ["b", "hoc#innerInstance"]);
}

#[test]
fn remaining_activities_may_complete_first() {
    let bpmn = Bpmn::process("p").start("s").ad_hoc("hoc", content);
    let bpmn = bpmn
        .attribute("cancelRemainingInstances", "false")
        .active_elements(r#"=["a","b"]"#)
        .until("=done = true")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", r#"{"done":true}"#);
    assert!(rig.is_running(instance));
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_job_decides_again_whenever_something_has_ended() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    decide(&mut rig, &["a", "b"], false, false);
    rig.work("a", "{}");
    decide(&mut rig, &["a"], false, false);
    rig.work("a", "{}");
    // The worker may declare completion while an activity is still running: then no further job is created.
    decide(&mut rig, &[], true, false);
    assert!(rig.is_running(instance));
    rig.work("b", "{}");
    assert!(rig.jobs("agent").is_empty());
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_job_that_is_out_of_date_is_replaced() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    decide(&mut rig, &["a", "a"], false, false);
    let jobs = rig.jobs("a");
    rig.complete(&jobs[0], "{}");
    let first = rig.job("agent");
    rig.complete(&jobs[1], "{}");
    let stale = Command::CompleteJob {
        job_key: first.key,
        variables: Document::new(),
        result: None,
    };
    assert_eq!(rig.send(stale).unwrap_err().kind, RejectionType::NotFound);
    decide(&mut rig, &[], true, false);
    rig.assert_completed(instance);
}

#[test]
fn a_job_may_cancel_running_activities() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    decide(&mut rig, &["a", "b", "b"], false, false);
    rig.work("a", "{}");
    decide(&mut rig, &[], true, true);
    rig.assert_completed(instance);
    assert_eq!(rig.terminated(instance).len(), 4);
}

#[test]
fn an_unknown_element_in_a_result_is_refused_and_the_job_stays() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    let job = rig.job("agent");
    let result = JobResult {
        activate_elements: vec![element("nope", "{}")],
        ..JobResult::default()
    };
    let complete = Command::CompleteJob {
        job_key: job.key,
        variables: Document::new(),
        result: Some(Box::new(result)),
    };
    let rejection = rig.send(complete).unwrap_err();
    assert_eq!(rejection.kind, RejectionType::NotFound);
    assert!(rejection.reason.contains("[nope]"), "{rejection}");
    rig.complete(&job, "{}");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_job_without_retries_raises_an_incident_of_a_separate_type() {
    let mut rig = Rig::with(run_by_job());
    rig.create("p", "{}");
    let job = rig.job("agent");
    rig.fail(&job, 0, 0);
    assert_eq!(rig.incident().kind, "AD_HOC_SUB_PROCESS_NO_RETRIES");
}

#[test]
fn many_activities_are_cancelled_over_several_turns() {
    let active = r#"=for i in 1..1000 return "a""#;
    let mut rig = Rig::with(process(active));
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    rig.interrupted = true;
    activate(&mut rig, hoc, vec![element("b", "{}")], true).unwrap();
    let mut turns = 0;
    while rig.run_work() {
        turns += 1;
    }
    assert!(turns > 1);
    rig.interrupted = false;
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

/// The condition sees the result of the inner instance that completes.
#[test]
fn an_inner_instance_adds_its_result_once_even_if_the_condition_fails_first() {
    let output = r#"<zeebe:adHoc outputCollection="results" outputElement="=v"/>"#;
    let bpmn = Bpmn::process("p").start("s").ad_hoc("hoc", content);
    let bpmn = bpmn.extension(output).until("=results = wanted").end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"wanted":[1,2]}"#);
    let hoc = rig.element_key("hoc");
    let two = vec![element("a", "{}"), element("a", "{}")];
    activate(&mut rig, hoc, two, false).unwrap();
    let jobs = rig.jobs("a");
    rig.complete(&jobs[0], r#"{"v":1}"#);
    assert!(rig.is_running(instance));
    rig.set_variables(instance, r#"{"wanted":"x"}"#, true);
    rig.complete(&jobs[1], r#"{"v":2}"#);
    let incident = rig.incident();
    assert_eq!(rig.variable(hoc, "results").as_deref(), Some("[1]"));
    rig.set_variables(instance, r#"{"wanted":[1,2]}"#, true);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "results").as_deref(), Some("[1,2]"));
}

/// The content, and an event sub-process with the service task "x" that signals start beside it.
fn content_with_event(inside: Bpmn) -> Bpmn {
    content(inside).event_sub_process("esp", |sub| {
        sub.start_signal("on", "go")
            .non_interrupting()
            .service_task("x", "x")
    })
}

#[test]
fn a_job_decides_again_when_an_event_sub_process_has_ended() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", content_with_event)
        .extension(r#"<zeebe:taskDefinition type="agent"/>"#)
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.broadcast("go", "{}");
    decide(&mut rig, &[], false, false);
    assert!(rig.jobs("agent").is_empty());
    rig.work("x", "{}");
    // The open job is outdated by the next end.
    let outdated = rig.job("agent");
    rig.broadcast("go", "{}");
    rig.work("x", "{}");
    let job = rig.job("agent");
    assert_ne!(job.key, outdated.key);
    rig.fail(&job, 1, 0);
    decide(&mut rig, &[], true, false);
    rig.assert_completed(instance);
}

#[test]
fn the_completion_condition_is_evaluated_when_an_event_sub_process_ends() {
    for cancels in ["true", "false"] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .ad_hoc("hoc", content_with_event)
            .attribute("cancelRemainingInstances", cancels)
            .active_elements(r#"=["a"]"#)
            .until("=done")
            .end("e");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", r#"{"done":false}"#);
        rig.broadcast("go", "{}");
        rig.work("a", "{}");
        rig.work("x", r#"{"done":true}"#);
        rig.assert_completed(instance);
    }
}

#[test]
fn an_event_sub_process_adds_to_the_output_collection() {
    let output = r#"<zeebe:adHoc activeElementsCollection="=[&quot;a&quot;]" outputCollection="results" outputElement="=v"/>"#;
    let bpmn = Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", content_with_event)
        .extension(output)
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.broadcast("go", "{}");
    rig.work("x", r#"{"v":1}"#);
    rig.work("a", r#"{"v":2}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "results").as_deref(), Some("[1,2]"));
}

#[test]
fn the_completion_condition_sees_the_variables_of_the_sub_process_only() {
    for done in [false, true] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .ad_hoc("hoc", content)
            .until("=done")
            .end("e");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", &format!(r#"{{"done":{done}}}"#));
        let hoc = rig.element_key("hoc");
        let local = format!(r#"{{"done":{}}}"#, !done);
        activate(&mut rig, hoc, vec![element("a", &local)], false).unwrap();
        rig.work("a", "{}");
        assert_eq!(rig.is_running(instance), !done);
    }
}

#[test]
fn it_completes_when_all_its_activities_were_cancelled() {
    let never = Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", content)
        .active_elements(r#"=["a","b"]"#)
        .until("=false")
        .end("e");
    let mut rig = Rig::with(never);
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, Vec::new(), true).unwrap();
    rig.assert_completed(instance);

    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    decide(&mut rig, &["a"], false, false);
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, Vec::new(), true).unwrap();
    rig.assert_completed(instance);
}

#[test]
fn an_open_job_still_decides_when_all_activities_were_cancelled() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, vec![element("a", "{}")], false).unwrap();
    activate(&mut rig, hoc, Vec::new(), true).unwrap();
    assert!(rig.is_running(instance));
    decide(&mut rig, &["b"], false, false);
    rig.work("b", "{}");
    rig.work("c", "{}");
    decide(&mut rig, &[], true, false);
    rig.assert_completed(instance);
}

#[test]
fn nothing_is_decided_after_the_last_decision() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", content)
        .extension(r#"<zeebe:taskDefinition type="=type"/>"#)
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"type":"agent"}"#);
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, vec![element("a", "{}")], false).unwrap();
    rig.set_variables(instance, r#"{"type":null}"#, true);
    // The next job cannot be created, and the one before it stays.
    rig.work("a", "{}");
    let incident = rig.incident().key;
    decide(&mut rig, &["b"], true, false);
    rig.set_variables(instance, r#"{"type":"agent"}"#, true);
    rig.resolve(incident).unwrap();
    assert!(rig.jobs("agent").is_empty());
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_open_job_still_decides_when_the_last_activity_ends_late() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .ad_hoc("hoc", |inside| {
            inside
                .user_task("a")
                .task_listener("canceling", "listener")
                .apart()
                .service_task("b", "b")
        })
        .extension(r#"<zeebe:taskDefinition type="agent"/>"#)
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    decide(&mut rig, &["a", "b"], false, false);
    rig.work("b", "{}");
    // "a" waits for its listener, while "b" ends and has the next job created.
    decide(&mut rig, &["b"], false, true);
    rig.work("b", "{}");
    rig.work("listener", "{}");
    assert_eq!(rig.terminated(instance), ["a", "hoc#innerInstance"]);
    assert!(rig.is_running(instance));
    decide(&mut rig, &[], true, false);
    rig.assert_completed(instance);
}

#[test]
fn a_job_that_is_replaced_takes_its_incident_along() {
    let mut rig = Rig::with(run_by_job());
    let instance = rig.create("p", "{}");
    let hoc = rig.element_key("hoc");
    activate(&mut rig, hoc, vec![element("a", "{}")], false).unwrap();
    let job = rig.job("agent");
    rig.fail(&job, 0, 0);
    assert_eq!(rig.incident().kind, "AD_HOC_SUB_PROCESS_NO_RETRIES");
    rig.work("a", "{}");
    assert_eq!(rig.incidents().len(), 0);
    decide(&mut rig, &[], true, false);
    rig.assert_completed(instance);
}
