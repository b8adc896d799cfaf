//! The details of an evaluation: the content of the record DECISION_EVALUATION.

use skep_dmn::DecisionType;

use crate::support::{decision, definitions, evaluate, literal, parse, table};

const TWO: &str = r#"<output id="o1" name="fee" label="Fee"/><output id="o2" name="note"/>"#;

#[test]
fn a_table_records_its_inputs_and_matched_rules() {
    let xml = table(
        r#"hitPolicy="RULE ORDER""#,
        TWO,
        &[
            &["> 1", "x * 2", "\"a\""],
            &["> 100", "1", "\"b\""],
            &["-", "3", "\"c\""],
        ],
    );
    let result = evaluate(&parse(&xml), r#"{"x": 5}"#).expect("a result");
    assert_eq!(result.evaluated.len(), 1);
    let decision = &result.evaluated[0];
    assert_eq!((&*decision.id, &*decision.name), ("d", "D"));
    assert_eq!(decision.decision_type, DecisionType::DecisionTable);
    assert_eq!(decision.output.to_json(), result.output.to_json());
    let inputs: Vec<_> = decision
        .inputs
        .iter()
        .map(|input| (&*input.id, &*input.name, input.value.to_json()))
        .collect();
    assert_eq!(inputs, [("in", "X", "5".to_owned())]);
    let rules: Vec<_> = decision
        .matched_rules
        .iter()
        .map(|rule| (&*rule.id, rule.index))
        .collect();
    assert_eq!(rules, [("r1", 1), ("r3", 3)]);
    let outputs: Vec<_> = decision.matched_rules[0]
        .outputs
        .iter()
        .map(|output| (&*output.id, &*output.name, output.value.to_json()))
        .collect();
    assert_eq!(
        outputs,
        [
            ("o1", "Fee", "10".to_owned()),
            ("o2", "note", "\"a\"".to_owned())
        ]
    );
}

#[test]
fn an_input_without_label_goes_by_its_expression() {
    let xml = table("", TWO, &[&["-", "1", "2"]]).replace(r#" label="X""#, "");
    let result = evaluate(&parse(&xml), r#"{"x": 5}"#).expect("a result");
    assert_eq!(&*result.evaluated[0].inputs[0].name, "x");
}

#[test]
fn decisions_without_table_record_their_output() {
    let result = evaluate(&parse(&decision(&literal("1 + 1"))), "{}").expect("a result");
    let decision = &result.evaluated[0];
    assert_eq!(decision.decision_type.as_str(), "LITERAL_EXPRESSION");
    assert_eq!(decision.output.to_json(), "2");
    assert!(decision.inputs.is_empty() && decision.matched_rules.is_empty());
}

#[test]
fn a_failure_names_the_decision_and_keeps_earlier_evaluations() {
    let xml = definitions(&format!(
        r##"<decision id="base" name="Base">{}</decision>
        <decision id="broken" name="Broken"><informationRequirement><requiredDecision href="#base"/></informationRequirement>
          <decisionTable><input id="i"><inputExpression><text>base</text></inputExpression></input><output id="o" name="o"/>
          <rule id="r"><inputEntry><text>-</text></inputEntry><outputEntry><text>assert(base, base &gt; 10, "too small")</text></outputEntry></rule></decisionTable></decision>
        <decision id="d" name="D"><informationRequirement><requiredDecision href="#broken"/></informationRequirement>{}</decision>"##,
        literal("7"),
        literal("broken")
    ));
    let failure = evaluate(&parse(&xml), "{}").expect_err("a failure");
    assert_eq!(&*failure.decision_id, "broken");
    assert_eq!(&*failure.decision_name, "Broken");
    assert_eq!(
        failure.message,
        "Expected to evaluate decision 'broken', but failed to evaluate expression 'assert(base, base > 10, \"too small\")': Assertion failure on evaluate the expression: too small"
    );
    let evaluated: Vec<_> = failure
        .evaluated
        .iter()
        .map(|decision| (&*decision.id, decision.output.to_json()))
        .collect();
    assert_eq!(
        evaluated,
        [("base", "7".to_owned()), ("broken", "null".to_owned())]
    );
    assert_eq!(failure.evaluated[1].inputs[0].value.to_json(), "7");
}

#[test]
fn rules_that_may_not_match_together_are_in_the_audit_of_the_failure() {
    let xml = table("", TWO, &[&["-", "1", "1"], &["-", "2", "2"]]);
    let failure = evaluate(&parse(&xml), "{}").expect_err("a failure");
    let rules: Vec<usize> = failure.evaluated[0]
        .matched_rules
        .iter()
        .map(|rule| rule.index)
        .collect();
    assert_eq!(rules, [1, 2]);
}

#[test]
fn an_unknown_decision_is_named() {
    let drg = parse(&decision(&literal("1")));
    let failure = drg
        .evaluate(
            "x",
            &skep_feel::EmptyScope,
            &skep_feel::EvalContext::default(),
        )
        .expect_err("unknown");
    assert_eq!(&*failure.decision_id, "x");
    assert_eq!(
        failure.to_string(),
        "Expected to evaluate decision 'x', but no such decision is found in 'model'"
    );
}
