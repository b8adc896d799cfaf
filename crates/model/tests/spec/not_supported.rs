//! What is refused because it is not executed: yet, or by any engine with this API. The wording tells them apart.

use skep_model::builder::Bpmn;

use crate::support::*;

const YET: &str = "is not supported by this release of Skep yet";
const NEVER: &str = "is not executed by engines with this API";

#[test]
fn elements_of_later_releases() {
    for tag in [
        "userTask",
        "scriptTask",
        "businessRuleTask",
        "sendTask",
        "inclusiveGateway",
        "eventBasedGateway",
        "intermediateThrowEvent",
        "adHocSubProcess",
    ] {
        refused(around(|p| p.element(tag, "x")), "x", YET);
    }
}

#[test]
fn event_sub_processes() {
    let bpmn = Bpmn::process("p").start("s").end("e");
    let event_sub_process = "<bpmn:subProcess id='x' triggeredByEvent='true'><bpmn:startEvent id='y'/></bpmn:subProcess>";
    refused(bpmn.raw("x", event_sub_process), "x", YET);
}

#[test]
fn elements_that_no_engine_with_this_api_executes() {
    for tag in ["complexGateway", "transaction", "choreographyTask"] {
        refused(around(|p| p.element(tag, "x")), "x", NEVER);
    }
}

#[test]
fn choreographies_and_conversations() {
    let process = "<process id='p' isExecutable='true'><startEvent id='s'/></process>";
    refused_xml(
        &definitions(&format!("{process}<choreography id='x'/>")),
        Some("x"),
        "'choreography'",
    );
    refused_xml(
        &definitions(&format!("{process}<globalConversation id='x'/>")),
        Some("x"),
        "'globalConversation'",
    );
    let collaboration = "<collaboration id='c'><conversation id='x'/></collaboration>";
    refused_xml(
        &definitions(&format!("{process}{collaboration}")),
        Some("c"),
        "'conversation'",
    );
}

#[test]
fn markers() {
    let multi = "<bpmn:multiInstanceLoopCharacteristics/>";
    refused(
        around(|p| p.service_task("x", "work").content(multi)),
        "x",
        YET,
    );
    refused(
        around(|p| {
            p.sub_process("x", |sub| sub.start("s2").end("e2"))
                .content(multi)
        }),
        "x",
        YET,
    );
    refused(
        around(|p| {
            p.service_task("x", "work")
                .attribute("isForCompensation", "true")
        }),
        "x",
        YET,
    );
}

/// Engines with this API have never looked at it.
#[test]
fn a_loop_marker_has_no_effect() {
    let marker = "<bpmn:standardLoopCharacteristics loopMaximum=\"3\"/>";
    accepted(around(|p| p.service_task("x", "work").content(marker)));
    accepted(around(|p| {
        p.sub_process("x", |sub| sub.start("s2").end("e2"))
            .content(marker)
    }));
}

fn definition(kind: &str) -> String {
    format!("<bpmn:{kind}EventDefinition/>")
}

#[test]
fn start_events() {
    for kind in ["signal", "conditional"] {
        refused(
            Bpmn::process("p")
                .start("x")
                .content(&definition(kind))
                .end("e"),
            "x",
            YET,
        );
    }
}

#[test]
fn catch_events() {
    for kind in ["signal", "conditional", "link"] {
        refused(
            around(|p| {
                p.element("intermediateCatchEvent", "x")
                    .content(&definition(kind))
            }),
            "x",
            YET,
        );
    }
}

#[test]
fn boundary_events() {
    let task = || {
        Bpmn::process("p")
            .start("s")
            .service_task("t", "work")
            .end("e")
    };
    for kind in ["signal", "conditional", "escalation", "compensate"] {
        refused(
            task().boundary("x", "t").content(&definition(kind)),
            "x",
            YET,
        );
    }
    refused(
        task().boundary("x", "t").content(&definition("cancel")),
        "x",
        NEVER,
    );
}

#[test]
fn end_events() {
    for kind in ["message", "signal", "escalation", "compensate"] {
        refused(
            Bpmn::process("p")
                .start("s")
                .end("x")
                .content(&definition(kind)),
            "x",
            YET,
        );
    }
    refused(
        Bpmn::process("p")
            .start("s")
            .end("x")
            .content(&definition("cancel")),
        "x",
        NEVER,
    );
}

#[test]
fn multiple_events() {
    let two = format!("{}{}", definition("message"), definition("timer"));
    refused(
        Bpmn::process("p").start("x").content(&two).end("e"),
        "x",
        NEVER,
    );
}

#[test]
fn unknown_event_definitions() {
    refused(
        Bpmn::process("p")
            .start("x")
            .content(&definition("horoscope"))
            .end("e"),
        "x",
        "'horoscope' is not known",
    );
}

#[test]
fn a_refused_element_causes_no_other_findings() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .element("userTask", "x")
        .end("e")
        .boundary_error("b", "x", None)
        .end("e2");
    refused(bpmn, "x", YET);
}
