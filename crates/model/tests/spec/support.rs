//! Vocabulary for stating the rules.

use skep_feel::Expression;
use skep_model::builder::Bpmn;
use skep_model::{Element, Invalid, Options, Process, Resource};

pub fn parse(xml: &str) -> Result<Resource, Invalid> {
    skep_model::parse("test.bpmn", xml.as_bytes(), &Options::default())
}

/// Asserts that the process is accepted.
#[track_caller]
pub fn accepted(bpmn: Bpmn) -> Process {
    accepted_xml(&bpmn.xml())
}

#[track_caller]
pub fn accepted_xml(xml: &str) -> Process {
    match parse(xml) {
        Ok(mut resource) => resource.processes.remove(0),
        Err(invalid) => panic!("expected to be accepted, but:\n{invalid}\n{xml}"),
    }
}

/// Asserts that the process is refused with exactly one finding, on this element and with this text.
#[track_caller]
pub fn refused(bpmn: Bpmn, element: &str, message: &str) {
    refused_xml(&bpmn.xml(), Some(element), message);
}

#[track_caller]
pub fn refused_xml(xml: &str, element: Option<&str>, message: &str) {
    let invalid = parse(xml).expect_err("expected to be refused");
    let [finding] = &invalid.findings[..] else {
        panic!("expected one finding, but:\n{invalid}");
    };
    assert_eq!(finding.element_id.as_deref(), element, "{invalid}");
    assert!(
        finding.message.contains(message),
        "expected '{message}' in:\n{invalid}"
    );
}

/// A process with one element between start and end.
pub fn around(element: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    element(Bpmn::process("p").start("s")).end("e")
}

/// A file around the content of `definitions`.
pub fn definitions(content: &str) -> String {
    format!(
        "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
         xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\" id=\"d\">{content}</definitions>"
    )
}

/// A file with one process of this content.
pub fn process(content: &str) -> String {
    definitions(&format!(
        "<process id=\"p\" isExecutable=\"true\">{content}</process>"
    ))
}

/// A task between start and end, to attach things to.
pub fn task() -> Bpmn {
    around(|p| p.service_task("t", "work"))
}

#[track_caller]
pub fn element<'p>(process: &'p Process, id: &str) -> &'p Element {
    process.element(process.find(id).expect(id))
}

#[track_caller]
pub fn expression(text: &str, expression: &Expression) {
    assert_eq!(expression.text(), text);
}
