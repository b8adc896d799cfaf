//! Events by position: valid positions, and the resulting elements.

use skep_model::builder::Bpmn;
use skep_model::*;

use crate::support::*;

fn caught<'p>(process: &'p Process, id: &str) -> &'p CatchEvent {
    element(process, id).caught().expect("a catching event")
}

#[test]
fn a_process_starts_by_message_timer_signal_or_condition() {
    let process = accepted(
        Bpmn::process("p")
            .start_message_for("m", "go", "=k")
            .to("e")
            .start_cycle("t", "R/PT1H")
            .to("e")
            .start_signal("g", "ring")
            .to("e")
            .start_condition("c", "=x > 1")
            .to("e")
            .start("s")
            .end("e"),
    );
    assert!(matches!(caught(&process, "m"), CatchEvent::MessageStart(name) if &**name == "go"));
    assert!(matches!(
        caught(&process, "t"),
        CatchEvent::Timer(Timer::Cycle(_))
    ));
    assert!(matches!(caught(&process, "g"), CatchEvent::Signal(_)));
    assert!(matches!(caught(&process, "c"), CatchEvent::Conditional(_)));
    assert_eq!(process.none_start_event(), process.find("s"));
    assert_eq!(process.start_events.len(), 5);
    let types = ["m", "t", "g", "c", "s"].map(|id| element(&process, id).event_type());
    assert_eq!(types, ["MESSAGE", "TIMER", "SIGNAL", "CONDITIONAL", "NONE"]);
}

#[test]
fn start_events_need_a_constant_name() {
    let message = |name: &str| {
        Bpmn::process("p")
            .start_message_for("m", name, "=k")
            .end("e")
    };
    let process = accepted(message("=\"a\" + \"b\""));
    assert!(matches!(caught(&process, "m"), CatchEvent::MessageStart(name) if &**name == "ab"));
    let why = "evaluated when the process is deployed, without variables";
    refused(message("=name"), "m", why);
    refused(message("=1"), "m", why);
    refused(
        Bpmn::process("p").start_signal("g", "=name").end("e"),
        "g",
        why,
    );
    // A message that starts a process needs no subscription.
    let xml = "<message id='msg' name='go'/><process id='p' isExecutable='true'>\
        <startEvent id='m'><messageEventDefinition messageRef='msg'/></startEvent></process>";
    accepted_xml(&definitions(xml));
}

#[test]
fn starts_of_a_process_are_distinguishable() {
    let two = |one: fn(Bpmn, &'static str) -> Bpmn| {
        let p = one(Bpmn::process("p"), "a").end("e");
        one(p, "b").to("e")
    };
    let again = "is already awaited by another start event";
    refused(two(|p, id| p.start_message_for(id, "go", "=k")), "b", again);
    refused(two(|p, id| p.start_signal(id, "ring")), "b", again);
    refused(two(|p, id| p.start_condition(id, "=x")), "b", again);
    accepted(two(|p, id| p.start_signal(id, id)));
    accepted(two(|p, id| p.start_cycle(id, "R/PT1H")));
}

fn with_event_sub_process(start: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    task().event_sub_process("x", |sub| start(sub).end("e2"))
}

#[test]
fn an_event_sub_process_has_one_start_event_with_a_trigger() {
    type Start = fn(Bpmn) -> Bpmn;
    let starts: [(Start, &str); 6] = [
        (|p| p.start_message_for("s2", "m", "=k"), "MESSAGE"),
        (|p| p.start_duration("s2", "PT1H"), "TIMER"),
        (|p| p.start_signal("s2", "ring"), "SIGNAL"),
        (|p| p.start_condition("s2", "=x"), "CONDITIONAL"),
        (|p| p.start_error("s2", "code"), "ERROR"),
        (|p| p.start_escalation("s2", None), "ESCALATION"),
    ];
    for (start, event_type) in starts {
        let process = accepted(with_event_sub_process(start));
        let (x, s2) = (
            process.find("x").expect("x"),
            process.find("s2").expect("s2"),
        );
        assert_eq!(process.element(s2).event_type(), event_type);
        let kind = &process.element(x).kind;
        assert!(matches!(kind, ElementKind::EventSubProcess { start } if *start == s2));
        assert_eq!(element(&process, "p").event_sub_processes, [x]);
    }
    let one = "must have exactly one start event";
    refused(with_event_sub_process(|p| p.task("t2")), "x", one);
    let two = |p: Bpmn| p.start_signal("s2", "a").to("e2").start_signal("s3", "b");
    refused(with_event_sub_process(two), "x", one);
    refused(
        with_event_sub_process(|p| p.start("s2")),
        "s2",
        "must not be of type none",
    );
    let compensation = "<bpmn:compensateEventDefinition/>";
    refused(
        with_event_sub_process(|p| p.start("s2").content(compensation)),
        "s2",
        "'compensation' is not possible",
    );
}

