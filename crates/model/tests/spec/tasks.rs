//! Service tasks, receive tasks and call activities.

use skep_model::builder::Bpmn;

use crate::support::*;

#[test]
fn a_service_task_has_exactly_one_task_definition() {
    accepted(around(|p| p.service_task("t", "work")));
    refused(
        around(|p| p.element("serviceTask", "t")),
        "t",
        "exactly one 'zeebe:taskDefinition', but has none",
    );
    let two = around(|p| {
        p.service_task("t", "a")
            .extension("<zeebe:taskDefinition type='b'/>")
    });
    refused(two, "t", "more than one 'zeebe:taskDefinition'");
}

#[test]
fn a_job_has_a_type() {
    accepted(around(|p| p.service_task("t", "=type")));
    refused(
        around(|p| p.service_task("t", "")),
        "t",
        "'type' of 'zeebe:taskDefinition' is missing or empty",
    );
    let without = around(|p| {
        p.element("serviceTask", "t")
            .extension("<zeebe:taskDefinition/>")
    });
    refused(
        without,
        "t",
        "'type' of 'zeebe:taskDefinition' is missing or empty",
    );
    refused(
        around(|p| p.service_task("t", "=1 +")),
        "t",
        "not a valid FEEL expression",
    );
}

/// An invalid number of retries is detected only when the task is reached.
#[test]
fn retries_are_any_text_or_an_expression() {
    for text in ["5", "0", "=n", "", "many"] {
        accepted(around(|p| p.service_task("t", "work").retries(text)));
    }
    refused(
        around(|p| p.service_task("t", "work").retries("=1 +")),
        "t",
        "not a valid FEEL expression",
    );
}

#[test]
fn header_keys_are_unique_and_not_reserved() {
    accepted(around(|p| {
        p.service_task("t", "work")
            .header("a", "1")
            .header("b", "1")
    }));
    refused(
        around(|p| {
            p.service_task("t", "work")
                .header("a", "1")
                .header("a", "2")
        }),
        "t",
        "'a' is given more than once",
    );
    let reserved = around(|p| {
        p.service_task("t", "work")
            .header("io.camunda.zeebe:x", "1")
    });
    refused(reserved, "t", "reserved prefix 'io.camunda.zeebe:'");
    // As in the reference engine: no worker could request it.
    accepted(around(|p| p.service_task("t", "work").header("", "1")));
    let two = "<zeebe:taskHeaders/>";
    refused(
        around(|p| p.service_task("t", "work").extension(two).extension(two)),
        "t",
        "more than one",
    );
}

#[test]
fn a_receive_task_does_not_create_instances() {
    let bpmn = around(|p| {
        p.receive_task("r", "m", "=k")
            .attribute("instantiate", "true")
    });
    refused(
        bpmn,
        "r",
        "'instantiate' is not executed by engines with this API",
    );
}

fn call() -> Bpmn {
    Bpmn::process("p").start("s").call_activity("c", "q")
}

#[test]
fn a_call_activity_has_exactly_one_called_element() {
    accepted(call());
    accepted(Bpmn::process("p").start("s").call_activity("c", "=id"));
    refused(
        Bpmn::process("p").start("s").element("callActivity", "c"),
        "c",
        "exactly one 'zeebe:calledElement', but has none",
    );
    let two = call().extension("<zeebe:calledElement processId='r'/>");
    refused(two, "c", "more than one 'zeebe:calledElement'");
}

#[test]
fn a_called_element_has_a_process_id() {
    refused(
        Bpmn::process("p").start("s").call_activity("c", ""),
        "c",
        "'processId' of 'zeebe:calledElement' is missing or empty",
    );
    refused(
        Bpmn::process("p").start("s").call_activity("c", "=1 +"),
        "c",
        "not a valid FEEL expression",
    );
    let old_form = Bpmn::process("p").start("s").element("callActivity", "c");
    let old_form = old_form.extension("<zeebe:calledElement processIdExpression='id'/>");
    refused(
        old_form,
        "c",
        "'processId' of 'zeebe:calledElement' is missing or empty",
    );
}

#[test]
fn the_binding_type_is_a_known_value() {
    accepted(call().binding("latest"));
    accepted(call().binding("deployment"));
    accepted(call().bind_to_tag("v1"));
    refused(
        call().binding("newest"),
        "c",
        "bindingType 'newest' is not known",
    );
}

#[test]
fn a_version_tag_goes_with_its_binding_type_and_only_with_it() {
    refused(
        call().binding("versionTag"),
        "c",
        "'versionTag' is missing or empty",
    );
    refused(
        call().binding("versionTag").called("versionTag", ""),
        "c",
        "'versionTag' is missing or empty",
    );
    refused(
        call().called("versionTag", "v1"),
        "c",
        "needs the bindingType 'versionTag'",
    );
    refused(
        call().binding("deployment").called("versionTag", "v1"),
        "c",
        "needs the bindingType 'versionTag'",
    );
}

#[test]
fn propagation_is_true_or_false() {
    accepted(
        call()
            .propagate_all_parent_variables(false)
            .propagate_all_child_variables(false),
    );
    refused(
        call().called("propagateAllChildVariables", "some"),
        "c",
        "must be true or false",
    );
    refused(
        call().called("propagateAllParentVariables", "some"),
        "c",
        "must be true or false",
    );
}
