//! Secondary storage alone: how fast the committed log of one-task instances becomes rows, and what an instance costs.
//!
//! An engine writes the log first; what is measured is the exporter's thread, by the CPU time that it uses, so that other work
//! on the machine does not count.
//!
//! `cargo run --release -p skep-export --example throughput [INSTANCES]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mimalloc::MiMalloc;
use skep_engine::state::table::EmptyStore;
use skep_engine::state::{State, VariableNames};
use skep_engine::{Engine, EngineConfig, JobStreams, Reservation};
use skep_export::{CommittedLog, Config, LogError, LogProgress, Partition, Store};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    Command, CreateProcessInstance, Deploy, ProcessRef, Request, Resource,
};
use skep_protocol::{Document, Key, TenantId};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Instances per entry of the log, as under load.
const PER_ENTRY: usize = 64;
/// Entries between the beginning of an instance and its end.
const LIVES: usize = 8;
/// Entries are committed so many at a time.
const STRIDE: u64 = 16;

struct Entries(Arc<Vec<Bytes>>);

impl CommittedLog for Entries {
    fn read(&self, from: u64, to: u64, max: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for at in from..to {
            if bytes >= max {
                break;
            }
            let entry = self.0[at as usize - 1].clone();
            bytes += entry.len();
            found.push((at, entry));
        }
        Ok(found)
    }
}

/// A worker with room for every job.
struct Worker {
    name: Arc<str>,
    all: VariableNames,
}

impl JobStreams for Worker {
    fn reserve(&mut self, _job_type: &str, _tenant: &TenantId) -> Option<Reservation> {
        Some(Reservation {
            stream: 1,
            worker: self.name.clone(),
            timeout: 60_000,
            fetch_variables: self.all.clone(),
            tenants: Default::default(),
        })
    }

    fn release(&mut self, _reservation: Reservation) {}
}

fn create() -> Request {
    let variables = Document::parse(r#"{"orderId":"A-1","amount":12.5}"#).expect("valid");
    Request::from(Command::CreateProcessInstance(CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: "one-task".into(),
            version: -1,
        },
        variables,
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    }))
}

/// The log, and how many records it has.
fn log(instances: usize) -> (Vec<Bytes>, usize) {
    let state = State::open(1, Arc::new(EmptyStore)).expect("an empty store opens");
    let mut engine = Engine::new(EngineConfig::default(), state, 1);
    let mut worker = Worker {
        name: "bench".into(),
        all: VariableNames::all(),
    };
    let xml = Bpmn::process("one-task")
        .start("start")
        .service_task("task", "work")
        .end("end")
        .xml();
    let resource = Resource {
        name: "one-task.bpmn".into(),
        content: xml.into(),
    };
    let deploy = Command::Deploy(Deploy {
        resources: vec![resource],
    });
    // History is not deleted meanwhile.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("a clock").as_millis() as i64;
    engine.process(now, Some(0), &deploy.into(), &mut worker);
    let (mut log, mut records) = (Vec::new(), 0);
    let mut waiting = std::collections::VecDeque::<Vec<Key>>::new();
    let mut begun = 0;
    while begun < instances || !waiting.is_empty() {
        if waiting.len() >= LIVES || begun >= instances {
            for job_key in waiting.pop_front().unwrap_or_default() {
                let complete = Command::CompleteJob {
                    job_key,
                    variables: Document::new(),
                    result: None,
                };
                engine.process(now, Some(1), &complete.into(), &mut worker);
            }
        }
        if begun < instances {
            for _ in 0..PER_ENTRY {
                engine.process(now, Some(2), &create(), &mut worker);
            }
            begun += PER_ENTRY;
        }
        records += engine.batch_len();
        let (batch, effects) = engine.take_batch();
        log.extend(batch.map(Bytes::from));
        let jobs: Vec<Key> = effects.pushes.iter().map(|(_, job)| job.key).collect();
        if !jobs.is_empty() {
            waiting.push_back(jobs);
        }
    }
    (log, records)
}

/// CPU time that the thread of this name has used.
fn cpu_time(name: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let found = tasks.flatten().find(|task| {
        let name_of = std::fs::read_to_string(task.path().join("comm"));
        name_of.is_ok_and(|found| found.trim() == name)
    });
    let text = std::fs::read_to_string(found.expect("the thread").path().join("schedstat"));
    let text = text.expect("its times");
    let nanoseconds = text.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

fn main() {
    let instances = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let instances: usize = instances.unwrap_or(100_000);
    let (log, records) = log(instances);
    let entries = log.len() as u64;
    let bytes: usize = log.iter().map(Bytes::len).sum();
    let directory = tempfile::tempdir().expect("a directory");
    let progress = Arc::new(LogProgress::default());
    let of = Partition {
        id: 1,
        directory: directory.path(),
        cluster: "throughput",
        definitions: vec![],
    };
    let log = Entries(Arc::new(log));
    let store = Store::open(of, Config::default(), log, progress.clone());
    let store = store.expect("a store");
    let begun = Instant::now();
    let mut committed = 0;
    while committed < entries {
        committed = (committed + STRIDE).min(entries);
        progress.commit(committed);
        std::thread::sleep(Duration::from_millis(1));
    }
    while store.status().exported_position() < records as u64 {
        assert!(store.status().fault().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    let (took, cpu) = (begun.elapsed(), cpu_time("export-1"));
    store.stop();
    let size =
        std::fs::metadata(directory.path().join("query.sqlite")).map_or(0, |file| file.len());
    let per = |amount: f64| amount / instances as f64;
    println!(
        "{instances} instances, {records} records, {} MiB of log in {took:.2?}",
        bytes >> 20
    );
    println!(
        "{:.0} records/s of CPU time, {:.2} µs and {:.0} bytes of file per instance",
        records as f64 / cpu.as_secs_f64(),
        per(cpu.as_secs_f64() * 1e6),
        per(size as f64)
    );
}
