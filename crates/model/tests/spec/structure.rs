//! Definitions, processes, scopes, ids and lengths.

use skep_model::builder::Bpmn;
use skep_model::{Options, TextValue};

use crate::support::*;

fn minimal() -> Bpmn {
    Bpmn::process("p").start("s").end("e")
}

#[test]
fn a_process_with_start_and_end_is_accepted() {
    accepted(minimal());
}

#[test]
fn a_file_that_is_not_xml_is_refused() {
    refused_xml("hello", None, "not well-formed");
    refused_xml("", None, "not well-formed");
    refused_xml("<definitions>", None, "not well-formed");
}

#[test]
fn a_file_that_is_not_bpmn_is_refused() {
    refused_xml("<definitions/>", None, "not a BPMN 2.0 model");
    refused_xml(
        "<html xmlns='http://www.w3.org/1999/xhtml'/>",
        None,
        "not a BPMN 2.0 model",
    );
}

#[test]
fn a_file_needs_an_executable_process() {
    refused_xml(&definitions(""), Some("d"), "no executable process");
    refused(
        minimal().not_executable(),
        "definitions",
        "no executable process",
    );
}

#[test]
fn processes_that_are_not_executable_are_ignored_whatever_they_contain() {
    let xml = Bpmn::file([
        Bpmn::process("drawn")
            .element("complexGateway", "x")
            .not_executable(),
        minimal(),
    ]);
    let resource = parse(&xml).expect("accepted");
    assert_eq!(resource.processes.len(), 1);
    assert_eq!(&*resource.processes[0].id, "p");
}

#[test]
fn all_executable_processes_of_a_file_are_compiled() {
    let xml = Bpmn::file([minimal(), Bpmn::process("q").start("qs").end("qe")]);
    let ids: Vec<_> = parse(&xml)
        .expect("accepted")
        .processes
        .iter()
        .map(|p| p.id.to_string())
        .collect();
    assert_eq!(ids, ["p", "q"]);
}

#[test]
fn process_ids_are_unique_in_a_file() {
    let other = Bpmn::process("p").start("qs").end("qe");
    refused_xml(&Bpmn::file([minimal(), other]), Some("p"), "used twice");
}

#[test]
fn a_process_needs_a_start_event() {
    refused(Bpmn::process("p").task("t").end("e"), "p", "no start event");
}

#[test]
fn a_process_has_at_most_one_none_start_event() {
    refused(
        minimal().start("s2").to("e"),
        "s2",
        "more than one none start event",
    );
}

#[test]
fn a_flow_may_lead_back_into_the_start_event() {
    let back = |start: Bpmn, element: fn(Bpmn) -> Bpmn| {
        element(start)
            .exclusive("g")
            .when("=x")
            .to("s")
            .from("g")
            .otherwise()
            .end("e")
    };
    let start = || Bpmn::process("p").start("s");
    accepted(back(start(), |p| p.service_task("t", "work")));
    let by_message = Bpmn::process("p").start_message("s", "go");
    accepted(back(by_message, |p| p.service_task("t", "work")));
    refused(
        back(start(), |p| p.task("t")),
        "s",
        "has no element that waits",
    );
}

#[test]
fn an_id_stands_once_in_a_file() {
    refused(
        Bpmn::process("p").start("s").task("definitions").end("e"),
        "definitions",
        "is used by another element",
    );
    let message = "<message id='x' name='m'/>";
    let process = "<process id='p' isExecutable='true'><startEvent id='x'/></process>";
    refused_xml(
        &definitions(&format!("{message}{process}")),
        Some("x"),
        "is used by another element",
    );
    let drawn = "<process id='p' isExecutable='true'><startEvent id='x'/><textAnnotation id='x'/></process>";
    refused_xml(&definitions(drawn), Some("x"), "is used by another element");
}

