//! Executed elements, and elements that are refused because no engine with this API executes them.

use skep_model::builder::Bpmn;

use crate::support::*;

const NEVER: &str = "is not executed by engines with this API";

/// A valid process for each kind of element and event: `x` is the element.
pub fn samples() -> Vec<Bpmn> {
    let esp =
        |content: fn(Bpmn) -> Bpmn| task().event_sub_process("x", |sub| content(sub).end("e2"));
    let with = |content: fn(Bpmn) -> Bpmn| around(content);
    vec![
        with(|p| p.user_task("x")),
        with(|p| p.user_task_job("x")),
        with(|p| p.script("x", "=1", "r")),
        with(|p| p.job_task("scriptTask", "x", "work")),
        with(|p| p.decision("x", "d", "r")),
        with(|p| p.job_task("businessRuleTask", "x", "work")),
        with(|p| p.send_task("x", "work")),
        with(|p| p.inclusive("x")),
        with(|p| p.throw("x")),
        with(|p| p.throw_message("x", "work")),
        with(|p| p.throw_signal("x", "s")),
        with(|p| p.throw_escalation("x", "c")),
        with(|p| p.throw_compensation("x", None)),
        with(|p| p.throw_link("x", "l").catch_link("land", "l")),
        with(|p| p.catch_signal("x", "s")),
        with(|p| p.catch_condition("x", "=a")),
        with(|p| p.ad_hoc("x", |a| a.task("t"))),
        with(|p| p.service_task("x", "work").for_each("=[1]", "i")),
        with(|p| p.service_task("x", "work").listener("start", "work")),
        Bpmn::process("p").start("s").end_message("x", "work"),
        Bpmn::process("p").start("s").end_signal("x", "s"),
        Bpmn::process("p").start("s").end_escalation("x", "c"),
        Bpmn::process("p").start("s").end_compensation("x", None),
        Bpmn::process("p").start_cycle("x", "R/PT1H").end("e"),
        Bpmn::process("p")
            .start_message_for("x", "m", "=k")
            .end("e"),
        Bpmn::process("p").start_signal("x", "s").end("e"),
        Bpmn::process("p").start_condition("x", "=a").end("e"),
        task().boundary_signal("x", "t", "s").end("e2"),
        task().boundary_condition("x", "t", "=a").end("e2"),
        with(|p| p.call_activity("t", "q")).boundary_escalation("x", "t", None),
        task()
            .boundary_compensation("x", "t", "undo")
            .task("undo")
            .for_compensation(),
        esp(|sub| sub.start_message_for("s2", "m", "=k")),
        esp(|sub| sub.start_cycle("s2", "R/PT1H").non_interrupting()),
        esp(|sub| sub.start_signal("s2", "s")),
        esp(|sub| sub.start_condition("s2", "=a")),
        esp(|sub| sub.start_error("s2", None)),
        esp(|sub| sub.start_escalation("s2", "c")),
        with(|p| {
            let p = p.event_based("x").catch_signal("a", "s").end("e2");
            p.from("x").catch_duration("b", "PT1H")
        }),
    ]
}

#[test]
fn every_kind_of_element_and_event_is_accepted() {
    for bpmn in samples() {
        accepted(bpmn);
    }
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

/// Engines with this API have always ignored it.
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
fn cancel_events() {
    let cancel = definition("cancel");
    refused(task().boundary("x", "t").content(&cancel), "x", NEVER);
    let end = Bpmn::process("p").start("s").end("x").content(&cancel);
    refused(end, "x", NEVER);
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
        .element("complexGateway", "x")
        .end("e")
        .boundary_error("b", "x", None)
        .end("e2");
    refused(bpmn, "x", NEVER);
}

/// Each of its findings is true, but users need to know why there are so many.
#[test]
fn a_model_for_camunda_7_is_called_so_before_its_findings() {
    let model = |attributes: &str, content: &str| {
        format!(
            "<definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' \
             xmlns:camunda='http://camunda.org/schema/1.0/bpmn' xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' id='d'>\
             <process id='p' isExecutable='true'><startEvent id='s'/><serviceTask id='t' {attributes}>{content}</serviceTask></process></definitions>"
        )
    };
    let input = "<extensionElements><camunda:inputOutput/></extensionElements>";
    for xml in [model("camunda:class='org.Work'", ""), model("", input)] {
        let invalid = parse(&xml).expect_err("refused");
        let codes: Vec<_> = invalid.findings.iter().map(|f| f.rule.code()).collect();
        assert_eq!(codes, ["NOT_SUPPORTED", "EXTENSION_MISSING"]);
        assert!(
            invalid
                .to_string()
                .contains("This model is made for Camunda 7"),
            "{invalid}"
        );
    }
    // The namespace alone is not sufficient, nor are unused Camunda 7 extensions in a valid model.
    let invalid = parse(&model("", "")).expect_err("refused");
    assert_eq!(invalid.findings.len(), 1, "{invalid}");
    let runs = "<extensionElements><zeebe:taskDefinition type='work'/></extensionElements>";
    accepted_xml(&model("camunda:asyncBefore='true'", runs));
    let broken = "<extensionElements><zeebe:taskDefinition/></extensionElements>";
    let invalid = parse(&model("camunda:asyncBefore='true'", broken)).expect_err("refused");
    assert_eq!(invalid.findings.len(), 1, "{invalid}");
}
