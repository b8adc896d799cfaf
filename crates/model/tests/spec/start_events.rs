//! Start events of a process: none, by timers and by messages.

use skep_model::builder::Bpmn;
use skep_model::{CatchEvent, Timer};

use crate::support::*;

fn with_start(start: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    start(Bpmn::process("p")).task("t").end("e")
}

#[test]
fn a_timer_is_a_date_a_duration_or_a_cycle() {
    let duration = "<bpmn:timerEventDefinition><bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition>";
    accepted(with_start(|p| p.start("s").content(duration)));
    accepted(with_start(|p| p.start_date("s", "2026-10-01T12:00:00Z")));
    accepted(with_start(|p| p.start_cycle("s", "0 0 9-17 * * MON-FRI")));
    let process = accepted(with_start(|p| p.start_cycle("s", "R/PT1H")));
    let start = process.element(process.find("s").unwrap());
    assert!(matches!(
        start.caught(),
        Some(CatchEvent::Timer(Timer::Cycle(_)))
    ));
    assert_eq!(start.event_type(), "TIMER");
    refused(
        with_start(|p| p.start_cycle("s", "every hour")),
        "s",
        "not valid",
    );
}

#[test]
fn a_message_name_is_known_at_deployment() {
    let name_of = |bpmn: Bpmn| {
        let process = accepted(bpmn);
        match process.element(process.find("s").unwrap()).caught() {
            Some(CatchEvent::MessageStart(name)) => name.to_string(),
            other => panic!("no message starts it: {other:?}"),
        }
    };
    assert_eq!(
        name_of(with_start(|p| p.start_message("s", "order"))),
        "order"
    );
    let computed = with_start(|p| p.start_message("s", r#"="or" + "der""#));
    assert_eq!(name_of(computed), "order");
    for expression in ["=name", "=1", r#"=" ""#] {
        refused(
            with_start(|p| p.start_message("s", expression)),
            "s",
            "without variables",
        );
    }
}

#[test]
fn a_message_start_event_needs_no_correlation_key() {
    let xml = definitions(
        "<message id='m' name='order'/><process id='p' isExecutable='true'>\
         <startEvent id='s'><messageEventDefinition messageRef='m'/></startEvent></process>",
    );
    accepted_xml(&xml);
    let unnamed = xml.replace("name='order'", "");
    refused_xml(&unnamed, Some("s"), "has no name");
}

#[test]
fn start_events_of_a_process_have_different_messages() {
    let two = |second: &str| {
        with_start(|p| p.start_message("a", "order"))
            .start_message("b", second)
            .to("t")
    };
    accepted(two("other"));
    refused(two("order"), "b", "already awaited by another start event");
}

#[test]
fn a_none_start_event_may_stand_beside_others() {
    let bpmn = with_start(|p| p.start_cycle("tick", "R/PT1H"))
        .start("s")
        .to("t");
    let process = accepted(bpmn);
    assert_eq!(process.none_start_event(), process.find("s"));
    let only = accepted(with_start(|p| p.start_cycle("tick", "R/PT1H")));
    assert_eq!(only.none_start_event(), None);
}