#[test]
fn an_event_sub_process_interrupts_or_not() {
    let interrupting = |bpmn: Bpmn| match &element(&accepted(bpmn), "s2").kind {
        ElementKind::StartEvent(start) => start.interrupting,
        other => panic!("{other:?}"),
    };
    assert!(interrupting(with_event_sub_process(
        |p| p.start_signal("s2", "ring")
    )));
    let not = |p: Bpmn| p.start_cycle("s2", "R3/PT1H").non_interrupting();
    assert!(!interrupting(with_event_sub_process(not)));
    refused(
        with_event_sub_process(|p| p.start_cycle("s2", "R3/PT1H")),
        "s2",
        "cycle is possible only on events that do not interrupt",
    );
    refused(
        with_event_sub_process(|p| p.start_error("s2", None).non_interrupting()),
        "s2",
        "always interrupts",
    );
}

#[test]
fn event_sub_processes_of_a_scope_are_distinguishable() {
    let two = |start: fn(Bpmn, &'static str) -> Bpmn| {
        let p = task().event_sub_process("x", |sub| start(sub, "sx").end("ex"));
        p.event_sub_process("y", |sub| start(sub, "sy").end("ey"))
    };
    let again = "is already awaited by another event sub-process of the same scope";
    refused(two(|p, id| p.start_error(id, "c")), "sy", again);
    refused(two(|p, id| p.start_escalation(id, None)), "sy", again);
    refused(two(|p, id| p.start_signal(id, "ring")), "sy", again);
    refused(two(|p, id| p.start_message_for(id, "m", "=k")), "sy", again);
    refused(two(|p, id| p.start_condition(id, "=x")), "sy", again);
    // Names by expression are only known at run time.
    accepted(two(|p, id| p.start_signal(id, "=n")));
}

#[test]
fn an_event_sub_process_may_have_sequence_flows() {
    let x = with_event_sub_process(|p| p.start_signal("s2", "ring"));
    accepted(x.from("t").to("x").to("e"));
}

#[test]
fn signals_escalations_and_conditions_are_caught() {
    let process = accepted(
        around(|p| {
            p.catch_signal("g", "=name")
                .catch_condition("c", "=x")
                .call_activity("t", "q")
        })
        .boundary_signal("bg", "t", "ring")
        .end("e1")
        .boundary_escalation("be", "t", "code")
        .non_interrupting()
        .end("e2")
        .boundary_condition("bc", "t", "=y")
        .end("e3"),
    );
    assert!(matches!(caught(&process, "g"), CatchEvent::Signal(s) if s.name.as_static().is_none()));
    let CatchEvent::Conditional(condition) = caught(&process, "c") else {
        panic!("a condition");
    };
    expression("x", &condition.expression);
    assert!(condition.on_create && condition.on_update && condition.variable_names.is_empty());
    assert!(
        matches!(caught(&process, "be"), CatchEvent::Escalation { code: Some(c) } if &**c == "code")
    );
    let ElementKind::BoundaryEvent(escalation) = &element(&process, "be").kind else {
        panic!("a boundary event");
    };
    assert!(!escalation.interrupting);
    assert_eq!(element(&process, "t").boundary_events.len(), 3);
}

#[test]
fn a_condition_may_look_at_some_variables_and_changes() {
    let with = |filter: &str| {
        let definition = format!(
            "<bpmn:conditionalEventDefinition><bpmn:extensionElements><zeebe:conditionalFilter {filter}/></bpmn:extensionElements><bpmn:condition>=x</bpmn:condition></bpmn:conditionalEventDefinition>"
        );
        around(|p| {
            p.element("intermediateCatchEvent", "c")
                .content(&definition)
        })
    };
    let process = accepted(with("variableNames='a, b' variableEvents='update'"));
    let CatchEvent::Conditional(condition) = caught(&process, "c") else {
        panic!("a condition");
    };
    assert_eq!(condition.variable_names, ["a".into(), "b".into()]);
    assert!(!condition.on_create && condition.on_update);
    refused(with("variableEvents='delete'"), "c", "'delete'");
    let empty = "<bpmn:conditionalEventDefinition/>";
    refused(
        around(|p| p.element("intermediateCatchEvent", "c").content(empty)),
        "c",
        "has no condition",
    );
}

#[test]
fn escalation_boundary_events_need_something_that_can_escalate() {
    refused(
        task().boundary_escalation("b", "t", None).end("e2"),
        "b",
        "must be attached to a sub-process or call activity",
    );
    let sub = around(|p| p.sub_process("t", |sub| sub.start("s2").end_escalation("e2", "c")));
    accepted(sub.boundary_escalation("b", "t", None).end("e3"));
    let body = around(|p| p.call_activity("t", "q").for_each("=l", "i"));
    accepted(body.boundary_escalation("b", "t", None).end("e3"));
}

