//! Decisions that require each other.

use skep_dmn::{DecisionType, Drg, Options};
use skep_feel::{EmptyScope, EvalContext};

use crate::support::{DMN_1_3, decision, definitions, evaluate, failure, literal, output, parse};

#[test]
fn required_decisions_are_read_by_their_id_or_the_name_of_their_variable() {
    let xml = definitions(&format!(
        r##"<decision id="base" name="The base"><variable name="base_value"/>{}</decision>
        <decision id="d" name="D"><informationRequirement><requiredDecision href="#base"/></informationRequirement>{}</decision>"##,
        literal("x * 2"),
        literal("[base, base_value]")
    ));
    assert_eq!(output(&xml, r#"{"x": 4}"#), "[8,8]");
}

#[test]
fn decisions_that_are_not_required_are_not_seen() {
    let xml = definitions(&format!(
        r#"<decision id="base" name="base">{}</decision><decision id="d" name="D">{}</decision>"#,
        literal("1"),
        literal("base")
    ));
    assert_eq!(output(&xml, "{}"), "null");
    assert_eq!(
        output(&xml, r#"{"base": 7}"#),
        "7",
        "a variable of this name is"
    );
}

#[test]
fn a_decision_that_several_require_is_evaluated_once() {
    let requires = |id: &str, required: &[&str], text: &str| {
        let requirements: String = required
            .iter()
            .map(|id| format!(r##"<informationRequirement><requiredDecision href="#{id}"/></informationRequirement>"##))
            .collect();
        format!(
            r#"<decision id="{id}" name="{id}">{requirements}{}</decision>"#,
            literal(text)
        )
    };
    let xml = definitions(
        &[
            requires("d", &["left", "right"], "left + right"),
            requires("left", &["base"], "base + 1"),
            requires("right", &["base"], "base + 2"),
            requires("base", &[], "10"),
        ]
        .concat(),
    );
    let result = evaluate(&parse(&xml), "{}").expect("a result");
    assert_eq!(result.output.to_json(), "23");
    let ids: Vec<&str> = result.evaluated.iter().map(|d| &*d.id).collect();
    assert_eq!(ids, ["base", "left", "right", "d"]);
}

#[test]
fn a_long_chain_of_decisions_needs_no_deep_stack() {
    let mut content = format!(r#"<decision id="d0" name="d0">{}</decision>"#, literal("1"));
    for at in 1..5_000 {
        content.push_str(&format!(
            r##"<decision id="d{at}" name="d{at}"><informationRequirement><requiredDecision href="#d{}"/></informationRequirement>{}</decision>"##,
            at - 1,
            literal(&format!("d{} + 1", at - 1))
        ));
    }
    let drg = parse(&definitions(&content));
    let result = drg.evaluate("d4999", &EmptyScope, &EvalContext::default());
    assert_eq!(result.expect("a result").output.to_json(), "5000");
}

#[test]
fn functions_that_call_themselves_end_at_the_limit() {
    // Requirements cannot be circular, but a function can be its own argument.
    let xml = definitions(&format!(
        r##"<businessKnowledgeModel id="k" name="again"><encapsulatedLogic><formalParameter name="f"/>{}</encapsulatedLogic></businessKnowledgeModel>
        <decision id="d" name="D"><knowledgeRequirement><requiredKnowledge href="#k"/></knowledgeRequirement>{}</decision>"##,
        literal("f(f)"),
        literal("again(again)")
    ));
    let failure = evaluate(&parse(&xml), "{}").expect_err("no end");
    let message = &failure.message;
    assert!(message.contains("nested"), "{message}");
    assert_eq!(
        message.matches("failed to evaluate").count(),
        1,
        "{message}"
    );
}

#[test]
fn the_graph_exposes_its_identity_and_its_decisions() {
    let xml = definitions(
        r#"<extensionElements><zeebe:versionTag value="v7"/></extensionElements>
        <decision id="d" name="The decision"><extensionElements><zeebe:versionTag value="v8"/></extensionElements>
        <literalExpression><text>1</text></literalExpression></decision>
        <decision id="e" name="Other"><list/></decision>"#,
    );
    let drg = parse(&xml);
    assert_eq!(
        (drg.id(), drg.name(), drg.namespace()),
        ("model", "Model", "n")
    );
    assert_eq!(drg.version_tag(), Some("v7"));
    let ids: Vec<&str> = drg.decisions().iter().map(|d| d.id()).collect();
    assert_eq!(ids, ["d", "e"]);
    let decision = drg.decision("d").expect("decision");
    assert_eq!(decision.name(), "The decision");
    assert_eq!(decision.version_tag(), Some("v8"));
    assert_eq!(decision.decision_type(), DecisionType::LiteralExpression);
    let other = drg.decision("e").expect("decision");
    assert_eq!(other.decision_type().as_str(), "LIST");
    assert_eq!(other.version_tag(), None);
    assert!(drg.decision("f").is_none());
}

#[test]
fn every_version_of_the_standard_is_read() {
    for namespace in [
        "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
        "http://www.omg.org/spec/DMN/20180521/MODEL/",
        "https://www.omg.org/spec/DMN/20191111/MODEL/",
        "https://www.omg.org/spec/DMN/20211108/MODEL/",
        "https://www.omg.org/spec/DMN/20230324/MODEL/",
    ] {
        let xml = definitions(&format!(
            r#"<decision id="d" name="D">{}</decision>"#,
            literal("1")
        ))
        .replace(DMN_1_3, namespace);
        assert!(
            Drg::parse("m.dmn", xml.as_bytes(), &Options::default()).is_ok(),
            "{namespace}"
        );
    }
}

#[test]
fn the_variables_that_an_evaluation_may_ask_for_are_known() {
    let xml = definitions(&format!(
        r##"<inputData id="i" name="given"/>
        <businessKnowledgeModel id="k" name="k"><encapsulatedLogic><formalParameter name="p"/>{}</encapsulatedLogic></businessKnowledgeModel>
        <decision id="d" name="D"><informationRequirement><requiredInput href="#i"/></informationRequirement>{}</decision>
        <decision id="e" name="E">{}</decision>"##,
        literal("p + rate"),
        literal("a.b + c"),
        literal("for x in list return x"),
    ));
    let drg = parse(&xml);
    let names: Vec<&str> = drg.variables().iter().map(|name| &**name).collect();
    assert_eq!(names, ["a", "c", "given", "list", "rate"]);
    assert_eq!((drg.position("e"), drg.position("f")), (Some(1), None));
}

#[test]
fn a_literal_expression_that_does_not_fit_the_type_of_its_decision_fails() {
    let typed = |kind: &str, text: &str| {
        let variable = format!(r#"<variable name="d" typeRef="{kind}"/>"#);
        decision(&format!("{variable}{}", literal(text)))
    };
    for (kind, text) in [
        ("string", "5"),
        ("boolean", "\"true\""),
        ("date", "\"2026-01-01\""),
    ] {
        let message = failure(&typed(kind, text), "{}");
        assert!(
            message.contains(&format!("expected a value of the type '{kind}' but found")),
            "{message}"
        );
    }
    for (kind, text, value) in [
        ("number", "5", "5"),
        ("number", "null", "null"),
        ("ourOwnType", "5", "5"),
    ] {
        assert_eq!(output(&typed(kind, text), "{}"), value);
    }
}
