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
use skep_export::{CommittedLog, Config, LogError, LogProgress, Store};
use skep_protocol::Key;
use skep_sim::one_task::{self, VARIABLES, Worker, completion, cpu_time_of, creation, deployment};

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

/// The log, and how many records it has.
fn log(instances: usize) -> (Vec<Bytes>, usize) {
    let (mut engine, mut worker) = (one_task::engine(), Worker::default());
    let create = creation(VARIABLES);
    // History is not deleted meanwhile.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("a clock").as_millis() as i64;
    engine.process(now, Some(0), &deployment(), &mut worker);
    let (mut log, mut records) = (Vec::new(), 0);
    let mut waiting = std::collections::VecDeque::<Vec<Key>>::new();
    let mut begun = 0;
    while begun < instances || !waiting.is_empty() {
        if waiting.len() >= LIVES || begun >= instances {
            for job_key in waiting.pop_front().unwrap_or_default() {
                engine.process(now, Some(1), &completion(job_key), &mut worker);
            }
        }
        if begun < instances {
            for _ in 0..PER_ENTRY {
                engine.process(now, Some(2), &create, &mut worker);
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

fn main() {
    let instances = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let instances: usize = instances.unwrap_or(100_000);
    let (log, records) = log(instances);
    let entries = log.len() as u64;
    let bytes: usize = log.iter().map(Bytes::len).sum();
    let directory = tempfile::tempdir().expect("a directory");
    let progress = Arc::new(LogProgress::default());
    let store = Store::open(
        directory.path(),
        1,
        Config::default(),
        Entries(Arc::new(log)),
        progress.clone(),
        vec![],
    );
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
    let (took, cpu) = (begun.elapsed(), cpu_time_of("export-1"));
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
