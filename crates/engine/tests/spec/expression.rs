use crate::support::*;
use skep_protocol::{Command, Document, Response};

fn evaluate(rig: &mut Rig, expression: &str) -> Result<Response, skep_protocol::Rejection> {
    rig.send(Command::EvaluateExpression {
        expression: expression.into(),
        variables: Document::parse(r#"{"a":2}"#).unwrap(),
    })
}

#[test]
fn is_evaluated_for_a_client() {
    let mut rig = Rig::new();
    match evaluate(&mut rig, "=a + 1").unwrap() {
        Response::ExpressionEvaluated { result, warnings } => {
            assert_eq!((result.as_str(), warnings.len()), ("3", 0));
        }
        other => panic!("{other:?}"),
    }
    match evaluate(&mut rig, "=missing").unwrap() {
        Response::ExpressionEvaluated { result, warnings } => {
            assert_eq!((result.as_str(), warnings.len()), ("null", 1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_that_is_no_expression_is_refused() {
    let mut rig = Rig::new();
    for text in ["a + 1", "=a +"] {
        assert_eq!(rejected(evaluate(&mut rig, text)).0, "INVALID_ARGUMENT");
    }
}
