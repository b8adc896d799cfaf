//! The cost of counting: `cargo run --release -p skep-broker --example counting`.
//!
//! One-task instances are evaluated in batches of 64 commands, as under load; then the notes taken of the batches are counted, once right
//! after the evaluation and once when the notes are cold. Evaluation includes taking the notes.

use std::time::{Duration, Instant};

use skep_broker::metrics::{BrokerMetrics, WorkCounter};
use skep_engine::{Effects, Engine};
use skep_sim::one_task::{self, PROCESS, Worker, completion, creation, deployment};

const INSTANCES: usize = 100_000;
const BATCH: usize = 64;

fn main() {
    let (mut engine, mut worker) = (one_task::engine(), Worker::default());
    engine.process(0, None, &deployment(PROCESS), &mut worker);
    engine.take_batch();
    let create = creation(PROCESS, "{}");

    let families = BrokerMetrics::default();
    let metrics = families.partition(1);
    let mut work = WorkCounter::new(&families.work, 1);
    let (mut evaluation, mut hot) = (Duration::ZERO, Duration::ZERO);
    let mut batches = Vec::new();
    let mut finish = |engine: &mut Engine, spent: &mut Duration| -> Effects {
        let started = Instant::now();
        let (batch, mut effects) = engine.take_batch();
        let bytes = batch.expect("records").len();
        *spent += started.elapsed();
        let started = Instant::now();
        let noted = std::mem::take(&mut effects.noted);
        work.committed(&noted, bytes, &engine.state, &metrics);
        hot += started.elapsed();
        batches.push((noted, bytes));
        effects
    };
    for now in 0..(INSTANCES / BATCH) as i64 {
        let started = Instant::now();
        (0..BATCH).for_each(|_| engine.process(now, None, &create, &mut worker));
        evaluation += started.elapsed();
        let created = finish(&mut engine, &mut evaluation);
        let started = Instant::now();
        for (_, job) in created.pushes {
            engine.process(now, None, &completion(job.key), &mut worker);
        }
        evaluation += started.elapsed();
        finish(&mut engine, &mut evaluation);
    }
    let started = Instant::now();
    let mut again = WorkCounter::new(&families.work, 1);
    for (noted, bytes) in &batches {
        again.committed(noted, *bytes, &engine.state, &metrics);
    }
    let cold = started.elapsed();
    let per_instance = |time: Duration| time.as_nanos() as usize / INSTANCES;
    println!(
        "evaluation     {:>6} ns per instance",
        per_instance(evaluation)
    );
    println!("counting, hot  {:>6} ns per instance", per_instance(hot));
    println!("counting, cold {:>6} ns per instance", per_instance(cold));
}
