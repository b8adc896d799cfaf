//! What counting costs: `cargo run --release -p skep-broker --example counting`.
//!
//! One-task instances are evaluated in batches of 64 commands, as under load; then what was noted of the batches is counted,
//! once right after they were evaluated and once when the notes are cold. Evaluation includes the noting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_broker::metrics::{BrokerMetrics, WorkCounter};
use skep_engine::state::{RowStore, State, StoreError, VariableNames};
use skep_engine::{Effects, Engine, EngineConfig, JobStreams, Reservation};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    Command, CreateProcessInstance, Deploy, ProcessRef, Request, Resource,
};
use skep_protocol::{Document, TenantId, Tenants};

const INSTANCES: usize = 100_000;
const BATCH: usize = 64;

/// A store that has nothing.
struct Nothing;

impl RowStore for Nothing {
    fn get(&self, _: u8, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    fn scan(
        &self,
        _: u8,
        _: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A worker that always has room.
struct Eager;

impl JobStreams for Eager {
    fn reserve(&mut self, _: &str, _: &TenantId) -> Option<Reservation> {
        Some(Reservation {
            stream: 1,
            worker: "worker".into(),
            timeout: 60_000,
            fetch_variables: VariableNames::all(),
            tenants: Tenants::default(),
        })
    }

    fn release(&mut self, _: Reservation) {}
}

fn request(command: Command) -> Request {
    command.into()
}

fn main() {
    let state = State::open(1, Arc::new(Nothing)).expect("an empty state");
    let mut engine = Engine::new(EngineConfig::default(), state, 1);
    let process = Bpmn::process("one-task")
        .start("start")
        .service_task("task", "work")
        .end("end");
    let resources = vec![Resource {
        name: "one-task.bpmn".into(),
        content: process.xml().into(),
    }];
    engine.process(
        0,
        None,
        &request(Command::Deploy(Deploy { resources })),
        &mut Eager,
    );
    engine.take_batch();
    let create = request(Command::CreateProcessInstance(CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: "one-task".into(),
            version: -1,
        },
        variables: Document::default(),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    }));

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
        (0..BATCH).for_each(|_| engine.process(now, None, &create, &mut Eager));
        evaluation += started.elapsed();
        let created = finish(&mut engine, &mut evaluation);
        let started = Instant::now();
        for (_, job) in created.pushes {
            let complete = request(Command::CompleteJob {
                job_key: job.key,
                variables: Document::default(),
                result: None,
            });
            engine.process(now, None, &complete, &mut Eager);
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
