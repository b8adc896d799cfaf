//! The checks of a deployment, clause by clause: each has models that violate it, most of them in `tests/processes/invalid`.

use super::*;

/// For each clause of a row (separated by semicolons), the models that violate it: names of files in `tests/processes/invalid`, or with a
/// star, models in [`written`].
type Row = (&'static str, &'static [&'static str]);

const STRUCTURE: &[Row] = &[
    ("definitions", &["no-executable-process"]),
    ("process", &["no-start-event", "two-none-start-events"]),
    (
        "every flow element",
        &[
            "element-without-id",
            "unsupported-complex-gateway unsupported-transaction",
        ],
    ),
    ("event definitions", &["unsupported-cancel-event"]),
    ("start event", &["start-event-two-definitions"]),
    (
        "sub-process (embedded)",
        &[
            "sub-process-two-start-events sub-process-without-start-event sub-process-timer-start-event",
        ],
    ),
    (
        "event sub-process",
        &[
            "event-sub-process-two-starts event-sub-process-none-start",
            "event-sub-process-compensation-start",
            "ad-hoc-interrupting-event-sub-process",
        ],
    ),
    (
        "ad-hoc sub-process",
        &[
            "ad-hoc-without-activity ad-hoc-with-end-event",
            "ad-hoc-output-without-element",
            "ad-hoc-run-by-two",
        ],
    ),
    (
        "end event",
        &[
            "end-event-with-outgoing-flow",
            "end-event-two-definitions",
            "end-event-timer",
        ],
    ),
    (
        "compensation throw/end",
        &[
            "compensation-that-does-not-wait",
            "compensation-of-nothing compensation-of-another-scope compensation-of-an-activity-without-handler",
        ],
    ),
    (
        "compensation handler",
        &["compensation-handler-with-flow compensation-handler-with-boundary-event"],
    ),
    (
        "boundary event",
        &[
            "boundary-event-not-attached",
            "boundary-event-with-incoming-flow",
            "boundary-event-without-definition boundary-event-two-definitions",
            "compensation-without-handler compensation-boundary-event-with-flow",
        ],
    ),
    (
        "intermediate catch",
        &[
            "catch-event-without-definition catch-event-two-definitions",
            "timer-cycle-at-catch-event",
        ],
    ),
    (
        "timer definition",
        &[
            "timer-without-value timer-two-values",
            "timer-date-does-not-parse timer-duration-does-not-parse timer-cycle-does-not-parse",
            "*timer-start-needs-variables",
        ],
    ),
    (
        "event-based gateway",
        &[
            "event-based-gateway-one-flow event-based-gateway-to-a-task event-based-gateway-second-way",
        ],
    ),
    (
        "exclusive, inclusive gateway",
        &[
            "default-flow-of-another-element",
            "exclusive-flow-without-condition inclusive-flow-without-condition",
        ],
    ),
    (
        "sequence flow",
        &["condition-on-a-task-flow", "condition-empty"],
    ),
    ("task chains", &["straight-through-loop", "*long-chain"]),
];

const REFERENCES: &[Row] = &[
    (
        "message event, receive task",
        &[
            "message-event-without-message receive-task-without-message",
            "message-without-name",
        ],
    ),
    (
        "message, catch side",
        &[
            "message-without-subscription",
            "message-starts-share-message",
        ],
    ),
    (
        "message and signal start event (process level)",
        &["message-start-name-needs-variables signal-start-name-needs-variables"],
    ),
    (
        "receive task",
        &["receive-task-shares-message-with-boundary"],
    ),
    (
        "message throw/end, send task",
        &[
            "send-task-without-task-definition send-task-run-by-two",
            "send-task-publishes-no-message",
        ],
    ),
    (
        "error event",
        &[
            "error-end-event-without-error",
            "error-end-event-empty-code",
            "error-catch-code-expression",
        ],
    ),
    (
        "escalation event",
        &[
            "escalation-end-event-without-escalation",
            "escalation-without-code",
            "escalation-catch-code-expression",
        ],
    ),
    (
        "signal event",
        &["signal-event-without-signal signal-without-name"],
    ),
    ("link event", &["link-without-name"]),
    (
        "service task",
        &["service-task-without-task-definition service-task-two-task-definitions"],
    ),
    (
        "script task",
        &["script-task-without-script script-task-run-by-two"],
    ),
    (
        "business rule task",
        &["business-rule-task-two-definitions business-rule-task-without-decision"],
    ),
    (
        "call activity",
        &["call-activity-without-called-element call-activity-two-called-elements"],
    ),
    (
        "multi-instance",
        &["multi-instance-without-loop-characteristics multi-instance-without-collection"],
    ),
    ("at most one of each", &["*twice"]),
    (
        "bindingType",
        &[
            "call-activity-unknown-binding",
            "call-activity-version-tag-missing call-activity-version-tag-without-binding",
        ],
    ),
    ("bindingType deployment", &["*deployed-together"]),
    (
        "expressions",
        &[
            "condition-does-not-parse job-type-expression-does-not-parse",
            "condition-not-an-expression correlation-key-not-an-expression output-mapping-not-an-expression",
            "conditional-event-without-condition",
        ],
    ),
    (
        "paths (mapping targets)",
        &["mapping-target-not-a-path mapping-target-feel-word mapping-target-empty"],
    ),
    ("user task form", &["user-task-form-empty"]),
    ("priority", &["user-task-priority-too-high"]),
    (
        "conditional starts (8.9+)",
        &["conditional-starts-same-condition event-sub-processes-same-condition"],
    ),
];

/// Rows are identified by their beginnings.
const LISTENERS: &[Row] = &[
    ("Execution listeners are allowed on", &[]),
    (
        "No two listeners of one element with the same eventType and type",
        &["execution-listener-twice"],
    ),
    (
        "No `start` listener on start events and boundary events",
        &[
            "start-listener-on-start-event start-listener-on-boundary-event",
            "end-listener-on-gateway *end-listeners-on-gateways end-listener-on-error-end-event",
            "listener-on-compensation-boundary-event",
        ],
    ),
    (
        "Task listeners only on Camunda user tasks",
        &["task-listener-on-job-user-task"],
    ),
    (
        "eventType, type and retries are required and not empty",
        &["*listeners-without"],
    ),
];

/// Models that are refused with a finding on this element: those whose fault is found in the engine, is very large, or stands in the table
/// itself.
fn written(name: &str) -> Vec<(&'static str, String)> {
    let x = |x: &str| ("x", file(&between(x)));
    match name {
        "*timer-start-needs-variables" => vec![("", file(&timer_start("=later")))],
        "*long-chain" => vec![("", file(&chain(1002)))],
        "*twice" => twice(),
        "*deployed-together" => [
            ("callActivity", r#"<zeebe:calledElement processId="called" bindingType="deployment"/>"#),
            ("businessRuleTask", r#"<zeebe:calledDecision decisionId="d" resultVariable="r" bindingType="deployment"/>"#),
            ("userTask", r#"<zeebe:userTask/><zeebe:formDefinition formId="f" bindingType="deployment"/>"#),
        ]
        .map(|(tag, extension)| x(&format!(r#"<bpmn:{tag} id="x"><bpmn:extensionElements>{extension}</bpmn:extensionElements></bpmn:{tag}>"#)))
        .to_vec(),
        "*end-listeners-on-gateways" => ["inclusiveGateway", "parallelGateway", "eventBasedGateway"]
            .map(|tag| x(&listening(tag, "eventType=\"end\" type=\"ear\"")))
            .to_vec(),
        "*listeners-without" => ["type=\"ear\"", "eventType=\"\" type=\"ear\"", "eventType=\"during\" type=\"ear\"", "eventType=\"start\"", "eventType=\"start\" type=\"\""]
            .map(|attributes| x(&listening("task", attributes)))
            .to_vec(),
        name => panic!("no model {name}"),
    }
}

/// Tasks that never wait, one after the other.
fn chain(tasks: usize) -> String {
    let one = |n| {
        format!(
            r#"<bpmn:task id="t{n}"/><bpmn:sequenceFlow id="f{n}" sourceRef="t{n}" targetRef="t{}"/>"#,
            n + 1
        )
    };
    let tasks: String = (0..tasks).map(one).collect();
    format!(
        r#"<bpmn:process id="p" isExecutable="true"><bpmn:startEvent id="s"/><bpmn:sequenceFlow id="s-t" sourceRef="s" targetRef="t0"/>{tasks}<bpmn:endEvent id="t1002"/></bpmn:process>"#
    )
}

fn timer_start(date: &str) -> String {
    between(r#"<bpmn:task id="x"/>"#).replace(
        r#"<bpmn:startEvent id="s"/>"#,
        &format!(r#"<bpmn:startEvent id="s"><bpmn:timerEventDefinition><bpmn:timeDate>{date}</bpmn:timeDate></bpmn:timerEventDefinition></bpmn:startEvent>"#),
    )
}

/// Each extension that may appear at most once, twice. The row of the table has their names.
fn twice() -> Vec<(&'static str, String)> {
    const ATTRIBUTES: &str = r#"type="work" value="v" priority="1" assignee="a" formId="f" decisionId="d" resultVariable="r" expression="=1""#;
    let rows = table("### References and values");
    let row = rows.iter().find(|row| row[0] == "at most one of each");
    let double = |name: &str| {
        let extension = format!("<zeebe:{name} {ATTRIBUTES}/>").repeat(2);
        let x = format!(
            r#"<bpmn:manualTask id="x"><bpmn:extensionElements>{extension}</bpmn:extensionElements></bpmn:manualTask>"#
        );
        ("x", file(&between(&x)))
    };
    row.expect("the row")[1].split(", ").map(double).collect()
}

fn listening(tag: &str, attributes: &str) -> String {
    format!(
        r#"<bpmn:{tag} id="x"><bpmn:extensionElements><zeebe:executionListeners><zeebe:executionListener {attributes}/></zeebe:executionListeners></bpmn:extensionElements></bpmn:{tag}>"#
    )
}

#[test]
fn every_check_of_the_structure_refuses_what_breaks_it() {
    walk("### Structure", STRUCTURE);
}

#[test]
fn every_check_of_references_and_values_refuses_what_breaks_it() {
    walk("### References and values", REFERENCES);
}

#[test]
fn every_check_of_listeners_refuses_what_breaks_it() {
    let rows = table("### Listeners");
    assert_eq!(rows.len(), LISTENERS.len());
    for (row, (begins, clauses)) in rows.iter().zip(LISTENERS) {
        assert!(row[0].starts_with(begins), "{row:?} has no case");
        clauses.iter().for_each(|names| refused(names, begins));
    }
}

/// The positions that the first row of that table allows.
#[test]
fn execution_listeners_stand_where_the_table_allows() {
    let rows = table("### Listeners");
    let (_, allowed) = rows[0][0].split_once(": ").expect("a list");
    let (process, elements) = allowed.split_once(", ").expect("a list");
    assert_eq!(process, "process");
    let elements: Vec<&str> = elements.split(", ").collect();
    assert_eq!(elements.len(), 20);
    for element in elements {
        let event = if ["startEvent", "boundaryEvent"].contains(&element) {
            "end"
        } else {
            "start"
        };
        drop(deployed(&listener_on(element, event), element));
    }
    let on_process = between(r#"<bpmn:task id="x"/>"#).replacen("><", "><bpmn:extensionElements><zeebe:executionListeners><zeebe:executionListener eventType=\"start\" type=\"ear\"/></zeebe:executionListeners></bpmn:extensionElements><", 1);
    drop(deployed(&file(&on_process), "process"));
}

fn listener_on(element: &str, event: &str) -> String {
    use skep_model::builder::Bpmn;
    let start = || Bpmn::process("p").start("s");
    let p = match element {
        "subProcess" => start().sub_process("x", |sub| sub.start("s2").end("e2")),
        "adHocSubProcess" => start().ad_hoc("x", |a| a.task("t")),
        "callActivity" => start().call_activity("x", "called"),
        "task" => start().task("x"),
        "serviceTask" => start().service_task("x", "work"),
        "sendTask" => start().send_task("x", "work"),
        "receiveTask" => start().receive_task("x", "m", "=\"k\""),
        "userTask" => start().user_task("x"),
        "manualTask" => start().manual_task("x"),
        "scriptTask" => start().script("x", "=1", "r"),
        "businessRuleTask" => start().decision("x", "d", "r"),
        "startEvent" => Bpmn::process("p").start("x"),
        "intermediateThrowEvent" => start().throw("x"),
        "intermediateCatchEvent" => start().catch_duration("x", "PT1M"),
        "boundaryEvent" => start()
            .service_task("t", "work")
            .boundary_duration("x", "t", "PT1M"),
        "endEvent" => return start().end("x").listener(event, "ear").xml(),
        "exclusiveGateway" => start().exclusive("x"),
        "inclusiveGateway" => start().inclusive("x"),
        "parallelGateway" => start().parallel("x"),
        "eventBasedGateway" => {
            let p = start().event_based("x").listener(event, "ear");
            return p
                .catch_signal("a", "go")
                .end("e1")
                .from("x")
                .catch_duration("b", "PT1M")
                .end("e")
                .xml();
        }
        other => panic!("no model for {other}"),
    };
    p.listener(event, "ear").end("e").xml()
}

fn walk(heading: &str, cases: &[Row]) {
    let rows = table(heading);
    assert_walked(
        rows.iter().map(|row| row[0].clone()),
        cases.iter().map(|(row, _)| row.to_string()),
    );
    for row in &rows {
        let (named, clauses) = cases
            .iter()
            .find(|(case, _)| *case == row[0])
            .expect("found before");
        let expected = row[1].split(';').count();
        assert_eq!(
            clauses.len(),
            expected,
            "{named} has {expected} clauses: {}",
            row[1]
        );
        clauses.iter().for_each(|names| refused(names, named));
    }
}

#[track_caller]
fn refused(names: &str, row: &str) {
    for name in names.split(' ') {
        if name.starts_with('*') {
            for (element, model) in written(name) {
                assert_refused(&model, element, row);
            }
            continue;
        }
        let path = format!(
            "{}/../../tests/processes/invalid/{name}.bpmn",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        // The model's own test checks the element of the finding.
        assert_refused(&text, "", &format!("{row}, {name}"));
    }
}
