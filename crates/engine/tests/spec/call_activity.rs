//! Call activities: an instance of another process, and the variables passed in and out.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn child() -> Bpmn {
    Bpmn::process("child")
        .start("cs")
        .service_task("ctask", "work")
        .end("ce")
}

fn parent(change: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    let bpmn = Bpmn::process("parent")
        .start("s")
        .call_activity("call", "child");
    change(bpmn).end("e")
}

fn rig(parent: Bpmn) -> Rig {
    let mut rig = Rig::with(child());
    rig.deploy(parent);
    rig
}

#[test]
fn runs_an_instance_of_the_called_process() {
    let mut rig = rig(parent(|p| p));
    let instance = rig.create("parent", "{}");
    let called = rig.instance_of("child");
    let job = rig.job("work");
    assert_eq!(job.process_instance_key, called);
    assert_eq!(job.root_process_instance_key, instance);
    let row = rig.engine(1).state.elements.get(called).unwrap().clone();
    assert_eq!(row.parent_process_instance_key(), instance);
    assert_eq!(row.parent_element_instance_key(), rig.element_key("call"));
    rig.complete(&job, "{}");
    assert_eq!(rig.completed(instance), ["s", "call", "e", "parent"]);
    rig.assert_completed(instance);
}

#[test]
fn all_variables_go_in_and_come_back() {
    let mut rig = rig(parent(|p| p.input("=1", "local")));
    let instance = rig.create("parent", r#"{"a":1}"#);
    let job = rig.job("work");
    assert_eq!(job.variables, r#"{"local":1,"a":1}"#);
    rig.complete(&job, r#"{"a":2,"b":3}"#);
    assert_eq!(rig.variable(instance, "a").unwrap(), "2");
    assert_eq!(rig.variable(instance, "b").unwrap(), "3");
    rig.assert_completed(instance);
}

#[test]
fn only_mapped_variables_go_in_when_so_configured() {
    let mut rig = rig(parent(|p| {
        p.propagate_all_parent_variables(false).input("=a + 1", "b")
    }));
    rig.create("parent", r#"{"a":1}"#);
    assert_eq!(rig.job("work").variables, r#"{"b":2}"#);
}

#[test]
fn only_mapped_variables_come_back_when_so_configured() {
    let mut rig = rig(parent(|p| p.propagate_all_child_variables(false)));
    let instance = rig.create("parent", "{}");
    rig.work("work", r#"{"x":1}"#);
    assert_eq!(rig.variable(instance, "x"), None);
    rig.assert_completed(instance);

    let mut rig = self::rig(parent(|p| {
        p.propagate_all_child_variables(false).output("=x", "y")
    }));
    let instance = rig.create("parent", "{}");
    rig.work("work", r#"{"x":1,"z":2}"#);
    assert_eq!(rig.variable(instance, "x"), None);
    assert_eq!(rig.variable(instance, "y").unwrap(), "1");
    rig.assert_completed(instance);
}

#[test]
fn the_process_id_may_be_an_expression() {
    let mut rig = Rig::with(child());
    rig.deploy(
        Bpmn::process("parent")
            .start("s")
            .call_activity("call", "=which")
            .end("e"),
    );
    let instance = rig.create("parent", r#"{"which":"child"}"#);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_missing_process_is_an_incident_that_a_deployment_mends() {
    let mut rig = Rig::with(parent(|p| p));
    let instance = rig.create("parent", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("CALLED_ELEMENT_ERROR", "call")
    );
    rig.deploy(child());
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn the_latest_version_is_called_unless_bound_otherwise() {
    let v2 = || {
        Bpmn::process("child")
            .version_tag("two")
            .start("cs")
            .service_task("t2", "work2")
            .end("ce")
    };
    let v3 = || {
        Bpmn::process("child")
            .start("cs")
            .service_task("t3", "work3")
            .end("ce")
    };
    let mut rig = rig(parent(|p| p));
    rig.deploy(
        Bpmn::process("tagged")
            .start("s")
            .call_activity("call", "child")
            .bind_to_tag("two")
            .end("e"),
    );
    rig.deploy(v2());
    rig.deploy(v3());
    rig.create("parent", "{}");
    assert_eq!(rig.jobs("work3").len(), 1);
    rig.create("tagged", "{}");
    assert_eq!(rig.jobs("work2").len(), 1);
}

#[test]
fn bound_to_the_deployment_it_calls_the_version_deployed_with_it() {
    let bound = |job: &str| {
        Bpmn::process("parent")
            .start("s")
            .call_activity("call", "child")
            .binding("deployment")
            .service_task("own", job)
            .end("e")
    };
    let mut rig = Rig::new();
    rig.deploy_files(vec![
        ("c.bpmn", child().xml()),
        ("p.bpmn", bound("a").xml()),
    ])
    .unwrap();
    rig.deploy(
        Bpmn::process("child")
            .start("cs")
            .service_task("t2", "work2")
            .end("ce"),
    );
    rig.create("parent", "{}");
    assert_eq!(rig.jobs("work").len(), 1, "not the newer version");

    // The called process is unchanged, the caller is new: they are still linked.
    let mut rig = Rig::new();
    rig.deploy_files(vec![
        ("c.bpmn", child().xml()),
        ("p.bpmn", bound("a").xml()),
    ])
    .unwrap();
    rig.deploy_files(vec![
        ("c.bpmn", child().xml()),
        ("p.bpmn", bound("b").xml()),
    ])
    .unwrap();
    rig.create("parent", "{}");
    assert_eq!(rig.incidents(), []);
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn cancelling_the_root_ends_called_instances() {
    let mut rig = rig(parent(|p| p));
    rig.deploy(
        Bpmn::process("top")
            .start("s")
            .call_activity("call-parent", "parent")
            .end("e"),
    );
    let instance = rig.create("top", "{}");
    let middle = rig.instance_of("parent");
    let called = rig.instance_of("child");
    assert_eq!(rejected(rig.cancel(called)).0, "INVALID_STATE");
    rig.cancel(instance).unwrap();
    assert_eq!(rig.terminated(called), ["ctask", "child"]);
    assert_eq!(rig.terminated(middle), ["call", "parent"]);
    rig.assert_terminated(instance);
}

#[test]
fn a_boundary_event_ends_the_called_instance() {
    let bpmn = parent(|p| p)
        .boundary_duration("late", "call", "PT1M")
        .end("e2");
    let mut rig = rig(bpmn);
    let instance = rig.create("parent", "{}");
    rig.advance(MINUTE);
    assert_eq!(rig.completed(instance), ["s", "late", "e2", "parent"]);
    rig.assert_completed(instance);
}

#[test]
fn a_process_that_calls_itself_for_ever_ends_in_an_incident() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .call_activity("call", "p")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.kind, "CALLED_ELEMENT_ERROR");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_failing_output_mapping_stops_the_call_activity_until_it_is_mended() {
    let mut rig = rig(parent(|p| p.output("=assert(x, x != null)", "y")));
    let instance = rig.create("parent", "{}");
    rig.work("work", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "call")
    );
    rig.set_variables(instance, r#"{"x":5}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.variable(instance, "y").unwrap(), "5");
    rig.assert_completed(instance);
}

#[test]
fn a_call_that_was_refused_for_its_size_opens_its_events_once() {
    let mut rig = Rig::new();
    rig.deploy(
        Bpmn::process("child")
            .start("cs")
            .service_task("t", "child")
            .end("ce"),
    );
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .call_activity("call", "child")
        .boundary_duration("timer", "call", "PT1M")
        .end("late")
        .from("call")
        .boundary_message("told", "call", "m", "=\"k\"")
        .end("other")
        .from("call")
        .end("e");
    rig.deploy(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    let large = "x".repeat(2_000_000);
    for i in 0..10 {
        rig.set_variables(instance, &format!(r#"{{"v{i}":"{large}"}}"#), false);
    }
    rig.complete(&job, "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "call");
    assert_eq!(rig.intents("TIMER"), [""; 0]);
    for i in 0..10 {
        rig.set_variables(instance, &format!(r#"{{"v{i}":0}}"#), false);
    }
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.intents("TIMER"), ["CREATED"]);
    rig.publish("m", "k", 0, "{}");
    rig.assert_completed(instance);
}

/// "Call the review again until it is approved."
#[test]
fn a_loop_may_call_again_until_the_called_process_says_enough() {
    let loops = include_str!("../../../../tests/processes/valid/loop-through-call-activity.bpmn");
    let called = include_str!("../../../../tests/processes/valid/called.bpmn");
    let mut rig = Rig::new();
    let files = vec![
        ("called.bpmn", called.to_string()),
        ("loop.bpmn", loops.to_string()),
    ];
    rig.deploy_files(files).expect("both are deployed");
    let instance = rig.create("loop-through-call-activity", r#"{"approved":false}"#);
    for approved in [false, false, true] {
        rig.work("called", &format!(r#"{{"approved":{approved}}}"#));
    }
    let completed = rig.completed(instance);
    assert_eq!(completed.iter().filter(|id| **id == "review").count(), 3);
    rig.assert_completed(instance);
}
