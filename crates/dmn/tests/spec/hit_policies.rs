//! Results of each hit policy for one, several, or no matching rules.

use crate::support::{failure, output, refusal, table};

const OUTPUT: &str = r#"<output id="out" name="y"/>"#;
const RANKED: &str = r#"<output id="out" name="y"><outputValues><text>"high","middle","low"</text></outputValues></output>"#;
const TWO: &str = r#"<output id="a" name="a"/><output id="b" name="b"/>"#;

#[test]
fn a_table_without_hit_policy_is_unique() {
    let xml = table("", OUTPUT, &[&["< 10", "1"], &["[5..20]", "2"]]);
    assert_eq!(output(&xml, r#"{"x": 1}"#), "1");
    assert!(failure(&xml, r#"{"x": 7}"#).contains("UNIQUE"));
}

#[test]
fn unique_names_the_rules_that_match_together() {
    let xml = table(
        r#"hitPolicy="UNIQUE""#,
        OUTPUT,
        &[&["< 10", "1"], &["> 100", "3"], &["[5..20]", "1"]],
    );
    assert_eq!(output(&xml, r#"{"x": 15}"#), "1");
    assert_eq!(
        failure(&xml, r#"{"x": 7}"#),
        "Expected to evaluate decision 'd', but the hit policy UNIQUE allows only one rule to match, and several did: rules 1, 3"
    );
}

#[test]
fn first_takes_the_first_rule_that_matches() {
    let xml = table(
        r#"hitPolicy="FIRST""#,
        OUTPUT,
        &[&["> 100", "1"], &["> 10", "2"], &["-", "3"]],
    );
    assert_eq!(output(&xml, r#"{"x": 50}"#), "2");
    assert_eq!(output(&xml, r#"{"x": 500}"#), "1");
    assert_eq!(output(&xml, r#"{"x": null}"#), "3");
}

#[test]
fn any_takes_rules_that_agree() {
    let xml = table(
        r#"hitPolicy="ANY""#,
        OUTPUT,
        &[&["> 1", "\"a\""], &["> 2", "\"a\""], &["> 3", "\"b\""]],
    );
    assert_eq!(output(&xml, r#"{"x": 3}"#), "\"a\"");
    assert!(failure(&xml, r#"{"x": 4}"#).contains("ANY"));
}

#[test]
fn priority_takes_the_most_important_output_value() {
    let xml = table(
        r#"hitPolicy="PRIORITY""#,
        RANKED,
        &[
            &["-", "\"low\""],
            &["> 1", "\"high\""],
            &["> 2", "\"middle\""],
        ],
    );
    assert_eq!(output(&xml, r#"{"x": 0}"#), "\"low\"");
    assert_eq!(output(&xml, r#"{"x": 3}"#), "\"high\"");
}

#[test]
fn priority_of_several_outputs_goes_from_left_to_right() {
    let outputs = format!(
        "{}{}",
        RANKED.replace("\"y\"", "\"a\""),
        RANKED.replace("\"y\"", "\"b\"")
    );
    let xml = table(
        r#"hitPolicy="PRIORITY""#,
        &outputs,
        &[
            &["-", "\"high\"", "\"low\""],
            &["-", "\"middle\"", "\"high\""],
            &["-", "\"high\"", "\"middle\""],
        ],
    );
    assert_eq!(output(&xml, "{}"), r#"{"a":"high","b":"middle"}"#);
}

#[test]
fn output_order_lists_all_by_importance() {
    let xml = table(
        r#"hitPolicy="OUTPUT ORDER""#,
        RANKED,
        &[
            &["-", "\"low\""],
            &["-", "\"unknown\""],
            &["> 1", "\"high\""],
            &["> 1", "\"middle\""],
        ],
    );
    assert_eq!(
        output(&xml, r#"{"x": 3}"#),
        r#"["high","middle","low","unknown"]"#
    );
}

#[test]
fn rule_order_and_collect_list_all_in_the_order_of_the_rules() {
    for policy in ["RULE ORDER", "COLLECT"] {
        let xml = table(
            &format!(r#"hitPolicy="{policy}""#),
            OUTPUT,
            &[&["> 1", "3"], &["> 100", "2"], &["> 2", "1"]],
        );
        assert_eq!(output(&xml, r#"{"x": 50}"#), "[3,1]");
        assert_eq!(output(&xml, r#"{"x": 2}"#), "[3]");
    }
}

#[test]
fn several_outputs_become_a_context_per_rule() {
    let xml = table(
        r#"hitPolicy="RULE ORDER""#,
        TWO,
        &[&["> 1", "1", "x"], &["> 2", "2", "x + 1"]],
    );
    assert_eq!(
        output(&xml, r#"{"x": 5}"#),
        r#"[{"a":1,"b":5},{"a":2,"b":6}]"#
    );
}

#[test]
fn collect_aggregates() {
    for (aggregation, expected) in [("SUM", "9"), ("MIN", "2"), ("MAX", "4"), ("COUNT", "3")] {
        let xml = table(
            &format!(r#"hitPolicy="COLLECT" aggregation="{aggregation}""#),
            OUTPUT,
            &[&["-", "3"], &["> 1", "2"], &["> 100", "50"], &["-", "4"]],
        );
        assert_eq!(output(&xml, r#"{"x": 5}"#), expected, "{aggregation}");
    }
}

#[test]
fn minimum_and_maximum_need_numbers() {
    let xml = table(
        r#"hitPolicy="COLLECT" aggregation="MAX""#,
        OUTPUT,
        &[&["-", "@\"2024-01-01\""], &["-", "@\"2025-01-01\""]],
    );
    assert!(failure(&xml, "{}").contains("the aggregation MAX needs numbers, and found"));
}

#[test]
fn a_sum_needs_numbers() {
    let xml = table(
        r#"hitPolicy="COLLECT" aggregation="SUM""#,
        OUTPUT,
        &[&["-", "1"], &["-", "\"two\""]],
    );
    assert!(failure(&xml, "{}").contains("the aggregation SUM needs numbers, and found '\"two\"'"));
}

#[test]
fn aggregation_of_several_outputs_is_refused() {
    let xml = table(
        r#"hitPolicy="COLLECT" aggregation="SUM""#,
        TWO,
        &[&["-", "1", "2"]],
    );
    assert!(refusal(&xml).contains("cannot aggregate"));
}

#[test]
fn without_a_match_the_output_is_null_or_the_default() {
    let defaults = r#"<output id="out" name="y"><defaultOutputEntry><text>x * 2</text></defaultOutputEntry></output>"#;
    for policy in [
        r#"hitPolicy="UNIQUE""#,
        r#"hitPolicy="ANY""#,
        r#"hitPolicy="FIRST""#,
        r#"hitPolicy="PRIORITY""#,
        r#"hitPolicy="RULE ORDER""#,
        r#"hitPolicy="OUTPUT ORDER""#,
        r#"hitPolicy="COLLECT""#,
        r#"hitPolicy="COLLECT" aggregation="SUM""#,
    ] {
        let rules: &[&[&str]] = &[&["> 100", "1"]];
        assert_eq!(output(&table(policy, OUTPUT, rules), r#"{"x": 5}"#), "null");
        assert_eq!(output(&table(policy, defaults, rules), r#"{"x": 5}"#), "10");
    }
}

#[test]
fn a_default_of_one_output_leaves_the_others_null() {
    let outputs = r#"<output id="a" name="a"><defaultOutputEntry><text>1</text></defaultOutputEntry></output><output id="b" name="b"/>"#;
    let xml = table("", outputs, &[&["> 100", "7", "8"]]);
    assert_eq!(output(&xml, r#"{"x": 5}"#), r#"{"a":1,"b":null}"#);
}

#[test]
fn an_empty_output_entry_or_input_expression_is_refused() {
    let message = refusal(&table("", OUTPUT, &[&["-", ""]]));
    assert!(message.contains("The output entry is empty"), "{message}");
    let xml = table("", OUTPUT, &[&["-", "1"]]);
    let empty = xml.replace("<text>x</text>", "<text></text>");
    assert_ne!(xml, empty);
    let message = refusal(&empty);
    assert!(
        message.contains("The input expression is empty"),
        "{message}"
    );
}
