//! Deployment of the largest model that a client may send, and the time it occupies a partition: preparation runs off the partition's
//! thread, the rest does not. Wall-clock times, the minimum of several rounds, since other work on the machine only adds to them.
//!
//! `cargo run --release -p skep-engine --example deployment [TASKS]`

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // It measures time; the engine does not.

use std::time::{Duration, Instant};

use skep_engine::{NoStreams, Prepared};
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, Deploy, Request, Resource};
use skep_sim::one_task::engine;

const ROUNDS: usize = 7;

/// A sequence of this many tasks; each round deploys another version.
fn model(tasks: usize, round: usize) -> String {
    let mut bpmn = Bpmn::process("large").start(format!("start-{round}"));
    for task in 0..tasks {
        bpmn = bpmn.service_task(format!("task-{task}"), "work");
    }
    bpmn.end("end").xml()
}

fn deployment(content: String) -> Request {
    let resource = Resource {
        name: "large.bpmn".into(),
        content: content.into(),
    };
    let resources = vec![resource];
    Request::internal(Command::Deploy(Deploy { resources }))
}

fn main() {
    let tasks = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let tasks = tasks.unwrap_or(18_000);
    let mut engine = engine();
    let mut least = [Duration::MAX; 3];
    let (mut bytes, mut batch_bytes) = (0, 0);
    for round in 0..ROUNDS {
        let xml = model(tasks, round);
        bytes = xml.len();
        let request = deployment(xml);
        let mut took = [Duration::ZERO; 3];
        let mut last = Instant::now();
        let mut lap = |part: &mut Duration| {
            let now = Instant::now();
            *part = now - std::mem::replace(&mut last, now);
        };
        let prepared = Prepared::of_command(&request.command);
        lap(&mut took[0]);
        engine.prepare(prepared);
        engine.process(0, Some(1), &request, &mut NoStreams);
        lap(&mut took[1]);
        let (batch, effects) = engine.take_batch();
        lap(&mut took[2]);
        assert!(effects.responses[0].1.is_ok(), "{effects:?}");
        batch_bytes = batch.map_or(0, |batch| batch.len());
        for (least, took) in least.iter_mut().zip(took) {
            *least = took.min(*least);
        }
    }
    println!("model              {bytes} bytes, {tasks} tasks");
    println!("prepared in        {:?}", least[0]);
    println!("partition: command {:?}", least[1]);
    println!("partition: batch   {:?}, {batch_bytes} bytes", least[2]);
}
