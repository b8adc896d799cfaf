//! Small models, and their evaluation.

use skep_dmn::{DecisionResult, Dialect, Drg, EvaluationFailure, Options};
use skep_feel::{EvalContext, JsonScope};

pub const DMN_1_3: &str = "https://www.omg.org/spec/DMN/20191111/MODEL/";

/// Definitions `model` with this content.
pub fn definitions(content: &str) -> String {
    format!(
        r#"<definitions xmlns="{DMN_1_3}" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="model" name="Model" namespace="n">{content}</definitions>"#
    )
}

/// The decision `d` with this content.
pub fn decision(content: &str) -> String {
    definitions(&format!(
        r#"<decision id="d" name="D">{content}</decision>"#
    ))
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

pub fn literal(text: &str) -> String {
    format!(
        "<literalExpression><text>{}</text></literalExpression>",
        escape(text)
    )
}

/// A table of one input `x`; outputs are given as XML, rules as `[input, output, …]`.
pub fn table(attributes: &str, outputs: &str, rules: &[&[&str]]) -> String {
    let mut xml = format!(
        r#"<decisionTable {attributes}><input id="in" label="X"><inputExpression><text>x</text></inputExpression></input>{outputs}"#
    );
    for (at, rule) in rules.iter().enumerate() {
        xml.push_str(&format!(r#"<rule id="r{}">"#, at + 1));
        for (column, cell) in rule.iter().enumerate() {
            let entry = if column == 0 { "input" } else { "output" };
            let cell = escape(cell);
            xml.push_str(&format!("<{entry}Entry><text>{cell}</text></{entry}Entry>"));
        }
        xml.push_str("</rule>");
    }
    xml.push_str("</decisionTable>");
    decision(&xml)
}

pub fn parse(xml: &str) -> Drg {
    match Drg::parse("model.dmn", xml.as_bytes(), &Options::default()) {
        Ok(drg) => drg,
        Err(invalid) => panic!("{invalid}"),
    }
}

pub fn parse_standard(xml: &str) -> Drg {
    let options = Options {
        dialect: Dialect::Standard,
        ..Options::default()
    };
    match Drg::parse("model.dmn", xml.as_bytes(), &options) {
        Ok(drg) => drg,
        Err(invalid) => panic!("{invalid}"),
    }
}

/// The reason why the file is refused.
pub fn refusal(xml: &str) -> String {
    match Drg::parse("model.dmn", xml.as_bytes(), &Options::default()) {
        Ok(_) => panic!("the model is accepted:\n{xml}"),
        Err(invalid) => invalid.to_string(),
    }
}

pub fn evaluate(drg: &Drg, variables: &str) -> Result<DecisionResult, EvaluationFailure> {
    let scope = JsonScope::parse(variables).expect("variables");
    drg.evaluate("d", &scope, &EvalContext::default())
}

/// The output of decision `d` as JSON.
pub fn output(xml: &str, variables: &str) -> String {
    match evaluate(&parse(xml), variables) {
        Ok(result) => result.output.to_json(),
        Err(failure) => panic!("{failure}"),
    }
}

/// The message with which decision `d` fails.
pub fn failure(xml: &str, variables: &str) -> String {
    match evaluate(&parse(xml), variables) {
        Ok(result) => panic!("it yields {}", result.output.to_json()),
        Err(failure) => failure.message,
    }
}
