//! Elements: each executed element has its type in the records, and waits or passes through as the table says.

use skep_model::builder::Bpmn;

use super::*;

type Model = fn(Bpmn) -> Bpmn;

/// Rows by kind and element, each with its test models: `x` is the element, between start and end.
const CASES: &[(&str, &[Model])] = &[
    (
        "Participants, pool (participant)",
        &[|p| p.task("x").definition(COLLABORATION)],
    ),
    (
        "Participants, lane",
        &[|p| {
            p.task("x").drawn("<bpmn:laneSet id=\"ls\"><bpmn:lane id=\"l\"><bpmn:flowNodeRef>x</bpmn:flowNodeRef></bpmn:lane></bpmn:laneSet>")
        }],
    ),
    (
        "Participants, message flow",
        &[|p| p.task("x").definition(COLLABORATION)],
    ),
    (
        "Sub-process, embedded",
        &[|p| p.sub_process("x", |sub| sub.start("s2").task("t").end("e2"))],
    ),
    (
        "Sub-process, event sub-process",
        &[|p| {
            p.service_task("t", "work")
                .event_sub_process("x", |sub| sub.start_signal("s2", "go").end("e2"))
        }],
    ),
    (
        "Sub-process, ad-hoc",
        &[
            |p| p.ad_hoc("x", |a| a.task("t")).active_elements("=[\"t\"]"),
            |p| {
                p.ad_hoc("x", |a| a.task("t"))
                    .extension("<zeebe:taskDefinition type=\"choose\"/>")
            },
        ],
    ),
    (
        "Sub-process, call activity",
        &[|p| p.call_activity("x", "called")],
    ),
    (
        "Sub-process, transaction",
        &[|p| p.element("transaction", "x")],
    ),
    ("Task, undefined (`task`)", &[|p| p.task("x")]),
    ("Task, manual", &[|p| p.manual_task("x")]),
    ("Task, service", &[|p| p.service_task("x", "work")]),
    ("Task, send", &[|p| p.send_task("x", "work")]),
    (
        "Task, script",
        &[
            |p| p.script("x", "=1", "r"),
            |p| p.job_task("scriptTask", "x", "work"),
        ],
    ),
    (
        "Task, business rule",
        &[
            |p| p.decision("x", "d", "r"),
            |p| p.job_task("businessRuleTask", "x", "work"),
        ],
    ),
    (
        "Task, user",
        &[|p| p.user_task("x"), |p| p.user_task_job("x")],
    ),
    ("Task, receive", &[|p| p.receive_task("x", "m", "=\"k\"")]),
    (
        "Task, receive with `instantiate`",
        &[|p| {
            p.receive_task("x", "m", "=\"k\"")
                .attribute("instantiate", "true")
        }],
    ),
    (
        "Gateway, exclusive",
        &[|p| {
            p.exclusive("x")
                .when("=b = 0")
                .task("a")
                .to("e")
                .from("x")
                .otherwise()
        }],
    ),
    (
        "Gateway, inclusive (fork and join)",
        &[|p| {
            p.inclusive("x")
                .when("=b = 0")
                .task("a")
                .inclusive("j")
                .from("x")
                .when("=b < 9")
                .task("c")
                .to("j")
                .from("x")
                .otherwise()
                .to("j")
                .from("j")
        }],
    ),
    (
        "Gateway, parallel",
        &[|p| {
            p.parallel("x")
                .task("a")
                .parallel("j")
                .from("x")
                .task("c")
                .to("j")
                .from("j")
        }],
    ),
    (
        "Gateway, event-based",
        &[|p| {
            p.event_based("x")
                .catch_signal("a", "go")
                .end("e2")
                .from("x")
                .catch_duration("c", "PT1H")
        }],
    ),
    ("Gateway, complex", &[|p| p.element("complexGateway", "x")]),
    (
        "Marker, multi-instance parallel, sequential",
        &[
            |p| p.service_task("x", "work").for_each("=list", "i"),
            |p| {
                p.service_task("x", "work")
                    .for_each("=list", "i")
                    .sequential()
            },
        ],
    ),
    (
        "Marker, standard loop",
        &[|p| {
            p.service_task("x", "work")
                .content("<bpmn:standardLoopCharacteristics/>")
        }],
    ),
    (
        "Marker, compensation (`isForCompensation`)",
        &[|p| {
            p.task("t")
                .boundary_compensation("boundary", "t", "x")
                .service_task("x", "work")
                .for_compensation()
                .from("t")
                .throw_compensation("back", None)
        }],
    ),
    (
        "Data, data object, reference, data store, data store reference",
        &[|p| {
            p.task("x").definition("<bpmn:dataStore id=\"ds\"/>").drawn("<bpmn:dataObject id=\"o\"/><bpmn:dataObjectReference id=\"or\" dataObjectRef=\"o\"/><bpmn:dataStoreReference id=\"dr\" dataStoreRef=\"ds\"/>")
        }],
    ),
    (
        "Artifact, text annotation, group, association",
        &[|p| {
            p.task("x").drawn("<bpmn:textAnnotation id=\"n\"><bpmn:text>note</bpmn:text></bpmn:textAnnotation><bpmn:group id=\"g\"/><bpmn:association id=\"as\" sourceRef=\"x\" targetRef=\"n\"/>")
        }],
    ),
    (
        "Flow, sequence flow (plain, conditional, default)",
        &[|p| {
            p.exclusive("t")
                .when("=b = 0")
                .task("a")
                .to("e")
                .from("t")
                .otherwise()
        }],
    ),
    (
        "Choreography, conversation, all",
        &[|p| p.element("choreographyTask", "x")],
    ),
];

