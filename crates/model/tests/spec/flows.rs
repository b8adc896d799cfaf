//! Sequence flows, gateways, and loops that would never end.

use skep_model::builder::Bpmn;

use crate::support::*;

fn choice() -> Bpmn {
    Bpmn::process("p").start("s").exclusive("g")
}

#[test]
fn a_choice_needs_a_condition_on_each_flow() {
    accepted(
        choice()
            .when("=x > 1")
            .end("e1")
            .from("g")
            .when("=x <= 1")
            .end("e2"),
    );
    refused(
        choice()
            .when("=x > 1")
            .end("e1")
            .from("g")
            .flow("f")
            .end("e2"),
        "f",
        "without condition",
    );
}

#[test]
fn the_default_flow_needs_no_condition() {
    accepted(
        choice()
            .when("=x")
            .end("e1")
            .from("g")
            .otherwise()
            .end("e2"),
    );
    accepted(
        choice()
            .when("=x")
            .end("e1")
            .from("g")
            .when("=y")
            .otherwise()
            .end("e2"),
    );
}

#[test]
fn a_single_flow_behind_a_gateway_needs_no_condition() {
    accepted(choice().end("e"));
    accepted(choice().when("=x").end("e"));
}

#[test]
fn the_default_flow_starts_at_its_gateway() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .flow("f")
        .exclusive("g")
        .attribute("default", "f")
        .end("e");
    refused(bpmn, "g", "does not start at this gateway");
    let bpmn = Bpmn::process("p")
        .start("s")
        .exclusive("g")
        .attribute("default", "nowhere")
        .end("e");
    refused(bpmn, "g", "names 'nowhere', which is not an element");
}

#[test]
fn conditions_are_expressions() {
    refused(
        choice().flow("f").when("x").end("e"),
        "f",
        "does not start with '='",
    );
    refused(choice().flow("f").when("").end("e"), "f", "is empty");
    refused(
        choice().flow("f").when("=").end("e"),
        "f",
        "empty expression",
    );
    refused(
        choice().flow("f").when("=1 +").end("e"),
        "f",
        "not a valid FEEL expression",
    );
}

#[test]
fn only_flows_behind_a_choosing_gateway_have_conditions() {
    refused(
        Bpmn::process("p").start("s").flow("f").when("=x").end("e"),
        "f",
        "Only flows that leave",
    );
    refused(
        Bpmn::process("p")
            .start("s")
            .parallel("g")
            .flow("f")
            .when("=x")
            .end("e"),
        "f",
        "Only flows that leave",
    );
    refused(
        Bpmn::process("p")
            .start("s")
            .task("t")
            .flow("f")
            .when("=x")
            .end("e"),
        "f",
        "Only flows that leave",
    );
}

#[test]
fn a_flow_joins_elements_of_the_process() {
    refused(
        Bpmn::process("p").start("s").flow("f").to("nowhere"),
        "f",
        "names 'nowhere'",
    );
    refused(
        Bpmn::process("p")
            .start("s")
            .from("nowhere")
            .flow("f")
            .end("e"),
        "f",
        "names 'nowhere'",
    );
    refused_xml(
        &process("<startEvent id='s'/><sequenceFlow id='f' sourceRef='s'/>"),
        Some("f"),
        "'targetRef' is missing",
    );
    refused_xml(
        &process("<startEvent id='s'/><sequenceFlow id='f' sourceRef='s' targetRef='f'/>"),
        Some("f"),
        "'f' is none of these",
    );
    refused_xml(
        &process("<startEvent id='s'/><sequenceFlow id='f' sourceRef='s' targetRef='p'/>"),
        Some("f"),
        "'p' is none of these",
    );
}

#[test]
fn a_flow_does_not_cross_the_border_of_a_sub_process() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| sub.start("s2").task("t").end("e2"))
        .end("e");
    refused(bpmn.from("s").flow("f").to("t"), "f", "different scopes");
}

#[test]
fn gateways_may_fork_and_join_at_once() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .manual_task("a")
        .parallel("both")
        .end("e1");
    accepted(
        bpmn.from("fork")
            .manual_task("b")
            .to("both")
            .manual_task("c")
            .end("e2"),
    );
}

#[test]
fn a_loop_of_elements_that_never_wait_is_refused() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .task("a")
        .manual_task("b")
        .script("c", "=1", "r")
        .to("a");
    refused(
        bpmn,
        "a",
        "The loop a -> b -> c -> a has no element that waits",
    );
    refused(
        Bpmn::process("p").start("s").task("a").to("a"),
        "a",
        "The loop a -> a",
    );
}

