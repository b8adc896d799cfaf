//! Extension elements: mappings, what is kept without effect, what is refused.

use skep_model::TextValue;
use skep_model::builder::Bpmn;

use crate::support::*;

fn task() -> Bpmn {
    Bpmn::process("p").start("s").service_task("t", "work")
}

#[test]
fn an_input_maps_a_constant_or_an_expression_to_a_variable_path() {
    let process = accepted(
        task()
            .input("=order.total", "amount")
            .input("EUR", "currency")
            .input("", "a._b1.c"),
    );
    let task = process.element(process.find("t").expect("t"));
    let targets: Vec<String> = task.inputs.iter().map(|m| m.target.join("/")).collect();
    assert_eq!(targets, ["amount", "currency", "a/_b1/c"]);
    assert!(matches!(&task.inputs[1].source, TextValue::Static(text) if &**text == "EUR"));
    assert!(matches!(&task.inputs[2].source, TextValue::Static(text) if text.is_empty()));
}

#[test]
fn an_output_maps_an_expression_to_a_variable_path() {
    let process = accepted(task().output("=result", "order.result"));
    assert_eq!(
        process.element(process.find("t").expect("t")).outputs.len(),
        1
    );
    refused(task().output("result", "r"), "t", "does not start with '='");
    refused(
        task().output("", "r"),
        "t",
        "'source' of 'zeebe:output' is missing or empty",
    );
}

#[test]
fn mapping_sources_must_parse() {
    refused(
        task().input("=1 +", "a"),
        "t",
        "The source of the input mapping is not a valid FEEL expression",
    );
    refused(task().input("=", "a"), "t", "empty expression");
    refused(
        task().output("=1 +", "a"),
        "t",
        "not a valid FEEL expression",
    );
}

#[test]
fn mapping_targets_are_variable_paths() {
    for target in ["1a", "a-b", "a b", "a.", ".a", "a..b", "ä", "=a"] {
        refused(task().input("=x", target), "t", "is not a variable path");
        refused(task().output("=x", target), "t", "is not a variable path");
    }
    refused(
        task().input("=x", ""),
        "t",
        "'target' of 'zeebe:input' is missing or empty",
    );
}

#[test]
fn mapping_targets_are_not_feel_words() {
    for word in [
        "null", "true", "false", "function", "if", "then", "else", "for", "between", "instance",
        "of",
    ] {
        refused(task().input("=x", word), "t", "uses the FEEL word");
    }
    accepted(task().input("=x", "nullable").input("=x", "iffy.then1"));
}

#[test]
fn an_element_has_at_most_one_set_of_mappings() {
    let mapping = "<zeebe:ioMapping><zeebe:input source='=a' target='b'/></zeebe:ioMapping>";
    refused(
        task().extension(mapping).extension(mapping),
        "t",
        "more than one 'zeebe:ioMapping'",
    );
    refused(
        task().extension("<zeebe:ioMapping><zeebe:both/></zeebe:ioMapping>"),
        "t",
        "'both' is not known",
    );
}

#[test]
fn mappings_belong_to_activities_and_events() {
    let with: [fn(Bpmn) -> Bpmn; 8] = [
        |p| p.service_task("x", "work"),
        |p| p.receive_task("x", "m", "=k"),
        |p| p.call_activity("x", "q"),
        |p| p.sub_process("x", |sub| sub.start("s2").end("e2")),
        |p| p.catch_duration("x", "PT1H"),
        |p| p.catch_message("x", "m", "=k"),
        |p| p.service_task("t", "work").boundary_error("x", "t", None),
        |p| p.end("x"),
    ];
    for make in with {
        let bpmn = make(Bpmn::process("p").start("s"))
            .input("=a", "b")
            .output("=c", "d");
        let process = accepted(bpmn);
        let element = process.element(process.find("x").expect("x"));
        assert_eq!(
            (element.inputs.len(), element.outputs.len()),
            (1, 1),
            "{:?}",
            element.element_type
        );
    }
    let process = accepted(Bpmn::process("p").start("s").output("=c", "d"));
    assert_eq!(
        process.element(process.find("s").expect("s")).outputs.len(),
        1
    );
}

#[test]
fn mappings_of_gateways_and_plain_tasks_have_no_effect() {
    let process = accepted(
        Bpmn::process("p")
            .start("s")
            .parallel("g")
            .input("=a", "b")
            .task("t")
            .output("=a", "b"),
    );
    assert!(
        process
            .elements
            .iter()
            .all(|element| element.inputs.is_empty() && element.outputs.is_empty())
    );
}

#[test]
fn headers_are_kept_in_order_and_as_json() {
    let process = accepted(
        task()
            .header("b", "say \"hi\"")
            .header("a", "line\nbreak")
            .header("unset", ""),
    );
    let skep_model::ElementKind::ServiceTask(job) =
        &process.element(process.find("t").expect("t")).kind
    else {
        panic!("a service task");
    };
    assert_eq!(
        &*job.headers_json,
        r#"{"b":"say \"hi\"","a":"line\nbreak"}"#
    );
    assert_eq!(job.headers.len(), 2);
}

#[test]
fn properties_and_modeler_attributes_have_no_effect() {
    let properties = "<zeebe:properties><zeebe:property name='camundaModeler:exampleOutputJson' value='{}'/></zeebe:properties>";
    accepted(task().extension(properties).process_extension(properties));
    let xml = process(
        "<startEvent id='s'/><manualTask id='t' zeebe:modelerTemplate='x' zeebe:modelerTemplateVersion='1' zeebe:modelerTemplateIcon='i'/>",
    );
    accepted_xml(&xml);
}

#[test]
fn extensions_of_other_vendors_have_no_effect() {
    accepted(task().extension("<x:anything xmlns:x='urn:other'><x:more/></x:anything>"));
}

#[test]
fn known_extensions_where_they_mean_nothing_have_no_effect() {
    accepted(around(|p| {
        p.manual_task("m")
            .extension("<zeebe:taskDefinition type='left over'/>")
    }));
}

#[test]
fn unknown_zeebe_extensions_are_refused() {
    refused(
        task().extension("<zeebe:magic/>"),
        "t",
        "'zeebe:magic' is not known",
    );
}

#[test]
fn extensions_of_later_releases_are_refused() {
    for name in [
        "publishMessage",
        "calledDecision",
        "script",
        "userTask",
        "formDefinition",
        "assignmentDefinition",
        "taskSchedule",
        "priorityDefinition",
        "executionListeners",
        "taskListeners",
        "linkedResources",
        "jobPriorityDefinition",
        "agentDefinition",
    ] {
        refused(
            task().extension(&format!("<zeebe:{name}/>")),
            "t",
            "is not supported by this release of Skep yet",
        );
    }
    for name in [
        "userTaskForm",
        "executionListeners",
        "jobPriorityDefinition",
    ] {
        let bpmn = task().process_extension(&format!("<zeebe:{name}/>"));
        refused(bpmn, "p", "is not supported by this release of Skep yet");
    }
    let bpmn = Bpmn::process("p")
        .start("s")
        .call_activity("c", "q")
        .called("businessId", "=id");
    refused(
        bpmn,
        "c",
        "'businessId' of a call activity is not supported by this release of Skep yet",
    );
}
