//! Boxed expressions.

use crate::support::{decision, definitions, evaluate, failure, literal, output, parse_standard};

#[test]
fn literal_expressions() {
    assert_eq!(output(&decision(&literal("x + 1")), r#"{"x": 1}"#), "2");
    assert_eq!(output(&decision(&literal("")), "{}"), "null");
}

#[test]
fn a_context_is_built_entry_by_entry() {
    let xml = decision(&format!(
        r#"<context><contextEntry><variable name="a"/>{}</contextEntry><contextEntry><variable name="b"/>{}</contextEntry></context>"#,
        literal("x"),
        literal("a * 2")
    ));
    assert_eq!(output(&xml, r#"{"x": 3}"#), r#"{"a":3,"b":6}"#);
}

#[test]
fn the_entry_without_name_is_the_result_of_a_context() {
    let xml = decision(&format!(
        r#"<context><contextEntry><variable name="a"/>{}</contextEntry><contextEntry>{}</contextEntry></context>"#,
        literal("x"),
        literal("a * 2")
    ));
    assert_eq!(output(&xml, r#"{"x": 3}"#), "6");
}

#[test]
fn lists_and_relations() {
    let list = format!("<list>{}{}</list>", literal("x"), literal("\"b\""));
    assert_eq!(output(&decision(&list), r#"{"x": 1}"#), r#"[1,"b"]"#);
    let relation = format!(
        r#"<relation><column name="a"/><column name="b"/><row>{}{}</row><row>{}{}</row></relation>"#,
        literal("1"),
        literal("x"),
        literal("3"),
        literal("4")
    );
    assert_eq!(
        output(&decision(&relation), r#"{"x": 2}"#),
        r#"[{"a":1,"b":2},{"a":3,"b":4}]"#
    );
}

#[test]
fn function_definitions_see_enclosing_variables() {
    let xml = decision(&format!(
        r#"<context>
            <contextEntry><variable name="factor"/>{}</contextEntry>
            <contextEntry><variable name="f"/><functionDefinition><formalParameter name="n"/>{}</functionDefinition></contextEntry>
            <contextEntry>{}</contextEntry>
        </context>"#,
        literal("x"),
        literal("n * factor"),
        literal("[f(1), f(n: 2)]")
    ));
    assert_eq!(output(&xml, r#"{"x": 10}"#), "[10,20]");
}

/// The knowledge model `double` and a decision `d` that requires it.
fn with_knowledge(body: &str, logic: &str) -> String {
    definitions(&format!(
        r##"<businessKnowledgeModel id="k" name="double"><encapsulatedLogic><formalParameter name="n"/>{body}</encapsulatedLogic></businessKnowledgeModel>
        <decision id="d" name="D"><knowledgeRequirement><requiredKnowledge href="#k"/></knowledgeRequirement>{logic}</decision>"##
    ))
}

fn invocation(function: &str, parameter: &str, argument: &str) -> String {
    format!(
        r#"<invocation>{}<binding><parameter name="{parameter}"/>{}</binding></invocation>"#,
        literal(function),
        literal(argument)
    )
}

#[test]
fn business_knowledge_models_are_functions() {
    let xml = with_knowledge(&literal("n * 2"), &literal("double(x) + double(n: 1)"));
    assert_eq!(output(&xml, r#"{"x": 3}"#), "8");
}

#[test]
fn business_knowledge_models_see_the_variables_of_their_caller() {
    let xml = with_knowledge(&literal("n + x"), &literal("double(1)"));
    assert_eq!(output(&xml, r#"{"x": 3}"#), "4");
}

#[test]
fn an_invocation_gives_every_parameter_a_value_of_its_type() {
    let invoking = |binding: &str| {
        let bound = format!(
            r#"<binding><parameter name="n"/>{}</binding>"#,
            literal("x")
        );
        let binding = binding.replace("n", &bound);
        definitions(&format!(
            r##"<businessKnowledgeModel id="k" name="one"><encapsulatedLogic><formalParameter name="n" typeRef="number"/>{}</encapsulatedLogic></businessKnowledgeModel>
            <decision id="d" name="D"><knowledgeRequirement><requiredKnowledge href="#k"/></knowledgeRequirement><invocation>{}{binding}</invocation></decision>"##,
            literal("1"),
            literal("one")
        ))
    };
    assert_eq!(output(&invoking("n"), r#"{"x": 3}"#), "1");
    let message = failure(&invoking("n"), r#"{"x": "a"}"#);
    assert!(
        message.contains("expected a value of the type 'number' but found '\"a\"'"),
        "{message}"
    );
    let message = failure(&invoking(""), "{}");
    assert!(
        message.contains("the invocation of 'one' has no binding for the parameter 'n'"),
        "{message}"
    );
}

#[test]
fn invocations_bind_parameters_by_name() {
    let xml = with_knowledge(&literal("n * 2"), &invocation("double", "n", "x + 1"));
    assert_eq!(output(&xml, r#"{"x": 3}"#), "8");
    let builtin = invocation("floor", "n", "1.5");
    assert_eq!(output(&decision(&builtin), "{}"), "1");
}

#[test]
fn failed_invocations_name_the_missing_function_or_parameter() {
    let xml = with_knowledge(&literal("n"), &invocation("double", "m", "1"));
    assert!(
        failure(&xml, "{}")
            .contains("the function 'double' has no parameter 'm'. Its parameters are: n")
    );
    let xml = with_knowledge(&literal("n"), &invocation("treble", "n", "1"));
    assert!(failure(&xml, "{}").contains("no function found with name 'treble'"));
}

#[test]
fn a_failure_inside_of_an_invocation_fails_the_decision() {
    let xml = with_knowledge(
        r#"<decisionTable><input id="i"><inputExpression><text>n</text></inputExpression></input><output id="o" name="o"/>
            <rule><inputEntry><text>-</text></inputEntry><outputEntry><text>1</text></outputEntry></rule>
            <rule><inputEntry><text>-</text></inputEntry><outputEntry><text>2</text></outputEntry></rule></decisionTable>"#,
        &invocation("double", "n", "1"),
    );
    assert!(failure(&xml, "{}").contains("UNIQUE"));
}

#[test]
fn conditionals() {
    let xml = decision(&format!(
        "<conditional><if>{}</if><then>{}</then><else>{}</else></conditional>",
        literal("x > 1"),
        literal("\"then\""),
        literal("\"else\"")
    ));
    assert_eq!(output(&xml, r#"{"x": 2}"#), "\"then\"");
    assert_eq!(output(&xml, r#"{"x": 1}"#), "\"else\"");
    assert_eq!(output(&xml, r#"{"x": null}"#), "\"else\"");
}

fn filter(list: &str, condition: &str) -> String {
    decision(&format!(
        "<filter><in>{}</in><match>{}</match></filter>",
        literal(list),
        literal(condition)
    ))
}

#[test]
fn filters_by_condition_or_index() {
    let variables = r#"{"x": [1, 5, 9], "limit": 4, "orders": [{"n": 1}, {"n": 7}]}"#;
    assert_eq!(output(&filter("x", "item > limit"), variables), "[5,9]");
    assert_eq!(
        output(&filter("orders", "n > limit"), variables),
        r#"[{"n":7}]"#
    );
    assert_eq!(output(&filter("x", "2"), variables), "5");
    assert_eq!(output(&filter("x", "-1"), variables), "9");
    assert_eq!(output(&filter("x", "4"), variables), "null");
    assert_eq!(output(&filter("missing", "true"), variables), "[]");
}

fn iteration(kind: &str, list: &str, part: &str, body: &str) -> String {
    decision(&format!(
        r#"<{kind} iteratorVariable="i"><in>{}</in><{part}>{}</{part}></{kind}>"#,
        literal(list),
        literal(body)
    ))
}

#[test]
fn iterations_over_lists_ranges_and_single_values() {
    let of =
        |list: &str, body: &str| output(&iteration("for", list, "return", body), r#"{"x": 2}"#);
    assert_eq!(of("[1, 2, 3]", "i * x"), "[2,4,6]");
    assert_eq!(of("[2..4]", "i"), "[2,3,4]");
    assert_eq!(of("x", "i"), "[2]");
    assert_eq!(of("[1, 1, 1]", "count(partial)"), "[0,1,2]");
}

#[test]
fn quantified_expressions_have_three_values() {
    let every = |list: &str| output(&iteration("every", list, "satisfies", "i > 1"), "{}");
    assert_eq!(every("[2, 3]"), "true");
    assert_eq!(every("[1, 3]"), "false");
    assert_eq!(every("[]"), "true");
    assert_eq!(every("[2, \"a\"]"), "null");
    assert_eq!(every("[\"a\", 1]"), "false");
    let some = |list: &str| output(&iteration("some", list, "satisfies", "i > 1"), "{}");
    assert_eq!(some("[1, 3]"), "true");
    assert_eq!(some("[1, 0]"), "false");
    assert_eq!(some("[\"a\", 1]"), "null");
    assert_eq!(some("[]"), "false");
}

#[test]
fn a_decision_without_logic_yields_null() {
    assert_eq!(output(&decision(""), "{}"), "null");
}

#[test]
fn decision_services_are_functions_of_their_inputs() {
    let xml = definitions(&format!(
        r##"<inputData id="in" name="n"/>
        <decision id="half" name="half"><informationRequirement><requiredInput href="#in"/></informationRequirement>{}</decision>
        <decision id="quarter" name="quarter"><informationRequirement><requiredDecision href="#half"/></informationRequirement>{}</decision>
        <decisionService id="s" name="divide"><outputDecision href="#quarter"/><encapsulatedDecision href="#half"/><inputData href="#in"/></decisionService>
        <decisionService id="s2" name="both"><outputDecision href="#half"/><outputDecision href="#quarter"/><inputData href="#in"/></decisionService>
        <decisionService id="s3" name="given"><outputDecision href="#quarter"/><inputDecision href="#half"/></decisionService>
        <decision id="d" name="D">
            <knowledgeRequirement><requiredKnowledge href="#s"/></knowledgeRequirement>
            <knowledgeRequirement><requiredKnowledge href="#s2"/></knowledgeRequirement>
            <knowledgeRequirement><requiredKnowledge href="#s3"/></knowledgeRequirement>{}</decision>"##,
        literal("n / 2"),
        literal("half / 2"),
        literal("[divide(8), both(8), given(1)]")
    ));
    assert_eq!(output(&xml, "{}"), r#"[2,{"half":4,"quarter":2},0.5]"#);
}

#[test]
fn by_the_standard_names_may_contain_spaces_and_values_get_their_declared_type() {
    let xml = definitions(&format!(
        r##"<itemDefinition name="tAge"><typeRef>number</typeRef><allowedValues><text>[0..150]</text></allowedValues></itemDefinition>
        <inputData id="in" name="Applicant Age"><variable name="Applicant Age" typeRef="tAge"/></inputData>
        <decision id="d" name="Is adult"><variable name="Is adult" typeRef="boolean"/>
        <informationRequirement><requiredInput href="#in"/></informationRequirement>{}</decision>"##,
        literal("if Applicant Age = null then \"unknown\" else Applicant Age >= 18")
    ));
    let drg = parse_standard(&xml);
    let of = |variables| {
        evaluate(&drg, variables)
            .expect("a result")
            .output
            .to_json()
    };
    assert_eq!(of(r#"{"Applicant Age": 20}"#), "true");
    assert_eq!(of(r#"{"Applicant Age": [20]}"#), "true");
    assert_eq!(of(r#"{"Applicant Age": 200}"#), "null");
}
