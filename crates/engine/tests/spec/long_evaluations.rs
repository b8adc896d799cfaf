//! Long evaluations for clients are deferred, with the same result.

use skep_engine::EngineConfig;
use skep_protocol::command::*;
use skep_protocol::{Document, Rejection, Response};
use skep_testkit::rig::*;

/// Number of steps after which an evaluation is deferred.
const SHORT: u64 = 1_000;

const LONG: &str = "=sum(for i in 1..n return i)";

fn rig() -> Rig {
    let mut rig = Rig::with_configs(1, |id| EngineConfig {
        short_evaluation: SHORT,
        ..config(id, 1)
    });
    rig.prepares = false;
    rig
}

fn expression(text: &str, variables: &str) -> Command {
    Command::EvaluateExpression {
        expression: text.into(),
        variables: Document::parse(variables).unwrap(),
    }
}

fn decision(variables: &str) -> Command {
    Command::EvaluateDecision(EvaluateDecision {
        decision: DecisionRef::Id("pick".into()),
        variables: Document::parse(variables).unwrap(),
    })
}

fn deploy_decision(rig: &mut Rig, text: &str) {
    let dmn = format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="rules" name="rules" namespace="n">
        <decision id="pick" name="pick"><variable name="pick"/><literalExpression><text>{text}</text></literalExpression></decision>
    </definitions>"#
    );
    rig.deploy_files(vec![("rules.dmn", dmn)]).unwrap();
}

type Answer = Result<Response, Rejection>;

/// The answer, and whether the command was deferred before it.
fn evaluate(rig: &mut Rig, command: &Command) -> (Answer, bool) {
    let (written, state) = (rig.seen.len(), rig.engine(1).state.dump());
    let request = rig.send_async(command.clone());
    if let Some(answer) = rig.answer(request) {
        assert!(rig.engine(1).take_evaluation().is_none());
        return (answer, false);
    }
    assert_eq!(rig.seen.len(), written, "nothing is written meanwhile");
    assert!(rig.engine(1).state.dump() == state);
    let evaluation = rig.engine(1).take_evaluation().unwrap();
    let prepared = evaluation.carry_out();
    rig.engine(1).prepare(Some(prepared));
    let request = rig.send_async(command.clone());
    (rig.answer(request).unwrap(), true)
}

/// The answer without deferral.
fn at_once(decision: Option<&str>, command: &Command) -> Answer {
    let mut rig = Rig::new();
    if let Some(text) = decision {
        deploy_decision(&mut rig, text);
    }
    rig.send(command.clone())
}

#[test]
fn an_expression_that_takes_long_is_put_off_and_comes_to_the_same() {
    let mut rig = rig();
    let texts = [
        ("=1 + 1", false),
        (LONG, true),
        // Beyond all limits.
        ("=sum(for i in 1..n, j in 1..n, k in 1..n return i)", true),
        (
            "=assert(n, n = 0 and count(for i in 1..n return i) > 0)",
            false,
        ),
        ("=assert(n, count(for i in 1..n return i) = 0)", true),
        ("=1 +", false),
        ("no expression", false),
        ("=for i in 1..n return [i].x", true),
    ];
    for (text, is_long) in texts {
        let command = expression(text, r#"{"n":2000}"#);
        let (answer, was_put_off) = evaluate(&mut rig, &command);
        assert_eq!(was_put_off, is_long, "{text}");
        assert_eq!(answer, at_once(None, &command), "{text}");
    }
}

#[test]
fn a_long_text_is_put_off_before_it_is_read() {
    let text = format!("={}1", "1+".repeat(4_000));
    let command = expression(&text, "{}");
    let (answer, was_put_off) = evaluate(&mut rig(), &command);
    assert!(was_put_off);
    assert_eq!(answer, at_once(None, &command));
}

#[test]
fn a_decision_that_takes_long_is_put_off_and_comes_to_the_same() {
    let texts = [
        ("1", false),
        ("sum(for i in 1..n return i)", true),
        ("sum(for i in 1..n, j in 1..n, k in 1..n return i)", true),
    ];
    for (text, is_long) in texts {
        let mut rig = rig();
        deploy_decision(&mut rig, text);
        let command = decision(r#"{"n":2000}"#);
        let (answer, was_put_off) = evaluate(&mut rig, &command);
        assert_eq!(was_put_off, is_long, "{text}");
        assert_eq!(answer, at_once(Some(text), &command), "{text}");
        assert_eq!(rig.intents("DECISION_EVALUATION").len(), 1);
    }
}

#[test]
fn results_of_another_version_are_discarded() {
    let mut rig = rig();
    deploy_decision(&mut rig, "sum(for i in 1..n return i)");
    let command = decision(r#"{"n":2000}"#);
    rig.send_async(command.clone());
    let evaluation = rig.engine(1).take_evaluation().unwrap();
    deploy_decision(&mut rig, "2");
    rig.engine(1).prepare(Some(evaluation.carry_out()));
    let request = rig.send_async(command);
    let Some(Ok(Response::DecisionEvaluated { evaluation, .. })) = rig.answer(request) else {
        panic!("no answer");
    };
    assert_eq!(&*evaluation.output, "2");
}

#[test]
fn elements_are_evaluated_in_their_turn() {
    let mut rig = rig();
    rig.deploy(
        skep_model::builder::Bpmn::process("p")
            .start("s")
            .service_task("task", LONG)
            .end("e"),
    );
    rig.create("p", r#"{"n":200}"#);
    assert!(rig.engine(1).take_evaluation().is_none());
}
