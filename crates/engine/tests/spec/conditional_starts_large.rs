//! Evaluations of conditions that start hundreds of instances, and other work beside them.

use std::collections::HashMap;

use skep_engine::NoStreams;
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, EvaluateConditionals, Request};
use skep_protocol::{Document, Response};
use skep_testkit::rig::*;

use super::lone::{Lone, deployed};

/// Processes that start when `x` is greater than 1.
const STARTS: usize = 300;
/// As many such evaluations as a partition takes at a time.
const CLIENTS: u64 = 16;

/// The number of started instances, by request. Each turn writes few records.
fn commit(lone: &mut Lone, answers: &mut HashMap<u64, usize>) {
    let (records, effects) = lone.commit();
    assert!(records < 1_000, "one turn wrote {records} records");
    for (request, answer) in effects.responses {
        match answer {
            Ok(Response::ConditionalsEvaluated(evaluated)) => {
                answers.insert(request, evaluated.started.len());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn other_work_proceeds_beside_conditions_that_start_hundreds_of_instances() {
    let mut lone = deployed();
    for n in 0..STARTS {
        let id = format!("p{n}");
        let process = Bpmn::process(&id).start_condition("on", "=x > 1");
        lone.deploy(process.service_task("task", "work").end("e"));
    }
    // One evaluation takes some 2,000.
    lone.engine.set_turn_steps(100);
    let mut answers = HashMap::new();
    for client in 0..CLIENTS {
        let evaluate = EvaluateConditionals {
            process_definition_key: None,
            variables: Document::parse(r#"{"x":2}"#).unwrap(),
        };
        let request = Request::internal(Command::EvaluateConditionals(evaluate));
        let id = Some(100 + client);
        (lone.engine).process(START, id, &request, &mut NoStreams);
        commit(&mut lone, &mut answers);
    }
    let (mut turns, mut others) = (0, 0);
    while lone.engine.has_work() {
        lone.engine.run_work(START, &mut NoStreams);
        commit(&mut lone, &mut answers);
        // A command of another client arrives in between and is carried out at once.
        lone.instance();
        (turns, others) = (turns + 1, others + 1);
    }
    assert!(turns > CLIENTS, "{turns} turns");
    assert_eq!(answers.len() as u64, CLIENTS);
    assert!(answers.values().all(|started| *started == STARTS));
    let started = STARTS * CLIENTS as usize;
    let elements = lone.engine.state.elements.table.len();
    assert_eq!(elements, 2 * (started + others));
    assert!(lone.engine.state.dump() == lone.follower.state.dump());
}
