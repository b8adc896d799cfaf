//! Evaluation of expressions by clients.

use skep_protocol::{Command, Document, Response};
use skep_testkit::rig::*;

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
    assert_eq!(rejected(evaluate(&mut rig, "=a +")).0, "INVALID_ARGUMENT");
}

#[test]
fn text_without_an_equals_sign_is_a_constant() {
    let mut rig = Rig::new();
    for text in ["hello", "a + 1", "say \"a\""] {
        match evaluate(&mut rig, text).unwrap() {
            Response::ExpressionEvaluated { result, warnings } => {
                let read: String = serde_json::from_str(&result).unwrap();
                assert_eq!((read.as_str(), warnings.len()), (text, 0));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_assertion_that_fails_is_no_result() {
    let mut rig = Rig::new();
    let (code, reason) = rejected(evaluate(&mut rig, "=[assert(a, a > 5, \"too small\")]"));
    assert_eq!(code, "INVALID_ARGUMENT");
    assert!(reason.contains("too small"), "{reason}");
}

#[test]
fn expressions_stop_at_the_configured_timeout() {
    let text = "=count(for i in 1..100000 return i)";
    let mut rig = Rig::new();
    assert!(evaluate(&mut rig, text).is_ok());
    let mut rig = Rig::with_configs(1, |id| skep_engine::EngineConfig {
        expression_timeout: 1,
        ..config(id, 1)
    });
    let (code, reason) = rejected(evaluate(&mut rig, text));
    assert_eq!(code, "INVALID_ARGUMENT");
    assert!(reason.contains("more than 50000 steps"), "{reason}");
}

#[test]
fn a_result_that_fits_no_message_is_refused() {
    let mut rig = Rig::new();
    let text = "={t: string join(for i in 1..100000 return \"0123456789\"), r: [t, t, t, t, t]}.r";
    let (code, reason) = rejected(evaluate(&mut rig, text));
    assert_eq!(code, "INVALID_ARGUMENT");
    assert!(reason.contains("longer than 4194304 bytes"), "{reason}");
}
