//! Refused models, and the texts of refusals.

use skep_dmn::{Drg, Options};

use crate::support::{decision, definitions, literal, parse, refusal, table};

/// Asserts that the model is refused with a finding on this element that contains this text.
fn refused(xml: &str, element: &str, words: &str) {
    let text = refusal(xml);
    assert!(
        text.contains(&format!("- Element: {element}")),
        "not about {element}: {text}"
    );
    assert!(text.contains(words), "no '{words}' in: {text}");
}

#[test]
fn a_finding_names_file_element_rule_and_line() {
    assert_eq!(
        refusal(&decision(
            "\n<literalExpression id=\"l\"><text>1 +</text></literalExpression>"
        )),
        "'model.dmn':\n- Element: l (literalExpression)\n    - ERROR[EXPRESSION_INVALID]: Failed to parse expression '1 +': expected an expression, found the end of the expression (line 1, column 4) (line 2)"
    );
}

#[test]
fn all_findings_are_reported_at_once() {
    let xml = definitions(
        r#"<decision id="a" name="A"><literalExpression><text>1 +</text></literalExpression></decision><decision id="b" name=""/>"#,
    );
    let text = refusal(&xml);
    assert!(
        text.contains("Element: a") && text.contains("Element: b"),
        "{text}"
    );
}

