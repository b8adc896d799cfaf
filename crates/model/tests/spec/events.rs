//! Events: timers, messages, errors, termination, and their valid positions.

use skep_model::builder::Bpmn;

use crate::support::*;

const TERMINATE: &str = "<bpmn:terminateEventDefinition/>";

fn timer(values: &str) -> String {
    format!("<bpmn:timerEventDefinition>{values}</bpmn:timerEventDefinition>")
}

fn task() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .end("e")
}

#[test]
fn an_intermediate_catch_event_has_exactly_one_definition() {
    accepted(around(|p| p.catch_duration("c", "PT1H")));
    accepted(around(|p| p.catch_date("c", "2026-10-01T12:00:00Z")));
    accepted(around(|p| p.catch_message("c", "paid", "=order")));
    refused(
        around(|p| p.element("intermediateCatchEvent", "c")),
        "c",
        "no event definition",
    );
    refused(
        around(|p| p.catch_duration("c", "PT1H").content(TERMINATE)),
        "c",
        "several event definitions",
    );
}

#[test]
fn an_intermediate_catch_event_cannot_terminate_or_catch_errors() {
    refused(
        around(|p| p.element("intermediateCatchEvent", "c").content(TERMINATE)),
        "c",
        "'terminate' is not possible",
    );
    let error = "<bpmn:errorEventDefinition/>";
    refused(
        around(|p| p.element("intermediateCatchEvent", "c").content(error)),
        "c",
        "'error' is not possible",
    );
}

#[test]
fn a_timer_has_exactly_one_of_date_duration_and_cycle() {
    let with = |values: &str| {
        around(|p| {
            p.element("intermediateCatchEvent", "c")
                .content(&timer(values))
        })
    };
    refused(
        with(""),
        "c",
        "exactly one of date, duration and cycle, but has 0",
    );
    let both = "<bpmn:timeDate>=a</bpmn:timeDate><bpmn:timeDuration>PT1S</bpmn:timeDuration>";
    refused(
        with(both),
        "c",
        "exactly one of date, duration and cycle, but has 2",
    );
    refused(with("<bpmn:timeDuration/>"), "c", "is empty");
}

#[test]
fn constant_timer_values_must_be_readable() {
    refused(
        around(|p| p.catch_duration("c", "1 hour")),
        "c",
        "'1 hour' is not valid: expected a duration",
    );
    refused(
        around(|p| p.catch_date("c", "2026-10-01")),
        "c",
        "expected a date-time with zone",
    );
    refused(
        task().boundary_cycle("b", "t", "hourly").end("e2"),
        "b",
        "expected a cycle",
    );
}

#[test]
fn timer_expressions_must_parse_and_are_read_when_the_timer_is_set() {
    accepted(around(|p| p.catch_duration("c", "=delay")));
    accepted(around(|p| p.catch_date("c", "=due")));
    accepted(task().boundary_cycle("b", "t", "=cycle").end("e2"));
    refused(
        around(|p| p.catch_duration("c", "=1 +")),
        "c",
        "not a valid FEEL expression",
    );
}

#[test]
fn only_events_that_do_not_interrupt_can_repeat() {
    let cycle = timer("<bpmn:timeCycle>R/PT1H</bpmn:timeCycle>");
    accepted(task().boundary_cycle("b", "t", "R/PT1H").end("e2"));
    refused(
        around(|p| p.element("intermediateCatchEvent", "c").content(&cycle)),
        "c",
        "do not interrupt",
    );
    refused(
        task().boundary("b", "t").content(&cycle).end("e2"),
        "b",
        "do not interrupt",
    );
}

#[test]
fn boundary_events_are_timers_messages_or_errors() {
    accepted(task().boundary_duration("b", "t", "PT1H").end("e2"));
    accepted(
        task()
            .boundary_duration("b", "t", "PT1H")
            .non_interrupting()
            .end("e2"),
    );
    accepted(
        task()
            .boundary_date("b", "t", "2026-10-01T12:00:00Z")
            .end("e2"),
    );
    accepted(
        task()
            .boundary_message("b", "t", "cancelled", "=order")
            .end("e2"),
    );
    accepted(
        task()
            .boundary_message("b", "t", "asked", "=order")
            .non_interrupting()
            .end("e2"),
    );
    accepted(task().boundary_error("b", "t", "declined").end("e2"));
    accepted(task().boundary_error("b", "t", None).end("e2"));
    refused(
        task().boundary("b", "t").end("e2"),
        "b",
        "no event definition",
    );
    refused(
        task().boundary("b", "t").content(TERMINATE).end("e2"),
        "b",
        "'terminate' is not possible",
    );
}

