//! The engine's view of a process.

use skep_model::builder::Bpmn;
use skep_model::*;

use crate::support::*;

#[test]
fn the_process_is_element_zero_and_its_own_parent() {
    let process = accepted(Bpmn::process("p").name("Order").start("s").end("e"));
    let root = process.element(ElementIndex::PROCESS);
    assert_eq!(
        (&*root.id, root.name.as_deref(), root.element_type),
        ("p", Some("Order"), ElementType::Process)
    );
    assert_eq!(root.parent, ElementIndex::PROCESS);
    assert_eq!(process.none_start_event(), process.find("s"));
}

#[test]
fn flows_are_joined_at_both_ends_and_leave_in_reverse_document_order() {
    let process = accepted(
        Bpmn::process("p")
            .start("s")
            .parallel("g")
            .end("a")
            .from("g")
            .end("b")
            .from("g")
            .end("c"),
    );
    let gateway = element(&process, "g");
    let targets: Vec<_> = gateway
        .outgoing
        .iter()
        .map(|flow| match &process.element(*flow).kind {
            ElementKind::SequenceFlow(flow) => &*process.element(flow.target).id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(targets, ["c", "b", "a"]);
    assert_eq!(gateway.incoming, [process.find("s-g").expect("flow")]);
}

#[test]
fn a_choice_keeps_conditions_and_default() {
    let process = accepted(
        Bpmn::process("p")
            .start("s")
            .exclusive("g")
            .when("=a")
            .end("x")
            .from("g")
            .otherwise()
            .end("y"),
    );
    let ElementKind::ExclusiveGateway { default } = element(&process, "g").kind else {
        panic!("a gateway")
    };
    assert_eq!(default, process.find("g-y"));
    let ElementKind::SequenceFlow(flow) = &element(&process, "g-x").kind else {
        panic!("a flow")
    };
    assert_eq!(flow.condition.as_ref().expect("a condition").text(), "a");
}

#[test]
fn a_service_task_describes_its_jobs() {
    let process = accepted(around(|p| p.service_task("t", "work").header("k", "v")));
    let ElementKind::ServiceTask(job) = &element(&process, "t").kind else {
        panic!("a service task")
    };
    assert!(matches!(&job.job_type, TextValue::Static(text) if &**text == "work"));
    assert!(matches!(&job.retries, TextValue::Static(text) if &**text == "3"));
    assert_eq!(&*job.headers_json, r#"{"k":"v"}"#);
}

#[test]
fn boundary_events_know_their_activity_and_it_knows_them() {
    let bpmn = around(|p| p.service_task("t", "work"));
    let bpmn = bpmn
        .boundary_cycle("tick", "t", "R/PT1H")
        .end("e1")
        .boundary_message("m", "t", "stop", "=k")
        .end("e2");
    let process = accepted(bpmn);
    assert_eq!(
        element(&process, "t").boundary_events,
        [
            process.find("tick").expect("tick"),
            process.find("m").expect("m")
        ]
    );
    let ElementKind::BoundaryEvent(tick) = &element(&process, "tick").kind else {
        panic!("a boundary event")
    };
    assert!(!tick.interrupting && tick.attached_to == process.find("t").expect("t"));
    assert!(matches!(tick.event, CatchEvent::Timer(Timer::Cycle(_))));
    let ElementKind::BoundaryEvent(message) = &element(&process, "m").kind else {
        panic!("a boundary event")
    };
    assert!(message.interrupting);
    assert!(
        matches!(&message.event, CatchEvent::Message(m) if matches!(&m.name, TextValue::Static(n) if &**n == "stop"))
    );
}

#[test]
fn an_error_is_caught_by_code_or_altogether() {
    let code = |bpmn: Bpmn| {
        let process = accepted(bpmn);
        let ElementKind::BoundaryEvent(boundary) = &element(&process, "b").kind else {
            panic!("a boundary event")
        };
        let CatchEvent::Error { code } = &boundary.event else {
            panic!("an error event")
        };
        code.as_deref().map(str::to_string)
    };
    let task = || {
        Bpmn::process("p")
            .start("s")
            .service_task("t", "work")
            .end("e")
    };
    assert_eq!(
        code(task().boundary_error("b", "t", "declined")).as_deref(),
        Some("declined")
    );
    assert_eq!(code(task().boundary_error("b", "t", None)), None);
    assert_eq!(code(task().boundary_error("b", "t", "")), None);
}

#[test]
fn a_call_activity_describes_the_called_process() {
    let call = |bpmn: Bpmn| match accepted(bpmn)
        .elements
        .into_iter()
        .map(|e| e.kind)
        .find(|k| matches!(k, ElementKind::CallActivity(_)))
    {
        Some(ElementKind::CallActivity(called)) => called,
        other => panic!("{other:?}"),
    };
    let start = || Bpmn::process("p").start("s").call_activity("c", "q");
    let plain = call(start());
    assert_eq!(plain.binding, Binding::Latest);
    assert!(plain.propagate_all_parent_variables && plain.propagate_all_child_variables);
    let special = call(
        start()
            .bind_to_tag("v1")
            .propagate_all_parent_variables(false)
            .propagate_all_child_variables(false),
    );
    assert_eq!(special.binding, Binding::VersionTag("v1".into()));
    assert!(!special.propagate_all_parent_variables && !special.propagate_all_child_variables);
}

#[test]
fn end_events_say_how_they_end() {
    let process = accepted(
        Bpmn::process("p")
            .start("s")
            .parallel("g")
            .end("plain")
            .from("g")
            .end_error("error", "declined")
            .from("g")
            .end_terminate("stop"),
    );
    assert!(matches!(
        element(&process, "plain").kind,
        ElementKind::EndEvent(ThrowEvent::None)
    ));
    assert!(matches!(
        element(&process, "stop").kind,
        ElementKind::EndEvent(ThrowEvent::Terminate)
    ));
    assert!(matches!(
        &element(&process, "error").kind,
        ElementKind::EndEvent(ThrowEvent::Error { code: TextValue::Static(code) }) if &**code == "declined"
    ));
}