#[test]
fn files_that_are_not_dmn() {
    assert!(refusal("no xml").contains("not well-formed"));
    assert!(refusal("<definitions/>").contains("not a DMN model"));
    assert!(
        refusal(r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"/>"#)
            .contains("not a DMN model")
    );
    assert!(refusal("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>").contains("DOCTYPE"));
}

#[test]
fn missing_ids_and_names() {
    refused(
        &definitions("<decision id=\"d\"/>"),
        "d (decision)",
        "'decision' has no name",
    );
    assert!(refusal(&definitions("<decision name=\"n\"/>")).contains("'decision' has no id"));
    assert!(
        refusal(&definitions("").replace("id=\"model\"", "")).contains("definitions have no id")
    );
}

#[test]
fn ids_that_are_used_twice() {
    let xml = definitions(r#"<decision id="d" name="a"/><inputData id="d" name="b"/>"#);
    refused(&xml, "d (inputData)", "The id 'd' is used twice");
}

fn requiring(kind: &str, href: &str) -> String {
    let requirement = if kind == "requiredKnowledge" {
        "knowledgeRequirement"
    } else {
        "informationRequirement"
    };
    definitions(&format!(
        r##"<inputData id="i" name="i"/><decision id="e" name="e"/>
        <decision id="d" name="D"><{requirement} id="r"><{kind} href="{href}"/></{requirement}></decision>"##
    ))
}

#[test]
fn a_requirement_that_names_nothing_is_none() {
    for requirement in ["requiredDecision", "requiredInput", "requiredKnowledge"] {
        parse(&requiring(requirement, "#gone"));
    }
    parse(&requiring("requiredDecision", ""));
}

#[test]
fn references_to_the_wrong_kind() {
    let element = "r (informationRequirement)";
    refused(
        &requiring("requiredDecision", "#i"),
        element,
        "refers to 'i', which is input data. Expected a decision",
    );
    refused(
        &requiring("requiredInput", "#e"),
        element,
        "Expected input data",
    );
    refused(
        &requiring("requiredKnowledge", "#e"),
        "r (knowledgeRequirement)",
        "Expected a business knowledge model or a decision service",
    );
    refused(
        &requiring("requiredDecision", "http://other#e"),
        element,
        "Imports are not supported",
    );
}

#[test]
fn cycles_of_decisions_and_of_knowledge() {
    let needs = |id: &str, other: &str| {
        format!(
            r##"<decision id="{id}" name="{id}"><informationRequirement><requiredDecision href="#{other}"/></informationRequirement></decision>"##
        )
    };
    refused(
        &definitions(&[needs("a", "b"), needs("b", "c"), needs("c", "a")].concat()),
        "a (decision)",
        "The element requires itself: a → b → c → a",
    );
    refused(&definitions(&needs("a", "a")), "a (decision)", "a → a");
    let knowledge = |id: &str, other: &str| {
        format!(
            r##"<businessKnowledgeModel id="{id}" name="{id}"><encapsulatedLogic>{}</encapsulatedLogic><knowledgeRequirement><requiredKnowledge href="#{other}"/></knowledgeRequirement></businessKnowledgeModel>"##,
            literal("1")
        )
    };
    refused(
        &definitions(&[knowledge("k", "l"), knowledge("l", "k")].concat()),
        "k (businessKnowledgeModel)",
        "k → l → k",
    );
}

#[test]
fn broken_expressions_in_every_place() {
    let output = r#"<output id="o" name="o"/>"#;
    refused(&table("", output, &[&["< <", "1"]]), "r1 (rule)", "'< <'");
    refused(&table("", output, &[&["-", "1 1"]]), "r1 (rule)", "'1 1'");
    refused(
        &table("", output, &[]).replace("<text>x</text>", "<text>x +</text>"),
        "in (input)",
        "'x +'",
    );
    let default = r#"<output id="o" name="o"><defaultOutputEntry><text>)</text></defaultOutputEntry></output>"#;
    refused(&table("", default, &[]), "o (output)", "')'");
}

#[test]
fn tables_whose_parts_do_not_fit() {
    let output = r#"<output id="o" name="o"/>"#;
    refused(
        &table("", output, &[&["-"]]),
        "r1 (rule)",
        "0 output entries",
    );
    refused(
        &table("", output, &[&["-", "1", "2"]]),
        "r1 (rule)",
        "2 output entries",
    );
    refused(&table("", "", &[]), "d (decision)", "has no output");
    refused(
        &table("", r#"<output id="o"/><output id="p" name="p"/>"#, &[]),
        "o (output)",
        "The output has no name",
    );
    refused(
        &table(
            "",
            r#"<output id="o" name="a"/><output id="p" name="a"/>"#,
            &[],
        ),
        "p (output)",
        "two outputs 'a'",
    );
    refused(
        &table("hitPolicy=\"BEST\"", output, &[]),
        "d (decision)",
        "'BEST'",
    );
    refused(
        &table("hitPolicy=\"COLLECT\" aggregation=\"AVG\"", output, &[]),
        "d (decision)",
        "'AVG'",
    );
    refused(
        &table("", output, &[]).replace("<inputExpression><text>x</text></inputExpression>", ""),
        "in (input)",
        "no 'inputExpression'",
    );
}

#[test]
fn boxed_expressions_whose_parts_are_missing() {
    for (content, words) in [
        (
            "<conditional><if/></conditional>",
            "'if' contains no expression",
        ),
        ("<filter/>", "'filter' has no child 'in'"),
        ("<for/>", "no 'iteratorVariable'"),
        (
            r#"<context><contextEntry><variable name="a"/></contextEntry></context>"#,
            "'contextEntry' contains no expression",
        ),
        ("<invocation/>", "'invocation' contains no expression"),
        (
            r#"<relation><column name="a"/><row/></relation>"#,
            "0 cells",
        ),
        ("<list/><list/>", "more than one expression"),
        (
            r#"<functionDefinition kind="Java"/>"#,
            "kind 'Java' are not supported",
        ),
        (
            r#"<literalExpression expressionLanguage="javascript"><text>1</text></literalExpression>"#,
            "'javascript' is not supported",
        ),
    ] {
        refused(&decision(content), "d (decision)", words);
    }
    refused(
        &decision(&format!(
            r#"<context><contextEntry>{}</contextEntry><contextEntry><variable name="a"/>{}</contextEntry></context>"#,
            literal("1"),
            literal("2")
        )),
        "d (decision)",
        "Nothing may follow the result",
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{}{}", "<list>".repeat(60), "</list>".repeat(60));
    refused(&decision(&deep), "d (decision)", "nested more than 40 deep");
}

#[test]
fn lengths_are_limited() {
    let options = Options {
        max_id_length: 5,
        max_name_length: 6,
        ..Options::default()
    };
    let refusal = |name: &str, xml: &str| match Drg::parse(name, xml.as_bytes(), &options) {
        Ok(_) => panic!("accepted"),
        Err(invalid) => invalid.to_string(),
    };
    assert!(refusal("model.dmn", "<a/>").contains("not a DMN model"));
    let with = |content: &str| definitions(content).replace("Model\"", "M\"");
    assert!(refusal("long-name.dmn", &with("")).contains("resource name has 13 characters"));
    for (content, words) in [
        (
            r#"<decision id="toolong" name="n"/>"#,
            "'id' of 'decision' has 7 characters, the limit is 5",
        ),
        (
            r#"<decision id="d" name="toolong"/>"#,
            "'name' of 'decision' has 7 characters, the limit is 6",
        ),
        (
            r#"<decision id="d" name="n"><decisionTable><input id="toolong" label="toolong"><inputExpression/></input><output id="toolong" name="toolong"/><rule id="toolong"/></decisionTable></decision>"#,
            "'label' of 'input' has 7",
        ),
    ] {
        assert!(refusal("a.dmn", &with(content)).contains(words), "{words}");
    }
    let small = Options {
        max_xml_bytes: 10,
        ..Options::default()
    };
    let invalid = Drg::parse("a.dmn", definitions("").as_bytes(), &small).expect_err("too long");
    assert!(invalid.to_string().contains("the limit is 10"));
}
