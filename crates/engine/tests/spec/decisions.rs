//! Evaluation of decisions by clients.

use std::sync::Arc;

use skep_engine::state::State;
use skep_engine::{Engine, NoStreams};
use skep_protocol::command::{Command, DecisionRef, EvaluateDecision, Request};
use skep_protocol::value::DecisionEvaluationValue;
use skep_protocol::{Document, Key, Rejection, Response};

use skep_testkit::rig::*;

fn command(decision: DecisionRef, variables: &str) -> Command {
    Command::EvaluateDecision(EvaluateDecision {
        decision,
        variables: Document::parse(variables).unwrap(),
    })
}

fn evaluate(
    rig: &mut Rig,
    decision: DecisionRef,
    variables: &str,
) -> Result<(Key, DecisionEvaluationValue), Rejection> {
    match rig.send(command(decision, variables))? {
        Response::DecisionEvaluated { key, evaluation } => Ok((key, *evaluation)),
        other => panic!("{other:?}"),
    }
}

fn by_id(id: &str) -> DecisionRef {
    DecisionRef::Id(id.into())
}

/// `dish` is a table based on `base`, which doubles `guests`.
fn menu(hit_policy: &str) -> String {
    let rule = |at: usize, input: &str, output: &str| {
        format!(
            r#"<rule id="r{at}"><inputEntry><text>{input}</text></inputEntry><outputEntry><text>{output}</text></outputEntry></rule>"#
        )
    };
    decisions(
        "menu",
        &format!(
            r##"<decision id="dish" name="Dish"><informationRequirement><requiredDecision href="#base"/></informationRequirement>
            <decisionTable hitPolicy="{hit_policy}"><input id="in" label="Base"><inputExpression><text>base</text></inputExpression></input>
            <output id="out" name="Out"/>{}{}</decisionTable></decision>
            <decision id="base" name="base"><literalExpression><text>guests * 2</text></literalExpression></decision>"##,
            rule(1, "&gt; 10", "&quot;big&quot;"),
            rule(2, "&lt; 20", "&quot;small&quot;"),
        ),
    )
}

