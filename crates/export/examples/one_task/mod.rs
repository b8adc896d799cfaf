//! An engine that runs instances of a process with one task, for what is measured of secondary storage.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skep_engine::state::table::EmptyStore;
use skep_engine::state::{State, VariableNames};
use skep_engine::{Engine, EngineConfig, JobStreams, Reservation};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    Command, CreateProcessInstance, Deploy, ProcessRef, Request, Resource,
};
use skep_protocol::{Document, Key, TenantId};

/// Instances per entry of the log, as under load.
pub const PER_ENTRY: usize = 64;
/// Entries between the beginning of an instance and its end.
const LIVES: usize = 8;

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

fn create(process: &str, order: usize) -> Request {
    let variables = format!(r#"{{"orderId":"A-{order}","amount":12.5}}"#);
    Request::from(Command::CreateProcessInstance(CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: process.into(),
            version: -1,
        },
        variables: Document::parse(&variables).expect("valid"),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    }))
}

/// Writes the log, entry by entry.
pub struct Writing {
    engine: Engine,
    worker: Worker,
    processes: Vec<String>,
    instances: usize,
    begun: usize,
    /// Of each so many instances one is never completed; 0: all are.
    open: usize,
    waiting: VecDeque<Vec<Key>>,
    now: i64,
    pub records: usize,
}

impl Writing {
    /// `open`: of each so many instances one is never completed; 0: all are.
    pub fn new(processes: usize, instances: usize, open: usize) -> Writing {
        let state = State::open(1, Arc::new(EmptyStore)).expect("an empty store opens");
        let mut engine = Engine::new(EngineConfig::default(), state, 1);
        let mut worker = Worker {
            name: "bench".into(),
            all: VariableNames::all(),
        };
        // History is not deleted meanwhile.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.expect("a clock").as_millis() as i64;
        let processes: Vec<String> = (0..processes).map(|n| format!("one-task-{n}")).collect();
        for process in &processes {
            let xml = Bpmn::process(process)
                .start("start")
                .service_task("task", "work")
                .end("end")
                .xml();
            let resource = Resource {
                name: format!("{process}.bpmn"),
                content: xml.into(),
            };
            let deploy = Command::Deploy(Deploy {
                resources: vec![resource],
            });
            engine.process(now, Some(0), &deploy.into(), &mut worker);
        }
        Writing {
            engine,
            worker,
            processes,
            instances,
            begun: 0,
            open,
            waiting: VecDeque::new(),
            now,
            records: 0,
        }
    }

    fn complete(&mut self) {
        for job_key in self.waiting.pop_front().unwrap_or_default() {
            let complete = Command::CompleteJob {
                job_key,
                variables: Document::new(),
                result: None,
            };
            self.engine
                .process(self.now, Some(1), &complete.into(), &mut self.worker);
        }
    }
}

impl Iterator for Writing {
    type Item = Vec<Bytes>;

    /// The entries of the next step; `None` when all instances have ended.
    fn next(&mut self) -> Option<Vec<Bytes>> {
        if self.begun >= self.instances && self.waiting.is_empty() {
            return None;
        }
        self.now += 1;
        if self.waiting.len() >= LIVES || self.begun >= self.instances {
            self.complete();
        }
        if self.begun < self.instances {
            for n in self.begun..self.begun + PER_ENTRY {
                let process = &self.processes[n % self.processes.len()];
                let create = create(process, n);
                self.engine
                    .process(self.now, Some(2), &create, &mut self.worker);
            }
            self.begun += PER_ENTRY;
        }
        self.records += self.engine.batch_len();
        let (batch, effects) = self.engine.take_batch();
        let jobs = effects.pushes.iter().map(|(_, job)| job.key).enumerate();
        let ends = |at: &usize| self.open == 0 || !at.is_multiple_of(self.open);
        let jobs: Vec<Key> = jobs
            .filter(|(at, _)| ends(at))
            .map(|(_, key)| key)
            .collect();
        if !jobs.is_empty() {
            self.waiting.push_back(jobs);
        }
        Some(batch.map(Bytes::from).into_iter().collect())
    }
}

/// CPU time that the thread of this name has used.
pub fn cpu_time(name: &str) -> Duration {
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
