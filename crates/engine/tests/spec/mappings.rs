//! Input and output mappings of elements.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn task(change: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    change(Bpmn::process("p").start("s").service_task("task", "work")).end("e")
}

#[test]
fn inputs_are_local_to_the_element() {
    let mut rig = Rig::with(task(|t| t.input("=a + 1", "b").input("text", "c")));
    let instance = rig.create("p", r#"{"a":1}"#);
    let task = rig.element_key("task");
    assert_eq!(rig.variable(task, "b").unwrap(), "2");
    assert_eq!(rig.variable(task, "c").unwrap(), "\"text\"");
    assert_eq!(rig.job("work").variables, r#"{"b":2,"c":"text","a":1}"#);
    assert_eq!(rig.variable(instance, "b"), None);
}

#[test]
fn a_later_input_sees_the_earlier_ones() {
    let mut rig = Rig::with(task(|t| t.input("=a + 1", "a").input("=a + 1", "b")));
    rig.create("p", r#"{"a":1}"#);
    assert_eq!(rig.job("work").variables, r#"{"a":2,"b":3}"#);
}

#[test]
fn of_two_sources_for_one_target_the_last_is_evaluated_in_the_place_of_the_first() {
    let mut rig = Rig::with(task(|t| {
        t.input("=assert(a, false)", "x")
            .input("=x + 1", "y")
            .input("=a + 1", "x")
    }));
    rig.create("p", r#"{"a":1}"#);
    assert_eq!(rig.job("work").variables, r#"{"x":2,"y":3,"a":1}"#);
}

#[test]
fn a_value_and_its_parts_replace_each_other() {
    let mut rig = Rig::with(task(|t| {
        t.input("={b: 1, c: 2}", "v")
            .input("=3", "v.c")
            .output("=1", "w.x")
            .output("={y: 2}", "w")
    }));
    let instance = rig.create("p", r#"{"w":{"kept":true}}"#);
    let job = rig.job("work");
    assert!(
        job.variables.contains(r#""v":{"c":3}"#),
        "{}",
        job.variables
    );
    rig.complete(&job, "{}");
    assert_eq!(rig.variable(instance, "w").unwrap(), r#"{"y":2}"#);
}

#[test]
fn an_input_without_source_is_null() {
    let mut rig = Rig::with(task(|t| t.input("", "a")));
    rig.create("p", r#"{"a":1}"#);
    assert_eq!(rig.job("work").variables, r#"{"a":null}"#);
}

#[test]
fn inputs_of_an_end_event_have_no_effect() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .end("e")
        .input("=assert(a, false)", "b")
        .output("=b", "c");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"a":1}"#);
    assert_eq!(rig.variable(instance, "c").unwrap(), "null");
    rig.assert_completed(instance);
}

/// The depth is the limit for values, the length the limit for paths.
#[test]
fn a_long_target_path_sets_what_expressions_read() {
    let path = vec!["a"; 200].join(".");
    let mut rig = Rig::with(task(|t| {
        t.input("=1", &path).input(&format!("={path}"), "x")
    }));
    rig.create("p", "{}");
    assert!(rig.job("work").variables.ends_with(r#""x":1}"#));
}

#[test]
fn a_result_nested_too_deep_is_an_incident() {
    let path = vec!["a"; 150].join(".");
    let mut rig = Rig::with(task(|t| t.input("=v", &path)));
    let v = format!("{}{}", "[".repeat(100), "]".repeat(100));
    rig.create("p", &format!(r#"{{"v":{v}}}"#));
    let incident = rig.incident();
    assert_eq!(incident.kind, "IO_MAPPING_ERROR");
    assert!(
        incident
            .message
            .contains("nested deeper than the 200 levels")
    );
}

/// 20,000 parts of one object: to read and write it for each would take minutes.
#[test]
fn very_many_parts_of_one_object_are_set() {
    let mut rig = Rig::with(task(|mut t| {
        for i in 0..20_000 {
            t = t.output("=x", &format!("o.v{i}"));
        }
        t
    }));
    let instance = rig.create("p", r#"{"o":{"kept":true,"v7":0}}"#);
    rig.work("work", r#"{"x":1}"#);
    let o = rig.variable(instance, "o").unwrap();
    assert!(o.starts_with(r#"{"kept":true,"v7":1,"v0":1,"#));
    assert_eq!(o.matches(':').count(), 20_001);
}

#[test]
fn inputs_build_nested_values() {
    let mut rig = Rig::with(task(|t| {
        t.input("=1", "order.id").input("=2", "order.item.count")
    }));
    rig.create("p", r#"{"order":"hidden"}"#);
    assert_eq!(
        rig.job("work").variables,
        r#"{"order":{"id":1,"item":{"count":2}}}"#
    );
}

#[test]
fn outputs_choose_what_leaves_the_element() {
    let mut rig = Rig::with(task(|t| t.output("=x * 2", "double")));
    let instance = rig.create("p", "{}");
    rig.work("work", r#"{"x":4,"y":5}"#);
    assert_eq!(rig.variable(instance, "double").unwrap(), "8");
    assert_eq!(rig.variable(instance, "x"), None);
    rig.assert_completed(instance);
}

#[test]
fn outputs_merge_into_nested_values() {
    let mut rig = Rig::with(task(|t| t.output("=x", "order.paid")));
    let instance = rig.create("p", r#"{"order":{"id":7}}"#);
    rig.work("work", r#"{"x":true}"#);
    assert_eq!(
        rig.variable(instance, "order").unwrap(),
        r#"{"id":7,"paid":true}"#
    );
}

#[test]
fn a_missing_variable_maps_to_null() {
    let mut rig = Rig::with(task(|t| t.input("=missing", "a")));
    rig.create("p", "{}");
    assert_eq!(rig.job("work").variables, r#"{"a":null}"#);
}

/// These elements run nothing that could see the variables.
#[test]
fn inputs_of_start_and_boundary_events_have_no_effect() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .input("=1", "a")
        .service_task("task", "work")
        .end("e")
        .boundary_message("ping", "task", "m", "=\"k\"")
        .input("=1", "b")
        .service_task("after", "after")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    rig.create("p", "{}");
    rig.publish("m", "k", 0, r#"{"c":1}"#);
    assert_eq!(rig.job("after").variables, r#"{"c":1}"#);
    let set = rig.events("VARIABLE").map(|v| v.text("name"));
    assert!(set.into_iter().all(|name| name == "c"));
}

/// Workers distinguish integers from decimals by their text.
#[test]
fn a_number_that_an_expression_yields_has_no_zeros_at_its_end() {
    let mut rig = Rig::with(task(|t| {
        t.input("=x", "whole")
            .input("={list: [x, y, 0.00]}", "nested")
            .input("=y + 1", "sum")
    }));
    rig.create("p", r#"{"x":1.0,"y":1.50}"#);
    let variables = rig.job("work").variables;
    assert_eq!(
        variables,
        r#"{"whole":1,"nested":{"list":[1,1.5,0]},"sum":2.5,"x":1.0,"y":1.50}"#
    );
}

#[test]
fn a_failing_input_is_an_incident_that_variables_mend() {
    let mut rig = Rig::with(task(|t| t.input("=assert(a, a != null)", "b")));
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "task")
    );
    let said = "Assertion failure on evaluate the expression";
    assert_eq!(incident.message.matches(said).count(), 1, "said once");
    assert!(incident.message.contains("The condition is not fulfilled"));
    assert_eq!(rejected(rig.resolve(skep_protocol::Key(1))).0, "NOT_FOUND");
    rig.resolve(incident.key).unwrap();
    let incident = rig.incident();
    rig.set_variables(instance, r#"{"a":1}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_failing_output_leaves_no_trace_and_can_be_mended() {
    let mut rig = Rig::with(task(|t| {
        t.output("=1", "first").output("=assert(a, a != null)", "b")
    }));
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "task")
    );
    assert_eq!(rig.variable(instance, "first"), None);
    let task = rig.element_key("task");
    rig.set_variables(task, r#"{"a":1}"#, true);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.variable(instance, "b").unwrap(), "1");
    rig.assert_completed(instance);
}

#[test]
fn events_and_sub_processes_map_too() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .output("=a + 1", "b")
        .sub_process("sub", |sub| {
            sub.start("s2").service_task("task", "work").end("e2")
        })
        .input("=b + 1", "c")
        .output("=c + result", "d")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"a":1,"result":0}"#);
    assert_eq!(rig.variable(instance, "b").unwrap(), "2");
    let sub = rig.element_key("sub");
    assert_eq!(rig.variable(sub, "c").unwrap(), "3");
    rig.work("work", r#"{"result":10}"#);
    assert_eq!(rig.variable(instance, "d").unwrap(), "13");
    assert_eq!(rig.variable(instance, "c"), None);
    rig.assert_completed(instance);
}

/// An aborted evaluation has no result: it must not be taken for null.
#[test]
fn an_input_that_needs_too_much_work_is_an_incident() {
    let mut rig = Rig::with(task(|t| {
        t.input("=for a in 1..10000, b in 1..10000 return a + b", "x")
    }));
    rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.kind, "IO_MAPPING_ERROR");
    assert!(
        incident.message.contains("could not be evaluated"),
        "{}",
        incident.message
    );
}
