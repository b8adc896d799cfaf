//! Extension elements: mappings, extensions without effect, refused extensions.

use skep_model::builder::Bpmn;
use skep_model::{Mapping, MappingSource};

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
    assert_eq!(
        written(&task.inputs),
        r#"amount:=order.total currency:"EUR" a:{_b1:{c:null}}"#
    );
}

/// `name:source` of each mapping, those within an object in braces.
fn written(mappings: &[Mapping]) -> String {
    let one = |mapping: &Mapping| match &mapping.source {
        MappingSource::Constant(json) => format!("{}:{json}", mapping.target),
        MappingSource::Expression(source) => format!("{}:={}", mapping.target, source.text()),
        MappingSource::Object(inner) => format!("{}:{{{}}}", mapping.target, written(inner)),
    };
    mappings.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The targets and sources of inputs, as `target=source`, and the resulting mappings.
#[track_caller]
fn mapped(inputs: &[(&str, &str)], expected: &str) {
    let mut bpmn = task();
    for (source, target) in inputs {
        bpmn = bpmn.input(source, target);
    }
    let process = accepted(bpmn);
    let task = process.element(process.find("t").expect("t"));
    assert_eq!(written(&task.inputs), expected);
}

#[test]
fn a_target_that_is_met_again_replaces_the_first_and_keeps_its_place() {
    mapped(&[("=1", "a"), ("=2", "b"), ("=3", "a")], "a:=3 b:=2");
    mapped(
        &[("=1", "o.a"), ("=2", "b"), ("=3", "o.c"), ("=4", "o.a")],
        "o:{a:=4 c:=3} b:=2",
    );
}

#[test]
fn a_value_and_its_parts_replace_each_other() {
    mapped(&[("=1", "a"), ("=2", "b"), ("=3", "a.x")], "a:{x:=3} b:=2");
    mapped(&[("=3", "a.x"), ("=2", "b"), ("=1", "a")], "a:=1 b:=2");
    mapped(
        &[("=1", "a.x.y"), ("=2", "a.x"), ("=3", "a.z")],
        "a:{x:=2 z:=3}",
    );
}

#[test]
fn a_target_path_has_an_end() {
    let path = |names: usize| vec!["a"; names].join(".");
    accepted(task().input("=1", &path(200)).output("=1", &path(200)));
    for names in [201, 20_000] {
        let said = format!("has {names} names, but at most 200 are allowed");
        refused(task().input("=1", &path(names)), "t", &said);
        refused(task().output("=1", &path(names)), "t", &said);
    }
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
        "of", "not",
    ] {
        refused(task().input("=x", word), "t", "uses the FEEL word");
    }
    // As in the reference engine, the others can be read in backticks.
    for word in [
        "in",
        "return",
        "some",
        "every",
        "satisfies",
        "and",
        "or",
        "in.a",
    ] {
        accepted(task().input("=x", word).output("=x", word));
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
    let with: [fn(Bpmn) -> Bpmn; 6] = [
        |p| p.service_task("x", "work"),
        |p| p.receive_task("x", "m", "=k"),
        |p| p.call_activity("x", "q"),
        |p| p.sub_process("x", |sub| sub.start("s2").end("e2")),
        |p| p.catch_duration("x", "PT1H"),
        |p| p.catch_message("x", "m", "=k"),
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
    // Inputs of events that do not wait have no effect.
    let only_outputs: [fn() -> Bpmn; 3] = [
        || Bpmn::process("p").start("x"),
        || Bpmn::process("p").start("s").end("x"),
        || {
            let task = Bpmn::process("p").start("s").service_task("t", "work");
            task.boundary_error("x", "t", None)
        },
    ];
    for make in only_outputs {
        let process = accepted(make().input("=a", "b").output("=c", "d"));
        let event = process.element(process.find("x").expect("x"));
        assert_eq!((event.inputs.len(), event.outputs.len()), (0, 1));
    }
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
            .header("unset", "")
            .header("", "nobody asks for it"),
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

/// The reference engine ignores them.
#[test]
fn unknown_zeebe_extensions_have_no_effect() {
    accepted(task().extension("<zeebe:magic/>"));
}

/// As in release 8.9.
#[test]
fn extensions_of_release_8_10_have_no_effect() {
    let priority = "<zeebe:jobPriorityDefinition priority='1'/>";
    accepted(task().extension(priority));
    accepted(task().process_extension(priority));
    accepted(task().extension("<zeebe:agentDefinition agentType='a'/>"));
    let bpmn = Bpmn::process("p").start("s").call_activity("c", "q");
    accepted(bpmn.called("businessId", "=id"));
}