#[test]
fn outgoing_flows_are_named_as_they_are() {
    let with = |content: &str| {
        process(&format!(
            "<startEvent id='s'>{content}</startEvent><endEvent id='e'/><sequenceFlow id='f' sourceRef='s' targetRef='e'/>"
        ))
    };
    accepted_xml(&with("<outgoing>f</outgoing>"));
    accepted_xml(&with("<outgoing>bpmn:f</outgoing>"));
    refused_xml(
        &with("<outgoing>g</outgoing>"),
        Some("s"),
        "'outgoing' names 'g'",
    );
    refused_xml(
        &with("<outgoing>e</outgoing>"),
        Some("s"),
        "is not a sequence flow",
    );
    refused_xml(&with("<outgoing/>"), Some("s"), "'outgoing' is empty");
}

#[test]
fn lanes_contain_only_existing_nodes() {
    let with = |content: &str| {
        process(&format!(
            "<laneSet id='l'><lane id='a'>{content}</lane></laneSet><startEvent id='s'/><subProcess id='x'><startEvent id='s2'/></subProcess><textAnnotation id='note'/>"
        ))
    };
    for node in ["s", "x", "s2", "note"] {
        accepted_xml(&with(&format!("<flowNodeRef>{node}</flowNodeRef>")));
    }
    refused_xml(
        &with("<flowNodeRef>gone</flowNodeRef>"),
        Some("a"),
        "names 'gone'",
    );
    refused_xml(&with("<flowNodeRef/>"), Some("a"), "is empty");
    let nested =
        "<childLaneSet id='c'><lane id='b'><flowNodeRef>gone</flowNodeRef></lane></childLaneSet>";
    refused_xml(&with(nested), Some("b"), "names 'gone'");
}

#[test]
fn an_end_event_has_no_outgoing_flow() {
    refused(
        minimal().from("e").task("t"),
        "e",
        "must not have an outgoing",
    );
}

#[test]
fn a_sub_process_has_exactly_one_start_event() {
    accepted(around(|p| {
        p.sub_process("sub", |sub| sub.start("s2").end("e2"))
    }));
    refused(
        around(|p| p.sub_process("sub", |sub| sub.task("t").end("e2"))),
        "sub",
        "exactly one start event",
    );
    let two =
        around(|p| p.sub_process("sub", |sub| sub.start("s2").end("e2").start("s3").end("e3")));
    refused(two, "sub", "exactly one start event");
}

#[test]
fn a_sub_process_starts_with_a_none_start_event() {
    let timer = "<bpmn:timerEventDefinition><bpmn:timeDuration>PT1S</bpmn:timeDuration></bpmn:timerEventDefinition>";
    let bpmn = around(|p| p.sub_process("sub", |sub| sub.start("s2").content(timer).end("e2")));
    refused(bpmn, "s2", "must be of type none");
}

#[test]
fn sub_processes_nest() {
    let process = accepted(around(|p| {
        p.sub_process("outer", |outer| {
            outer
                .start("s2")
                .sub_process("inner", |inner| inner.start("s3").end("e3"))
                .end("e2")
        })
    }));
    let inner = process.find("inner").expect("inner");
    assert_eq!(
        process.element(process.element(inner).parent).id.as_ref(),
        "outer"
    );
}

#[test]
fn every_element_needs_an_id() {
    refused_xml(
        &process("<startEvent id='s'/><task/>"),
        None,
        "'id' is missing",
    );
    refused_xml(
        &process("<startEvent id='s'/><task id=''/>"),
        None,
        "'id' is missing",
    );
    let xml = definitions("<process isExecutable='true'><startEvent id='s'/></process>");
    refused_xml(&xml, None, "'id' is missing");
}

#[test]
fn ids_are_unique_in_a_process() {
    refused(minimal().task("s"), "s", "used by several elements");
    let inside = around(|p| p.sub_process("sub", |sub| sub.start("s")));
    refused(inside, "s", "used by several elements");
    refused_xml(
        &process("<startEvent id='p'/>"),
        Some("p"),
        "used by several elements",
    );
}

