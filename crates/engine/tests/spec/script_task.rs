//! Script tasks: an expression, or a job.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn script(expression: &str) -> Bpmn {
    let process = Bpmn::process("p").start("start");
    process.script("calc", expression, "r").end("end")
}

#[test]
fn the_result_is_a_variable_of_the_process() {
    let mut rig = Rig::with(script("=x * 2"));
    let instance = rig.create("p", r#"{"x":21}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "r").unwrap(), "42");
    let null = rig.create("p", "{}");
    assert_eq!(rig.variable(null, "r").unwrap(), "null");
}

#[test]
fn with_output_mappings_the_result_is_local() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("start")
            .script("calc", "=a + 1", "r")
            .input("=1", "a")
            .output("=r * 10", "total")
            .end("end"),
    );
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "total").unwrap(), "20");
    assert_eq!(rig.variable(instance, "r"), None);
}

#[test]
fn a_failing_script_is_an_incident_and_is_tried_again() {
    let mut rig = Rig::with(script("=assert(x, x != null)"));
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("EXTRACT_VALUE_ERROR", "calc")
    );
    rig.set_variables(instance, r#"{"x":1}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "r").unwrap(), "1");
}

/// The result is kept with the element until its next turn.
#[test]
fn the_result_survives_until_the_element_completes() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    let process = Bpmn::process("p").start("start").parallel("fork");
    let process = process.script("a", "=1", "x").parallel("join").end("end");
    rig.deploy(process.from("fork").script("b", "=2", "y").to("join"));
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "x").unwrap(), "1");
    assert_eq!(rig.variable(instance, "y").unwrap(), "2");
    rig.assert_nothing_left();
}

#[test]
fn a_result_that_fits_into_no_batch_is_an_incident() {
    let mut rig = Rig::with(script("=for i in 1..100 return large"));
    let large = "x".repeat(300_000);
    let instance = rig.create("p", &format!(r#"{{"large":"{large}"}}"#));
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
    rig.cancel(instance).unwrap();
    rig.assert_nothing_left();
}

/// Two scripts in a row, the second with an incident on completion: the first one's result is kept.
#[test]
fn an_incident_in_completion_keeps_the_result() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("start")
            .script("calc", "=7", "r")
            .output("=assert(y, y != null)", "z")
            .output("=r", "kept")
            .end("end"),
    );
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "calc");
    rig.set_variables(instance, r#"{"y":1}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "kept").unwrap(), "7");
}
