//! Events by position: each is allowed in the positions given by the table, where it catches or throws.

use skep_model::builder::Bpmn;
use skep_protocol::Document;
use skep_protocol::command::*;

use super::*;

/// Root elements that the event definitions refer to.
const GLOBALS: &str = r#"<bpmn:message id="g-message" name="m"><bpmn:extensionElements><zeebe:subscription correlationKey="=&quot;k&quot;"/></bpmn:extensionElements></bpmn:message><bpmn:signal id="g-signal" name="go"/><bpmn:error id="g-error" errorCode="code"/><bpmn:escalation id="g-escalation" escalationCode="code"/>"#;

/// In the order of the table's columns.
const POSITIONS: [&str; 8] = [
    "Start",
    "ESP int",
    "ESP non",
    "Catch",
    "Boundary int",
    "Boundary non",
    "Throw",
    "End",
];

fn definition(event: &str, position: &str) -> &'static str {
    match (event, position) {
        ("None", _) => "",
        ("Message", "Throw" | "End") => {
            r#"<bpmn:extensionElements><zeebe:taskDefinition type="mail"/></bpmn:extensionElements><bpmn:messageEventDefinition/>"#
        }
        ("Message", _) => r#"<bpmn:messageEventDefinition messageRef="g-message"/>"#,
        ("Timer", "Start") => {
            "<bpmn:timerEventDefinition><bpmn:timeCycle>R1/PT1M</bpmn:timeCycle></bpmn:timerEventDefinition>"
        }
        ("Timer", _) => {
            "<bpmn:timerEventDefinition><bpmn:timeDuration>PT1M</bpmn:timeDuration></bpmn:timerEventDefinition>"
        }
        ("Error", _) => r#"<bpmn:errorEventDefinition errorRef="g-error"/>"#,
        ("Signal", _) => r#"<bpmn:signalEventDefinition signalRef="g-signal"/>"#,
        ("Conditional", _) => {
            "<bpmn:conditionalEventDefinition><bpmn:condition>=b = 3</bpmn:condition></bpmn:conditionalEventDefinition>"
        }
        ("Escalation", _) => r#"<bpmn:escalationEventDefinition escalationRef="g-escalation"/>"#,
        ("Compensation", _) => "<bpmn:compensateEventDefinition/>",
        ("Terminate", _) => "<bpmn:terminateEventDefinition/>",
        ("Link", _) => r#"<bpmn:linkEventDefinition name="there"/>"#,
        ("Cancel", _) => "<bpmn:cancelEventDefinition/>",
        ("Multiple, parallel multiple", _) => {
            r#"<bpmn:messageEventDefinition messageRef="g-message"/><bpmn:signalEventDefinition signalRef="g-signal"/>"#
        }
        (event, position) => panic!("no definition of {event} at {position}"),
    }
}

/// A waiting task `t`, parallel to the job `trigger`, followed by a throw event if the case needs one.
fn work(p: Bpmn, event: &str) -> Bpmn {
    let p = p
        .parallel("f")
        .service_task("t", "work")
        .end("e1")
        .from("f")
        .service_task("trigger", "trigger");
    let p = match event {
        "Escalation" => p.throw_escalation("thrower", "code"),
        _ => p.throw("thrower"),
    };
    p.end("e2")
}

/// `x` is the event.
fn model(event: &str, position: &str) -> Bpmn {
    let x = definition(event, position);
    let p = Bpmn::process("p").definition(GLOBALS);
    match position {
        "Start" => p.start("x").content(x).task("t").end("e"),
        "ESP int" => work(p.start("s"), event)
            .event_sub_process("esp", |sub| sub.start("x").content(x).end("e3")),
        "ESP non" => work(p.start("s"), event).event_sub_process("esp", |sub| {
            sub.start("x").content(x).non_interrupting().end("e3")
        }),
        "Catch" if event == "Link" => p
            .start("s")
            .throw_link("t", "there")
            .catch_link("x", "there")
            .end("e"),
        "Catch" => p
            .start("s")
            .element("intermediateCatchEvent", "x")
            .content(x)
            .end("e"),
        "Boundary int" if event == "Compensation" => p
            .start("s")
            .task("t")
            .boundary_compensation("x", "t", "undo")
            .service_task("undo", "work")
            .for_compensation()
            .from("t")
            .throw_compensation("back", None)
            .end("e"),
        "Boundary int" | "Boundary non" => {
            let p = p
                .start("s")
                .sub_process("sub", |sub| work(sub.start("s2"), event))
                .end("e");
            let p = p.boundary("x", "sub").content(x);
            match position {
                "Boundary non" => p.non_interrupting().end("e4"),
                _ => p.end("e4"),
            }
        }
        "Throw" if event == "Link" => p
            .start("s")
            .throw("x")
            .content(x)
            .catch_link("t", "there")
            .end("e"),
        "Throw" => compensable(p, event).throw("x").content(x).end("e"),
        // Parallel to a task, in a sub-process that catches errors.
        _ => p
            .start("s")
            .sub_process("sub", |sub| {
                let sub = compensable(sub, event)
                    .parallel("f")
                    .service_task("t", "work")
                    .end("e1")
                    .from("f");
                sub.service_task("trigger", "trigger").end("x").content(x)
            })
            .end("e")
            .boundary_error("caught", "sub", "code")
            .end("e2"),
    }
}

