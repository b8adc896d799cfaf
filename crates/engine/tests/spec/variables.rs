//! Scopes: an inner variable hides the outer one, and an update goes to the nearest scope that has the variable.

use skep_model::builder::Bpmn;
use skep_protocol::{Command, Document, Key};
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .service_task("task", "work")
                .input("=1", "t")
                .end("e2")
        })
        .input("=1", "m")
        .service_task("after", "after")
        .end("e")
}

#[test]
fn a_change_reaches_the_nearest_scope_that_has_the_variable() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"r":1}"#);
    let (sub, task) = (rig.element_key("sub"), rig.element_key("task"));
    rig.set_variables(task, r#"{"t":2,"m":2,"r":2,"new":2}"#, false);
    assert_eq!(rig.variable(task, "t").unwrap(), "2");
    assert_eq!(rig.variable(sub, "m").unwrap(), "2");
    assert_eq!(rig.variable(instance, "r").unwrap(), "2");
    assert_eq!(rig.variable(instance, "new").unwrap(), "2");
    assert_eq!(rig.intents("VARIABLE_DOCUMENT"), ["UPDATED"]);
}

#[test]
fn a_local_change_stays_and_hides() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"r":1}"#);
    let sub = rig.element_key("sub");
    rig.set_variables(sub, r#"{"r":5}"#, true);
    assert_eq!(rig.variable(sub, "r").unwrap(), "5");
    assert_eq!(rig.variable(instance, "r").unwrap(), "1");
    assert_eq!(rig.job("work").variables, r#"{"t":1,"m":1,"r":5}"#);
}

#[test]
fn local_variables_end_with_their_scope() {
    let mut rig = Rig::with(process());
    rig.create("p", r#"{"r":1}"#);
    rig.work("work", r#"{"m":9}"#);
    assert_eq!(rig.job("after").variables, r#"{"r":1}"#);
}

#[test]
fn the_same_value_again_is_no_event() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"r":1}"#);
    rig.set_variables(instance, r#"{"r":1}"#, false);
    rig.set_variables(instance, r#"{"r":2}"#, false);
    let r: Vec<_> = rig
        .events("VARIABLE")
        .filter(|v| v.text("name") == "r")
        .map(|v| v.intent)
        .collect();
    assert_eq!(r, ["CREATED", "UPDATED"]);
}

/// Setting the same value is not a change in that scope: the variable is set in an outer scope, where a condition may wait for it.
#[test]
fn an_unchanged_local_variable_is_set_in_the_outer_scope() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let (sub, task) = (rig.element_key("sub"), rig.element_key("task"));
    rig.work("work", r#"{"t":1,"m":2}"#);
    assert_eq!(rig.variable(sub, "t"), None);
    assert_eq!(rig.variable(instance, "t").unwrap(), "1");
    assert_eq!(rig.variable(task, "m"), None);
    assert_eq!(rig.variable(sub, "m").unwrap(), "2");
    assert_eq!(rig.variable(instance, "m"), None);
    assert_eq!(rig.job("after").variables, r#"{"t":1}"#);
}

#[test]
fn an_unchanged_variable_set_by_a_client_is_set_in_the_outer_scope() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"m":5}"#);
    let (sub, task) = (rig.element_key("sub"), rig.element_key("task"));
    rig.set_variables(task, r#"{"t":1}"#, false);
    assert_eq!(rig.variable(instance, "t").unwrap(), "1");
    rig.set_variables(task, r#"{"m":1}"#, false);
    assert_eq!(rig.variable(sub, "m").unwrap(), "1");
    assert_eq!(rig.variable(instance, "m").unwrap(), "1", "it was 5");
    let keys: Vec<_> = rig.events("VARIABLE").map(|v| v.key).collect();
    rig.set_variables(task, r#"{"t":1,"m":1}"#, false);
    let unchanged: Vec<_> = rig.events("VARIABLE").map(|v| v.key).collect();
    assert_eq!(keys, unchanged, "what the outermost scope has is no event");
}

#[test]
fn an_unchanged_variable_of_a_called_process_is_set_in_the_outer_scope() {
    let parent = Bpmn::process("parent")
        .start("s")
        .call_activity("call", "child")
        .input("=1", "x")
        .end("e");
    let child = Bpmn::process("child").start("cs").end("ce");
    let mut rig = Rig::with(child);
    rig.deploy(parent);
    let instance = rig.create("parent", "{}");
    assert_eq!(rig.variable(instance, "x").unwrap(), "1");
    rig.assert_completed(instance);
}

#[test]
fn an_unknown_scope_is_refused() {
    let mut rig = Rig::with(process());
    let refused = rig.send(Command::SetVariables {
        element_instance_key: Key::new(1, 12345),
        variables: Document::new(),
        local: false,
    });
    assert_eq!(rejected(refused).0, "NOT_FOUND");
}

#[test]
fn values_keep_their_json_text() {
    let mut rig = Rig::with(process());
    rig.create(
        "p",
        r#"{"n":1.50,"big":123456789012345678901234567890,"o":{"z":1,"a":2}}"#,
    );
    let variables = rig.job("work").variables;
    assert!(
        variables.contains(r#""n":1.50,"big":123456789012345678901234567890,"o":{"z":1,"a":2}"#)
    );
}