/// As in the reference engine: whether the loop ends would depend on data.
#[test]
fn a_loop_that_only_a_gateway_could_leave_is_refused() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .exclusive("again")
        .manual_task("a")
        .exclusive("done")
        .when("=x")
        .end("e")
        .from("done")
        .otherwise()
        .to("again");
    refused(bpmn, "again", "The loop again -> a -> done -> again has");
    let bpmn = Bpmn::process("p")
        .start("s")
        .exclusive("merge")
        .parallel("fork")
        .end("e")
        .from("fork")
        .to("merge");
    refused(bpmn, "merge", "The loop merge -> fork -> merge has");
}

#[test]
fn a_loop_with_something_that_waits_is_accepted() {
    accepted(
        Bpmn::process("p")
            .start("s")
            .task("a")
            .service_task("b", "work")
            .to("a"),
    );
    accepted(
        Bpmn::process("p")
            .start("s")
            .task("a")
            .catch_duration("b", "PT1H")
            .to("a"),
    );
    accepted(
        Bpmn::process("p")
            .start("s")
            .task("a")
            .receive_task("b", "message", "=key")
            .to("a"),
    );
}

/// "Call the review again until it is approved."
#[test]
fn loops_through_calls_decisions_and_listeners_are_accepted() {
    let waits: [fn(Bpmn) -> Bpmn; 4] = [
        |p| p.call_activity("x", "review"),
        |p| p.decision("x", "d", "r"),
        |p| p.task("x").listener("start", "ear"),
        |p| p.manual_task("x").listener("end", "ear"),
    ];
    for make in waits {
        let bpmn = make(Bpmn::process("p").start("s").exclusive("g"));
        let bpmn = bpmn.exclusive("h").when("=a").to("g").from("h").otherwise();
        accepted(bpmn.end("e"));
    }
}

#[test]
fn a_flow_belongs_to_the_scope_of_its_ends_wherever_it_is_written() {
    let flow = |source: &str, target: &str| {
        format!("<sequenceFlow id='{source}-{target}' sourceRef='{source}' targetRef='{target}'/>")
    };
    let with = |inside: &str, outside: &str| {
        process(&format!(
            "<startEvent id='s'/><subProcess id='x'><startEvent id='s2'/><endEvent id='e2'/>{inside}</subProcess><endEvent id='e'/>{outside}"
        ))
    };
    let outer = flow("s", "x") + &flow("x", "e");
    for xml in [
        with(&flow("s2", "e2"), &outer),
        with("", &(outer.clone() + &flow("s2", "e2"))),
        with(&(outer.clone() + &flow("s2", "e2")), ""),
    ] {
        let process = accepted_xml(&xml);
        let inner = element(&process, "s2-e2");
        assert_eq!(inner.parent, process.find("x").expect("the sub-process"));
        let outer = element(&process, "s-x");
        assert_eq!(outer.parent, skep_model::ElementIndex::PROCESS);
    }
    refused_xml(
        &with("", &(outer + &flow("s", "e2"))),
        Some("s-e2"),
        "lie in different scopes",
    );
}

#[test]
fn loops_are_found_inside_of_sub_processes_and_beside_other_branches() {
    let bpmn = around(|p| p.sub_process("sub", |sub| sub.start("s2").task("a").task("b").to("a")));
    refused(bpmn, "a", "The loop a -> b -> a");
    let diamond = Bpmn::process("p")
        .start("s")
        .task("a")
        .task("b")
        .task("d")
        .end("e")
        .from("a")
        .task("c")
        .to("d");
    accepted(diamond);
}

#[test]
fn an_extremely_long_chain_of_elements_that_never_wait_is_refused() {
    let chain = |n: usize| {
        (0..n)
            .fold(Bpmn::process("p").start("s"), |p, i| {
                p.task(format!("t{i}"))
            })
            .end("e")
    };
    accepted(chain(1000));
    let invalid = parse(&chain(1001).xml()).expect_err("refused");
    assert_eq!(invalid.findings.len(), 1);
    assert!(
        invalid
            .to_string()
            .contains("More than 1000 elements that never wait")
    );
    let broken_up = (0..3000).fold(Bpmn::process("p").start("s"), |p, i| match i % 500 {
        0 => p.service_task(format!("t{i}"), "work"),
        _ => p.task(format!("t{i}")),
    });
    accepted(broken_up);
}

#[test]
fn findings_say_where_an_expression_is_wrong() {
    refused(
        choice().flow("f").when("=a +\n  ) b").end("e"),
        "f",
        "line 2, column 3",
    );
}