fn compensable(p: Bpmn, event: &str) -> Bpmn {
    match event {
        "Compensation" => p
            .start("s2")
            .task("a")
            .boundary_compensation("b", "a", "undo")
            .service_task("undo", "work")
            .for_compensation()
            .from("a"),
        _ => p.start("s2"),
    }
}

#[test]
fn every_event_may_stand_where_the_table_says() {
    let rows = table("### Events by position");
    let (mut runs, mut refused) = (0, 0);
    for row in &rows {
        let event = row[0].split(" (").next().unwrap();
        for (position, cell) in POSITIONS.iter().zip(&row[1..]) {
            let named = format!("{event} at {position}");
            match &**cell {
                "yes" => {
                    let mut rig = deployed(&model(event, position).xml(), &named);
                    happens(&mut rig, event, position, &named);
                    runs += 1;
                }
                "no" => {
                    assert_refused(&model(event, position).xml(), "x", &named);
                    refused += 1;
                }
                _ => {}
            }
        }
    }
    assert_eq!((runs, refused), (46, 11), "cells of the table");
}

fn happens(rig: &mut Rig, event: &str, position: &str, named: &str) {
    if position != "Start" || event == "None" {
        rig.create("p", r#"{"b":0}"#);
    }
    match position {
        "Throw" | "End" => throws(rig, event, position, named),
        _ => catches(rig, event, position, named),
    }
    to_the_end(rig, named);
    rig.assert_nothing_left();
}

/// Triggers the event.
fn trigger(rig: &mut Rig, event: &str, position: &str) {
    match (event, position) {
        ("Message", _) => drop(rig.publish("m", "k", 0, "{}")),
        ("Timer", _) => rig.advance(MINUTE),
        ("Signal", _) => rig.broadcast("go", "{}"),
        ("Conditional", "Start") => {
            let evaluate = EvaluateConditionals {
                process_definition_key: None,
                variables: Document::parse(VARIABLES).unwrap(),
            };
            rig.send(Command::EvaluateConditionals(evaluate)).unwrap();
        }
        ("Conditional", _) => {
            let instance = rig.instance_of("p");
            rig.set_variables(instance, VARIABLES, false);
        }
        ("Error", _) => {
            let job = rig.job("trigger");
            rig.throw(&job, "code", "{}");
        }
        ("Escalation", _) => rig.work("trigger", "{}"),
        _ => {}
    }
}

fn catches(rig: &mut Rig, event: &str, position: &str, named: &str) {
    trigger(rig, event, position);
    let instance = rig.instance_of("p");
    let compensation = event == "Compensation";
    // The handler of a compensation boundary event shows that it was triggered.
    let caught = if compensation { "undo" } else { "x" };
    if compensation {
        rig.work("work", "{}");
    }
    assert!(
        rig.completed(instance).iter().any(|id| id == caught),
        "{named}: {:#?}",
        rig.life(instance)
    );
    let interrupted = rig.terminated(instance).iter().any(|id| id == "t");
    let interrupts = ["ESP int", "Boundary int"].contains(&position) && !compensation;
    assert_eq!(
        interrupted,
        interrupts,
        "{named}: {:#?}",
        rig.life(instance)
    );
}

fn throws(rig: &mut Rig, event: &str, position: &str, named: &str) {
    if position == "End" {
        rig.work("trigger", "{}");
    }
    let instance = rig.instance_of("p");
    let thrown = |value_type: &str, intent: &str| rig.intents(value_type).contains(&intent);
    let done = match event {
        "None" => true,
        "Message" => rig.event_of("JOB", "CREATED", "x").is_some(),
        "Signal" => thrown("SIGNAL", "BROADCASTED"),
        "Escalation" => thrown("ESCALATION", "NOT_ESCALATED"),
        "Compensation" => thrown("COMPENSATION_SUBSCRIPTION", "TRIGGERED"),
        "Link" => rig.completed(instance).iter().any(|id| id == "t"),
        "Error" => rig.completed(instance).iter().any(|id| id == "caught"),
        "Terminate" => rig.terminated(instance).iter().any(|id| id == "t"),
        event => panic!("what {event} does is not known here"),
    };
    assert!(done, "{named}: {:#?}", rig.life(instance));
}