#[test]
fn an_error_boundary_event_interrupts() {
    refused(
        task()
            .boundary_error("b", "t", "declined")
            .non_interrupting()
            .end("e2"),
        "b",
        "always interrupts",
    );
}

#[test]
fn a_boundary_event_is_attached_to_an_activity_of_its_scope() {
    for attach in [
        (|p: Bpmn| p.task("x")) as fn(Bpmn) -> Bpmn,
        |p| p.manual_task("x"),
        |p| p.receive_task("x", "m", "=k"),
        |p| p.call_activity("x", "q"),
        |p| p.sub_process("x", |sub| sub.start("s2").end("e2")),
    ] {
        accepted(around(attach).boundary_duration("b", "x", "PT1H").end("e3"));
    }
    refused(
        task().boundary_error("b", "nowhere", None).end("e2"),
        "b",
        "names 'nowhere'",
    );
    refused(
        task().boundary_error("b", "e", None).end("e2"),
        "b",
        "but 'e' is not one",
    );
    refused(
        task().boundary_error("b", "p", None).end("e2"),
        "b",
        "but 'p' is not one",
    );
    let other_scope = around(|p| {
        p.sub_process("sub", |sub| {
            sub.start("s2").service_task("t", "work").end("e2")
        })
    });
    refused(
        other_scope.boundary_error("b", "t", None).end("e3"),
        "b",
        "different scopes",
    );
    let missing = process(
        "<startEvent id='s'/><boundaryEvent id='b'><errorEventDefinition/></boundaryEvent>",
    );
    refused_xml(&missing, Some("b"), "'attachedToRef' is missing");
}

#[test]
fn a_boundary_event_has_no_incoming_flow() {
    let bpmn = task()
        .boundary_error("b", "t", None)
        .end("e2")
        .from("t")
        .to("b");
    refused(bpmn, "b", "must not have an incoming sequence flow");
}

#[test]
fn the_events_of_an_activity_wait_for_different_messages_and_errors() {
    accepted(
        task()
            .boundary_message("b1", "t", "a", "=k")
            .end("e1")
            .boundary_message("b2", "t", "b", "=k")
            .end("e2"),
    );
    let same_message = task()
        .boundary_message("b1", "t", "a", "=k")
        .end("e1")
        .boundary_message("b2", "t", "a", "=l")
        .end("e2");
    refused(same_message, "b2", "'a' is already awaited");
    accepted(
        task()
            .boundary_error("b1", "t", "a")
            .end("e1")
            .boundary_error("b2", "t", None)
            .end("e2"),
    );
    let same_error = task()
        .boundary_error("b1", "t", "a")
        .end("e1")
        .boundary_error("b2", "t", "a")
        .end("e2");
    refused(same_error, "b2", "error code 'a' is already awaited");
    let catch_all = task()
        .boundary_error("b1", "t", None)
        .end("e1")
        .boundary_error("b2", "t", None)
        .end("e2");
    refused(catch_all, "b2", "Any error code is already awaited");
}

#[test]
fn a_receive_task_does_not_share_its_message_with_a_boundary_event() {
    let bpmn = around(|p| p.receive_task("r", "paid", "=k"))
        .boundary_message("b", "r", "paid", "=k")
        .end("e2");
    refused(bpmn, "b", "'paid' is already awaited by 'r'");
}

#[test]
fn a_message_has_a_name_and_one_subscription() {
    let catching = |message: &str| {
        definitions(&format!(
            "{message}<process id='p' isExecutable='true'><startEvent id='s'/><receiveTask id='r' messageRef='m'/></process>"
        ))
    };
    let subscription = "<zeebe:subscription correlationKey='=k'/>";
    let message = |name: &str, extensions: &str| {
        catching(&format!(
            "<message id='m' {name}><extensionElements>{extensions}</extensionElements></message>"
        ))
    };
    accepted_xml(&message("name='n'", subscription));
    accepted_xml(&message("name='=n'", subscription));
    refused_xml(
        &catching(""),
        Some("r"),
        "names 'm', which is not a message",
    );
    refused_xml(&message("", subscription), Some("r"), "has no name");
    refused_xml(&message("name=' '", subscription), Some("r"), "has no name");
    refused_xml(
        &message("name='=1 +'", subscription),
        Some("r"),
        "The message name is not a valid FEEL expression",
    );
    refused_xml(
        &message("name='n'", ""),
        Some("r"),
        "exactly one 'zeebe:subscription', but has none",
    );
    refused_xml(
        &message("name='n'", &subscription.repeat(2)),
        Some("r"),
        "more than one 'zeebe:subscription'",
    );
    refused_xml(
        &message("name='n'", "<zeebe:subscription/>"),
        Some("r"),
        "is missing or empty",
    );
    refused_xml(
        &message("name='n'", "<zeebe:subscription correlationKey='k'/>"),
        Some("r"),
        "does not start with '='",
    );
    refused_xml(
        &message("name='n'", "<zeebe:subscription correlationKey='=k +'/>"),
        Some("r"),
        "not a valid FEEL",
    );
}