#[test]
fn elements_that_bpmn_does_not_have_are_refused() {
    refused(
        around(|p| p.element("teaBreak", "x")),
        "x",
        "'teaBreak' is not known",
    );
    refused_xml(
        &process("<startEvent id='s'/><x:other xmlns:x='urn:x' id='o'/>"),
        Some("o"),
        "not an element of BPMN",
    );
    refused_xml(
        &process("<startEvent id='s'/><task id='t'><teaBreak/></task>"),
        Some("t"),
        "'teaBreak' is not known",
    );
}

#[test]
fn an_event_definition_on_a_task_is_refused() {
    refused(
        around(|p| p.task("t").content("<bpmn:terminateEventDefinition/>")),
        "t",
        "not known inside of 'task'",
    );
}

#[test]
fn booleans_are_true_or_false() {
    refused(
        around(|p| p.task("t").attribute("isForCompensation", "perhaps")),
        "t",
        "must be true or false",
    );
    accepted_xml(&definitions(
        "<process id='p' isExecutable='1'><startEvent id='s'/></process>",
    ));
}

#[test]
fn artifacts_and_documentation_have_no_effect() {
    let drawn = "<laneSet id='l'><lane id='lane'><flowNodeRef>s</flowNodeRef></lane></laneSet>\
         <dataObject id='do'/><dataObjectReference id='dor' dataObjectRef='do'/><dataStoreReference id='dsr'/>\
         <textAnnotation id='ta'><text>note</text></textAnnotation><group id='g'/>\
         <association id='a' sourceRef='s' targetRef='ta'/>\
         <documentation>about</documentation>\
         <startEvent id='s'><documentation/><dataOutputAssociation id='doa'/></startEvent>";
    let xml = definitions(&format!(
        "<collaboration id='c'><participant id='pool' processRef='p'/><messageFlow id='mf' sourceRef='a' targetRef='b'/></collaboration>\
         <process id='p' isExecutable='true'>{drawn}</process><dataStore id='ds'/><category id='cat'/><signal id='sig'/>"
    ));
    let process = accepted_xml(&xml);
    assert_eq!(process.element_ids().collect::<Vec<_>>(), ["p", "s"]);
}

#[test]
fn ids_names_and_job_types_have_a_length_limit() {
    let options = Options {
        max_id_length: 5,
        max_name_length: 20,
        max_job_type_length: 3,
        ..Options::default()
    };
    let parse = |bpmn: Bpmn| skep_model::parse("test.bpmn", bpmn.xml().as_bytes(), &options);
    let messages = |bpmn: Bpmn| -> Vec<String> {
        let findings = parse(bpmn).expect_err("refused").findings;
        findings.into_iter().map(|f| f.message).collect()
    };
    assert!(
        parse(
            Bpmn::process("p")
                .start("12345")
                .named(&"ä".repeat(20))
                .flow("f")
                .service_task("t", "abc")
        )
        .is_ok()
    );
    assert!(
        parse(
            Bpmn::process("p")
                .start("s")
                .flow("f")
                .service_task("t", "=abcdef")
        )
        .is_ok()
    );
    assert_eq!(
        messages(Bpmn::process("p").start("123456")),
        ["The id has 6 characters, the limit is 5. Shorten it"]
    );
    assert_eq!(
        messages(Bpmn::process("p23456").start("s")),
        ["The id has 6 characters, the limit is 5. Shorten it"]
    );
    assert_eq!(
        messages(Bpmn::process("p").start("s").named(&"ä".repeat(21))),
        ["The name has 21 characters, the limit is 20. Shorten it"]
    );
    assert_eq!(
        messages(
            Bpmn::process("p")
                .start("s")
                .flow("f")
                .service_task("t", "abcd")
        ),
        ["The job type has 4 characters, the limit is 3. Shorten it"]
    );
    let long_name = format!("{}.bpmn", "x".repeat(16));
    let invalid = skep_model::parse(
        &long_name,
        minimal().xml().as_bytes(),
        &Options {
            max_name_length: 20,
            ..Options::default()
        },
    );
    assert!(
        invalid
            .expect_err("refused")
            .to_string()
            .contains("resource name has 21 characters")
    );
}

