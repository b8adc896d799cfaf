//! Secondary storage alone: the speed at which the committed log of one-task instances becomes rows, and the cost per instance.
//!
//! An engine writes the log first. Only the exporter's thread is measured, by its CPU time, so that other work on the machine does not
//! count. With `--delete` ended instances become history immediately and are deleted meanwhile: the difference is the cost of deletion.
//!
//! `cargo run --release -p skep-secondary --example exporting [INSTANCES] [--delete]`

mod one_task;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mimalloc::MiMalloc;
use one_task::Writing;
use skep_exporting::{CommittedLog, LogError, LogProgress};
use skep_secondary::{Config, Partition, Store};
use skep_sim::one_task::cpu_time_of;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Number of entries committed at a time.
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

fn main() {
    let (options, numbers): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let number = |text: &String| text.parse().expect("a number of instances");
    let instances: usize = numbers.first().map_or(100_000, number);
    let mut config = Config::default();
    if options.iter().any(|option| option == "--delete") {
        config.history_ttl = Duration::ZERO;
    }
    let mut writing = Writing::new(1, instances, 0);
    let log: Vec<Bytes> = writing.by_ref().flatten().collect();
    let records = writing.records;
    let entries = log.len() as u64;
    let bytes: usize = log.iter().map(Bytes::len).sum();
    let directory = tempfile::tempdir().expect("a directory");
    let progress = Arc::new(LogProgress::default());
    let of = Partition {
        id: 1,
        directory: directory.path(),
        cluster: "throughput",
        definitions: vec![],
        metrics: Default::default(),
        elsewhere: false,
    };
    let log = Entries(Arc::new(log));
    let store = Store::open(of, config, log, progress.clone());
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
    let file = directory.path().join("query.sqlite");
    let size = std::fs::metadata(&file).map_or(0, |file| file.len());
    let left = left(&file);
    let per = |amount: f64| amount / instances as f64;
    println!(
        "{instances} instances, {records} records, {} MiB of log in {took:.2?}; {} of them deleted",
        bytes >> 20,
        instances.saturating_sub(left)
    );
    println!(
        "{:.0} records/s of CPU time, {:.2} µs and {:.0} bytes of file per instance",
        records as f64 / cpu.as_secs_f64(),
        per(cpu.as_secs_f64() * 1e6),
        per(size as f64)
    );
}

/// Number of process instances in the file.
fn left(file: &std::path::Path) -> usize {
    let connection = rusqlite::Connection::open(file).expect("the file");
    let count = "SELECT count(*) FROM process_instance";
    let count = connection.query_row(count, [], |row| row.get::<_, i64>(0));
    usize::try_from(count.expect("a count")).expect("none is negative")
}