#[test]
fn the_answer_and_the_record_contain_all_evaluated_decisions() {
    let mut rig = Rig::new();
    let deployed = rig.deployed(vec![("menu.dmn", menu("UNIQUE"))]);
    let keys: Vec<Key> = deployed.decisions.iter().map(|d| d.key).collect();
    let (key, value) = evaluate(&mut rig, by_id("dish"), r#"{"guests":30}"#).unwrap();
    assert_eq!(&*value.output, "\"big\"");
    assert_eq!((value.decision_key, &value.failure), (keys[0], &None));
    let ids: Vec<_> = value.evaluated_decisions.iter().collect();
    let ids: Vec<_> = ids.iter().map(|d| (d.key, &*d.id, &*d.output)).collect();
    assert_eq!(ids, [(keys[1], "base", "60"), (keys[0], "dish", "\"big\"")]);
    let dish = &value.evaluated_decisions[1];
    assert_eq!(&*dish.inputs[0].value, "60");
    assert_eq!(
        (dish.matched_rules[0].index, dish.matched_rules.len()),
        (1, 1)
    );

    let record = rig.events("DECISION_EVALUATION").next().unwrap();
    assert_eq!((record.key, record.intent), (key, "EVALUATED"));
    assert_eq!(record.text("decisionOutput"), "\"big\"");
    assert_eq!(
        record.field("evaluatedDecisions")[1]["decisionEvaluationInstanceKey"],
        format!("{key}-2")
    );
}

#[test]
fn a_failed_evaluation_is_answered_and_recorded() {
    let mut rig = Rig::new();
    rig.deployed(vec![("menu.dmn", menu("UNIQUE"))]);
    // Both rules match.
    let (_, value) = evaluate(&mut rig, by_id("dish"), r#"{"guests":7}"#).unwrap();
    let failure = value.failure.unwrap();
    assert_eq!(&*failure.decision_id, "dish");
    assert!(failure.message.contains("UNIQUE"), "{}", failure.message);
    assert_eq!(&*value.output, "null");
    assert_eq!(value.evaluated_decisions.len(), 2);
    assert_eq!(rig.intents("DECISION_EVALUATION"), ["FAILED"]);

    let failing = decision("f", "fails", "assert(x, x != null)");
    rig.deployed(vec![("f.dmn", failing)]);
    let (_, value) = evaluate(&mut rig, by_id("fails"), "{}").unwrap();
    assert_eq!(&*value.failure.unwrap().decision_id, "fails");
}

#[test]
fn it_is_chosen_by_key_or_by_id_in_its_latest_version() {
    let mut rig = Rig::new();
    let first = rig.deployed(vec![("a.dmn", decision("a", "fee", "1"))]);
    let second = rig.deployed(vec![("a.dmn", decision("a", "fee", "2"))]);
    let output = |rig: &mut Rig, decision| {
        let evaluated = evaluate(rig, decision, "{}");
        evaluated.map(|(_, value)| value.output.to_string())
    };
    let by_key = DecisionRef::Key(first.decisions[0].key);
    assert_eq!(output(&mut rig, by_id("fee")), Ok("2".into()));
    assert_eq!(output(&mut rig, by_key.clone()), Ok("1".into()));
    rig.delete_resource(second.decision_requirements[0].key)
        .unwrap();
    assert_eq!(output(&mut rig, by_id("fee")), Ok("1".into()));
    rig.delete_resource(first.decision_requirements[0].key)
        .unwrap();
    for decision in [by_id("fee"), by_key] {
        let refused = output(&mut rig, decision).unwrap_err();
        assert_eq!(refused.kind.as_str(), "NOT_FOUND");
        assert!(
            refused.reason.contains("no decision found"),
            "{}",
            refused.reason
        );
    }
}

#[test]
fn every_partition_evaluates_also_after_a_restart() {
    let mut rig = Rig::with_partitions(2);
    rig.deployed(vec![("a.dmn", decision("a", "fee", "x + 1"))]);
    let request = rig.send_to(2, command(by_id("fee"), r#"{"x":1}"#));
    match rig.answer(request) {
        Some(Ok(Response::DecisionEvaluated { evaluation, .. })) => {
            assert_eq!(&*evaluation.output, "2");
        }
        other => panic!("{other:?}"),
    }
    let store = MemoryStore::default();
    let mut pending = Pending::default();
    rig.engine(2).state.checkpoint(&mut pending);
    store.write(pending);
    let position = rig.engine(2).next_position();
    let state = State::open(2, Arc::new(store)).unwrap();
    let mut engine = Engine::new(config(2, 2), state, position);
    let again = command(by_id("fee"), r#"{"x":2}"#);
    engine.process(START, Some(1), &Request::internal(again), &mut NoStreams);
    let (_, effects) = engine.take_batch();
    match &effects.responses[..] {
        [(_, Ok(Response::DecisionEvaluated { evaluation, .. }))] => {
            assert_eq!(&*evaluation.output, "3");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn decisions_that_take_too_long_or_return_too_much_fail() {
    let mut rig = Rig::new();
    rig.deployed(vec![
        (
            "long.dmn",
            decision("long", "long", "count(for i in 1..100000000 return i)"),
        ),
        (
            "large.dmn",
            decision("large", "large", "for i in 1..50000 return x"),
        ),
    ]);
    let text = "y".repeat(200);
    let variables = format!(r#"{{"x":"{text}"}}"#);
    for (id, said) in [
        ("long", "needs more than"),
        ("large", "the largest message"),
    ] {
        let (_, value) = evaluate(&mut rig, by_id(id), &variables).unwrap();
        let failure = value.failure.unwrap();
        assert!(failure.message.contains(said), "{}", failure.message);
    }
    assert_eq!(rig.intents("DECISION_EVALUATION"), ["FAILED", "FAILED"]);
}