/// The table says "no", but these deploy, as in the recorded scenario `deployment-check/unsupported-elements`.
const WITHOUT_EFFECT: &[&str] = &["Marker, standard loop"];

const COLLABORATION: &str = r#"<bpmn:collaboration id="co"><bpmn:participant id="us" processRef="p"/><bpmn:participant id="them"/><bpmn:messageFlow id="mf" sourceRef="x" targetRef="them"/></bpmn:collaboration>"#;

fn name(row: &[String]) -> String {
    format!("{}, {}", row[0], row[1])
}

#[test]
fn every_element_does_what_the_table_says() {
    let rows = table("## 1. Elements");
    assert_walked(
        rows.iter().map(|row| name(row)),
        CASES.iter().map(|(row, _)| row.to_string()),
    );
    for row in &rows {
        let named = name(row);
        let case = CASES.iter().find(|(case, _)| *case == named);
        for model in case.expect("the case was found before").1 {
            let bpmn = model(Bpmn::process("p").start("s")).end("e").xml();
            match &*row[2] {
                "no" if WITHOUT_EFFECT.contains(&&*named) => drop(played(&bpmn, &named)),
                "no" => assert_refused(&bpmn, "x", &named),
                "drawn" => drop(played(&bpmn, &named)),
                _ => runs(&mut played(&bpmn, &named), row),
            }
        }
    }
}

/// Asserts that elements of the types named in the row were activated, and waited as it says.
fn runs(rig: &mut Rig, row: &[String]) {
    let named = name(row);
    let types = row[3].split(|c: char| !c.is_ascii_uppercase() && c != '_');
    for element_type in types.filter(|word| word.len() > 2) {
        let mut of_type = rig.events("PROCESS_INSTANCE");
        let was_there = of_type.any(|r| {
            let ended = ["ELEMENT_COMPLETED", "SEQUENCE_FLOW_TAKEN"].contains(&r.intent);
            ended && r.text("bpmnElementType") == element_type
        });
        assert!(was_there, "{named}: no {element_type} ended");
    }
    let has = |value_type: &str, intent: &str| rig.event_of(value_type, intent, "x").is_some();
    let job = has("JOB", "CREATED");
    match &*row[4] {
        "passes through" => assert!(!job, "{named} makes a job"),
        "job" => assert!(job, "{named} makes no job"),
        "message subscription" => {
            assert!(has("PROCESS_MESSAGE_SUBSCRIPTION", "CREATED"), "{named}")
        }
        what if what.starts_with("user task record") => {
            assert!(job || has("USER_TASK", "CREATED"), "{named}")
        }
        _ => {}
    }
}