#[test]
fn events_throw() {
    let process = accepted(
        Bpmn::process("p")
            .start("s")
            .throw("n")
            .throw_message("m", "mail")
            .throw_signal("g", "=name")
            .throw_escalation("c", "=code")
            .parallel("f")
            .end_message("em", "mail")
            .from("f")
            .end_signal("eg", "ring")
            .from("f")
            .end_escalation("ec", "code"),
    );
    let types = ["n", "m", "g", "c", "em", "eg", "ec"].map(|id| element(&process, id).event_type());
    assert_eq!(
        types,
        [
            "NONE",
            "MESSAGE",
            "SIGNAL",
            "ESCALATION",
            "MESSAGE",
            "SIGNAL",
            "ESCALATION"
        ]
    );
    assert!(element(&process, "m").job().is_some() && element(&process, "em").job().is_some());
}

/// The reference engine ignores it.
#[test]
fn a_throw_event_with_a_timer_is_one_without() {
    let timer = "<bpmn:timerEventDefinition><bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition>";
    let process = accepted(around(|p| p.throw("x").content(timer)));
    let kind = &element(&process, "x").kind;
    assert!(matches!(
        kind,
        ElementKind::IntermediateThrowEvent(ThrowEvent::None)
    ));
}

#[test]
fn thrown_events_need_a_name() {
    let definition = |kind: &str| format!("<bpmn:{kind}EventDefinition/>");
    let throw = |kind: &str| around(|p| p.throw("x").content(&definition(kind)));
    refused(throw("signal"), "x", "references no signal");
    refused(throw("escalation"), "x", "throws no escalation");
    refused(
        throw("message"),
        "x",
        "must have exactly one 'zeebe:taskDefinition'",
    );
    refused(throw("error"), "x", "'error' is not possible");
    refused(throw("link"), "x", "The link has no name");
    let nameless = around(|p| p.throw_signal("x", " "));
    refused(nameless, "x", "has no name");
    let codeless = around(|p| p.throw_escalation("x", " "));
    refused(codeless, "x", "has no escalationCode");
}

#[test]
fn a_link_leads_to_the_catch_event_of_its_name_in_its_scope() {
    let links = |thrown: &str| {
        Bpmn::process("p")
            .start("s")
            .throw_link("x", thrown)
            .catch_link("land", "L")
            .end("e")
    };
    let process = accepted(links("L"));
    let kind = &element(&process, "x").kind;
    let land = process.find("land").expect("land");
    assert!(
        matches!(kind, ElementKind::IntermediateThrowEvent(ThrowEvent::Link { target }) if *target == land)
    );
    refused(links("M"), "x", "There is no link catch event named 'M'");
    refused(
        links("L").catch_link("two", "L").to("e"),
        "two",
        "Another link catch event",
    );
    let elsewhere = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| sub.start("s2").throw_link("x", "L"))
        .catch_link("land", "L")
        .end("e");
    refused(elsewhere, "x", "no link catch event");
}

#[test]
fn an_event_based_gateway_waits_for_events() {
    let gateway = || {
        let p = Bpmn::process("p").start("s").event_based("x");
        p.catch_signal("a", "ring")
            .end("e1")
            .from("x")
            .catch_duration("b", "PT1H")
            .end("e2")
    };
    let process = accepted(gateway());
    let ElementKind::EventBasedGateway { events } = &element(&process, "x").kind else {
        panic!("a gateway");
    };
    assert_eq!(
        *events,
        [process.find("a").expect("a"), process.find("b").expect("b")]
    );
    refused(
        gateway().from("s").to("b"),
        "b",
        "has another incoming flow",
    );
    refused(
        gateway().from("x").service_task("t", "work"),
        "x",
        "'t' cannot follow an event-based gateway",
    );
    let one = Bpmn::process("p")
        .start("s")
        .event_based("x")
        .catch_signal("a", "ring");
    refused(one, "x", "at least two outgoing flows");
}

#[test]
fn the_events_behind_an_event_based_gateway_wait_for_different_things() {
    let two = |first: fn(Bpmn) -> Bpmn, second: fn(Bpmn) -> Bpmn| {
        let p = first(Bpmn::process("p").start("s").event_based("x"));
        second(p.end("e1").from("x")).end("e2")
    };
    accepted(two(
        |p| p.catch_message("a", "paid", "=k"),
        |p| p.catch_message("b", "sent", "=k"),
    ));
    accepted(two(
        |p| p.catch_message("a", "paid", "=k"),
        |p| p.catch_signal("b", "paid"),
    ));
    let again = "is already awaited by another event behind the event-based gateway 'x'";
    let same_message: [fn(Bpmn) -> Bpmn; 2] = [
        |p| p.catch_message("a", "paid", "=k"),
        |p| p.catch_message("b", "paid", "=other"),
    ];
    refused(two(same_message[0], same_message[1]), "b", again);
    let same_expression: [fn(Bpmn) -> Bpmn; 2] = [
        |p| p.catch_message("a", "=name", "=k"),
        |p| p.catch_message("b", "=name", "=k"),
    ];
    refused(two(same_expression[0], same_expression[1]), "b", again);
    refused(
        two(
            |p| p.catch_signal("a", "ring"),
            |p| p.catch_signal("b", "ring"),
        ),
        "b",
        again,
    );
}
