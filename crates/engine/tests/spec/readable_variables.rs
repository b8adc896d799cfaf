//! Expressions can read every accepted variable: the limits of the API equal those of FEEL.

use skep_protocol::document::{Document, MAX_DEPTH, MAX_NUMBER_EXPONENT};
use skep_protocol::{Command, Response};
use skep_testkit::rig::*;

#[test]
fn the_deepest_and_the_largest_values_are_read() {
    let mut rig = Rig::new();
    let depth = MAX_DEPTH as usize;
    let deepest = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let nines = "9".repeat(34);
    for value in [
        deepest,
        format!("1e{MAX_NUMBER_EXPONENT}"),
        format!("-{nines}e{}", MAX_NUMBER_EXPONENT - 33),
        format!("9.{nines}{nines}e{}", MAX_NUMBER_EXPONENT - 1),
        "1e-999999999999".to_string(),
    ] {
        let variables = Document::parse(&format!(r#"{{"a":{value}}}"#)).expect("is accepted");
        let command = Command::EvaluateExpression {
            expression: "=a != null".into(),
            variables,
        };
        match rig.send(command).expect("is evaluated") {
            Response::ExpressionEvaluated { result, warnings } => {
                assert_eq!((result.as_str(), warnings), ("true", vec![]), "{value}");
            }
            other => panic!("{other:?}"),
        }
    }
}