#[test]
fn references_may_be_qualified_names() {
    let xml = definitions(
        "<message id='m' name='n'><extensionElements><zeebe:subscription correlationKey='=k'/></extensionElements></message>\
         <process id='p' isExecutable='true'><startEvent id='s'/><receiveTask id='r' messageRef='tns:m'/></process>",
    );
    accepted_xml(&xml);
}

#[test]
fn a_message_event_references_a_message() {
    let event = "<bpmn:messageEventDefinition/>";
    refused(
        around(|p| p.element("intermediateCatchEvent", "c").content(event)),
        "c",
        "references no message",
    );
    refused(
        around(|p| p.element("receiveTask", "r")),
        "r",
        "references no message",
    );
}

#[test]
fn an_error_end_event_throws_a_code() {
    accepted(Bpmn::process("p").start("s").end_error("e", "declined"));
    accepted(Bpmn::process("p").start("s").end_error("e", "=code"));
    refused(
        Bpmn::process("p").start("s").end_error("e", ""),
        "e",
        "has no errorCode",
    );
    refused(
        Bpmn::process("p").start("s").end_error("e", "=1 +"),
        "e",
        "not a valid FEEL expression",
    );
    let none = Bpmn::process("p")
        .start("s")
        .end("e")
        .content("<bpmn:errorEventDefinition/>");
    refused(none, "e", "throws no error");
    let missing = Bpmn::process("p")
        .start("s")
        .end("e")
        .content("<bpmn:errorEventDefinition errorRef='x'/>");
    refused(missing, "e", "names 'x', which is not an error");
}

#[test]
fn a_caught_error_code_is_constant() {
    refused(
        task().boundary_error("b", "t", "=code").end("e2"),
        "b",
        "cannot be an expression",
    );
    accepted(task().boundary_error("b", "t", "").end("e2"));
}

#[test]
fn an_end_event_has_at_most_one_definition() {
    accepted(Bpmn::process("p").start("s").end_terminate("e"));
    let two = Bpmn::process("p")
        .start("s")
        .end_terminate("e")
        .content("<bpmn:errorEventDefinition/>");
    refused(two, "e", "several event definitions");
    let timed = Bpmn::process("p")
        .start("s")
        .end("e")
        .content(&timer("<bpmn:timeDuration>PT1S</bpmn:timeDuration>"));
    refused(timed, "e", "'timer' is not possible");
}

#[test]
fn an_error_start_event_of_a_process_is_accepted_and_never_happens() {
    let start = || Bpmn::process("p").start_error("s", "code").end("e");
    assert_eq!(accepted(start()).none_start_event(), None);
    for (kind, called) in [("compensate", "compensation"), ("terminate", "terminate")] {
        let definition = format!("<bpmn:{kind}EventDefinition/>");
        let bpmn = Bpmn::process("p").start("s").content(&definition).end("e");
        refused(bpmn, "s", &format!("'{called}' is not possible"));
    }
}

#[test]
fn shared_event_definitions_are_refused() {
    let bpmn = around(|p| {
        p.element("intermediateCatchEvent", "c")
            .content("<bpmn:eventDefinitionRef>x</bpmn:eventDefinitionRef>")
    });
    refused(bpmn, "c", "not executed by engines with this API");
}

#[test]
fn every_element_that_refers_to_an_invalid_message_or_error_is_named() {
    let xml = definitions(
        "<message id='m'/><error id='x' errorCode='=1 +'/><process id='p' isExecutable='true'><startEvent id='s'/>\
         <receiveTask id='r1' messageRef='m'/><receiveTask id='r2' messageRef='m'/>\
         <endEvent id='e1'><errorEventDefinition errorRef='x'/></endEvent><endEvent id='e2'><errorEventDefinition errorRef='x'/></endEvent>\
         </process>",
    );
    let findings = parse(&xml).expect_err("refused").findings;
    let elements: Vec<_> = findings
        .iter()
        .filter_map(|f| f.element_id.as_deref())
        .collect();
    assert_eq!(elements, ["r1", "r1", "r2", "e1", "e2"]);
    assert!(findings[2].message.contains("see the first element"));
    assert!(findings[4].message.contains("see the first element"));
}
