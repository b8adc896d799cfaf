//! Cells of decision tables.

use crate::support::{evaluate, failure, output, parse_standard, table};

const OUTPUT: &str = r#"<output id="out" name="y"/>"#;

/// Whether a cell lets the input pass.
fn passes(cell: &str, variables: &str) -> bool {
    let xml = table(
        r#"hitPolicy="FIRST""#,
        OUTPUT,
        &[&[cell, "true"], &["-", "false"]],
    );
    output(&xml, variables) == "true"
}

#[test]
fn empty_cells_and_hyphens_match_everything() {
    for cell in ["", "-"] {
        assert!(passes(cell, r#"{"x": 1}"#));
        assert!(passes(cell, r#"{"x": null}"#));
        assert!(passes(cell, "{}"));
    }
}

#[test]
fn constants_are_compared_with_the_input() {
    assert!(passes("\"a\"", r#"{"x": "a"}"#));
    assert!(passes("\"a\", \"b\"", r#"{"x": "b"}"#));
    assert!(!passes("\"a\", \"b\"", r#"{"x": "c"}"#));
    assert!(passes("1.50", r#"{"x": 1.5}"#));
    assert!(!passes("1", r#"{"x": "1"}"#));
    assert!(passes("true", r#"{"x": true}"#));
    assert!(passes("null", r#"{"x": null}"#));
    assert!(!passes("\"a\"", r#"{"x": null}"#));
}

#[test]
fn comparisons_and_intervals() {
    assert!(passes("< 5", r#"{"x": 4.99}"#));
    assert!(!passes("< 5", r#"{"x": 5}"#));
    assert!(passes("[5..10)", r#"{"x": 5}"#));
    assert!(!passes("[5..10)", r#"{"x": 10}"#));
    assert!(passes("< 5, > 10", r#"{"x": 11}"#));
    assert!(
        passes("> date(\"2024-01-01\")", r#"{"x": "no date"}"#)
            == passes("> 5", r#"{"x": "no number"}"#)
    );
}

#[test]
fn negations_and_expressions_about_the_input() {
    assert!(passes("not(\"a\")", r#"{"x": "b"}"#));
    assert!(!passes("not(\"a\")", r#"{"x": "a"}"#));
    assert!(passes("starts with(?, \"ab\")", r#"{"x": "abc"}"#));
    assert!(passes("? > y and ? < 2 * y", r#"{"x": 5, "y": 4}"#));
}

#[test]
fn cells_may_name_other_variables() {
    assert!(passes("limit", r#"{"x": 5, "limit": 5}"#));
    assert!(passes("> limit", r#"{"x": 6, "limit": 5}"#));
    assert!(passes("allowed", r#"{"x": "b", "allowed": ["a", "b"]}"#));
}

#[test]
fn a_missing_variable_is_null_and_matches_nothing_in_particular() {
    assert!(!passes("\"a\"", "{}"));
    assert!(!passes("< 5", "{}"));
}

#[test]
fn an_assertion_that_does_not_hold_fails_the_decision() {
    let xml = table("", OUTPUT, &[&["assert(?, ? > 10)", "1"]]);
    let message = failure(&xml, r#"{"x": 5}"#);
    assert!(
        message.starts_with(
            "Expected to evaluate decision 'd', but failed to evaluate expression 'assert(?, ? > 10)'"
        ),
        "{message}"
    );
}

#[test]
fn by_the_standard_inputs_and_outputs_are_checked_against_their_values() {
    let xml = r#"<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" id="m" name="m" namespace="n"><decision id="d" name="d"><decisionTable>
        <input id="i"><inputExpression><text>x</text></inputExpression><inputValues><text>"a","b"</text></inputValues></input>
        <output id="o" name="o"><outputValues><text>"u","v"</text></outputValues></output>
        <rule><inputEntry><text>"a"</text></inputEntry><outputEntry><text>"u"</text></outputEntry></rule>
        <rule><inputEntry><text>"b"</text></inputEntry><outputEntry><text>"w"</text></outputEntry></rule>
    </decisionTable></decision></definitions>"#;
    let drg = parse_standard(xml);
    assert_eq!(
        evaluate(&drg, r#"{"x": "a"}"#)
            .expect("allowed")
            .output
            .to_json(),
        "\"u\""
    );
    let message = |variables| evaluate(&drg, variables).expect_err("not allowed").message;
    assert!(message(r#"{"x": "c"}"#).contains("the input 'x' has the value '\"c\"', allowed are"));
    assert!(message(r#"{"x": "b"}"#).contains("the output 'o' has the value '\"w\"', allowed are"));
    assert_eq!(
        output(xml, r#"{"x": "b"}"#),
        "\"w\"",
        "Camunda does not check"
    );
}

#[test]
fn a_truth_value_in_a_cell_is_compared_with_the_input() {
    // In an expression a test after `in` passes if it is true; a cell is compared with the input.
    assert!(!passes("true", r#"{"x": false}"#));
    assert!(passes("false", r#"{"x": false}"#));
    assert!(passes("? in (odd(?))", r#"{"x": 5}"#));
}

#[test]
fn a_file_with_an_unknown_function_with_spaces_in_its_name_is_accepted() {
    assert!(!passes("my own thing(?)", r#"{"x": 5}"#));
    assert!(passes("my own thing(?), 5", r#"{"x": 5}"#));
}