#[test]
fn names_of_messages_and_signals_have_a_length_limit() {
    let long = "x".repeat(32_769);
    let said = |kind: &str| format!("The {kind} name has 32769 characters, the limit is 32768");
    let caught = |name: &str| {
        Bpmn::process("p")
            .start("s")
            .catch_message("c", name, "=key")
            .end("e")
    };
    refused(caught(&long), "c", &said("message"));
    refused(
        Bpmn::process("p").start_message("s", &long).end("e"),
        "s",
        &said("message"),
    );
    refused(
        Bpmn::process("p").start_signal("s", &long).end("e"),
        "s",
        &said("signal"),
    );
    accepted(caught(&"ä".repeat(32_768)));
    // What an expression yields is measured when it is evaluated.
    accepted(caught(&format!("={long}")));
}

#[test]
fn the_default_length_limits_are_those_of_the_api() {
    let options = Options::default();
    assert_eq!(
        (
            options.max_id_length,
            options.max_name_length,
            options.max_job_type_length
        ),
        (32_768, 32_768, 32_768)
    );
}

#[test]
fn a_process_has_at_most_one_version_tag() {
    let process = accepted(minimal().version_tag("v1"));
    assert_eq!(process.version_tag.as_deref(), Some("v1"));
    refused(
        minimal().version_tag("v1").version_tag("v2"),
        "p",
        "more than one 'zeebe:versionTag'",
    );
}

#[test]
fn all_findings_of_a_file_are_reported_at_once() {
    let bpmn = Bpmn::process("p")
        .task("t")
        .input("=", "a")
        .element("complexGateway", "u")
        .element("serviceTask", "st");
    let invalid = parse(&bpmn.xml()).expect_err("refused");
    let elements: Vec<_> = invalid
        .findings
        .iter()
        .filter_map(|f| f.element_id.as_deref())
        .collect();
    assert_eq!(elements, ["u", "st", "p"]);
}

#[test]
fn findings_beyond_a_hundred_are_counted() {
    let bpmn = (0..150).fold(Bpmn::process("p").start("s"), |p, i| {
        p.element("complexGateway", format!("u{i}"))
    });
    let invalid = parse(&bpmn.xml()).expect_err("refused");
    assert_eq!((invalid.findings.len(), invalid.further), (100, 50));
    assert!(invalid.to_string().ends_with("and 50 further findings"));
}

#[test]
fn findings_carry_the_line() {
    let xml = process("\n<startEvent id='s'/>\n\n<complexGateway id='u'/>");
    assert_eq!(parse(&xml).expect_err("refused").findings[0].line, Some(4));
}

#[test]
fn white_space_and_cdata_around_texts_do_not_matter() {
    let xml = process(
        "<startEvent id='s'/><exclusiveGateway id='g'/><task id='t'/>\
         <sequenceFlow id='f' sourceRef='s' targetRef='g'/>\
         <sequenceFlow id='f2' sourceRef='g' targetRef='t'><conditionExpression>\n <![CDATA[=a < 1]]>\n</conditionExpression></sequenceFlow>",
    );
    accepted_xml(&xml);
}

#[test]
fn a_value_is_an_expression_when_it_starts_with_an_equals_sign() {
    let job_type = |text: &str| {
        let process = accepted(around(|p| p.service_task("t", text)));
        let task = process.find("t").expect("t");
        match &process.element(task).kind {
            skep_model::ElementKind::ServiceTask(job) => job.job_type.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(job_type("=a"), TextValue::Expression(_)));
    assert!(matches!(job_type("a=b"), TextValue::Static(text) if &*text == "a=b"));
}
