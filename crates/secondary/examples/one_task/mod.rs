//! An engine that runs instances of a process with one task, for measurements of secondary storage.

use std::collections::VecDeque;

use bytes::Bytes;
use skep_engine::Engine;
use skep_protocol::Key;
use skep_sim::one_task::{self, Worker, completion, creation, deployment};

/// Instances per entry of the log, as under load.
pub const PER_ENTRY: usize = 64;
/// Number of entries between the start of an instance and its end.
const LIVES: usize = 8;

/// Writes the log, entry by entry.
pub struct Writing {
    engine: Engine,
    worker: Worker,
    processes: Vec<String>,
    instances: usize,
    begun: usize,
    /// Number of instances per entry.
    per_entry: usize,
    /// One in this many instances is never completed; 0: all are.
    open: usize,
    waiting: VecDeque<Vec<Key>>,
    now: i64,
    pub records: usize,
}

impl Writing {
    /// `open`: one in this many instances is never completed; 0: all are.
    pub fn new(processes: usize, instances: usize, open: usize) -> Writing {
        let (mut engine, mut worker) = (one_task::engine(), Worker::default());
        // Recent, so that history is not deleted meanwhile.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.expect("a clock").as_millis() as i64;
        let processes: Vec<String> = (0..processes).map(|n| format!("one-task-{n}")).collect();
        for process in &processes {
            engine.process(now, Some(0), &deployment(process), &mut worker);
        }
        Writing {
            engine,
            worker,
            processes,
            instances,
            begun: 0,
            per_entry: PER_ENTRY,
            open,
            waiting: VecDeque::new(),
            now,
            records: 0,
        }
    }

    /// Adds this many instances, each in its own entry. Returns the number of the first of them.
    #[allow(dead_code)] // Of one of the examples.
    pub fn continue_with(&mut self, instances: usize) -> usize {
        (self.per_entry, self.instances) = (1, self.begun + instances);
        self.begun
    }

    fn complete(&mut self) {
        for job_key in self.waiting.pop_front().unwrap_or_default() {
            let complete = completion(job_key);
            self.engine
                .process(self.now, Some(1), &complete, &mut self.worker);
        }
    }
}

impl Iterator for Writing {
    type Item = Vec<Bytes>;

    /// The entries of the next step; `None` if all instances have ended.
    fn next(&mut self) -> Option<Vec<Bytes>> {
        if self.begun >= self.instances && self.waiting.is_empty() {
            return None;
        }
        self.now += 1;
        if self.waiting.len() >= LIVES || self.begun >= self.instances {
            self.complete();
        }
        if self.begun < self.instances {
            for n in self.begun..self.begun + self.per_entry {
                let process = &self.processes[n % self.processes.len()];
                let variables = format!(r#"{{"orderId":"A-{n}","amount":12.5}}"#);
                let create = creation(process, &variables);
                self.engine
                    .process(self.now, Some(2), &create, &mut self.worker);
            }
            self.begun += self.per_entry;
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
