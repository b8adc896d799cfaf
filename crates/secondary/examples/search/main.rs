//! Searches in a store with many instances of small processes: the time to fill it, its size, and the duration of searches.
//!
//! One in nine instances is active, the others have ended; there are ten processes. Each kind of query is repeated with different values
//! until the total time is meaningful. Times are response times, meaningful only on a quiet machine; besides, the CPU time of the answering
//! thread and of the server, if there is one, is shown.
//!
//! `cargo run --release -p skep-secondary --example search [embedded|postgres|opensearch|elasticsearch] [INSTANCES] [QUERIES]
//! [GRANTS]`; with GRANTS each search is repeated for a caller who may read the instances of that many processes, half of the ten
//! among them, and the ratios are printed.

mod grants;
mod kinds;
#[path = "../one_task/mod.rs"]
mod one_task;
mod place;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kinds::Asking;
use mimalloc::MiMalloc;
use one_task::Writing;
use place::Where;
use skep_exporting::{CommittedLog, LogError, LogProgress};
use skep_secondary::{Config, Partition, Store};
use skep_sim::one_task::cpu_time_of;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Maximum number of pending entries: the log is not kept.
const AHEAD: usize = 64;
/// Number of processes.
const PROCESSES: usize = 10;

/// Entries that were not read yet.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<BTreeMap<u64, Bytes>>>);

impl CommittedLog for Tail {
    fn read(&self, from: u64, to: u64, max: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        let mut entries = self.0.lock().expect("no panic");
        let (mut found, mut bytes) = (Vec::new(), 0);
        for at in from..to {
            if bytes >= max {
                break;
            }
            if let Some(entry) = entries.get(&at) {
                bytes += entry.len();
                found.push((at, entry.clone()));
            }
        }
        *entries = entries.split_off(&from);
        Ok(found)
    }
}

/// A store, and the engine that writes its log.
struct Filled {
    store: Store,
    tail: Tail,
    progress: Arc<LogProgress>,
    writing: Writing,
    entry: u64,
}

impl Filled {
    fn open(directory: &tempfile::TempDir, config: Config, instances: usize) -> Filled {
        let (tail, progress) = (Tail::default(), Arc::new(LogProgress::default()));
        let of = Partition {
            id: 1,
            directory: directory.path(),
            cluster: "search",
            definitions: vec![],
            metrics: Default::default(),
            elsewhere: false,
        };
        let store = Store::open(of, config, tail.clone(), progress.clone());
        Filled {
            store: store.expect("a store"),
            tail,
            progress,
            writing: Writing::new(PROCESSES, instances, 9),
            entry: 0,
        }
    }

    /// Writes the next entries; false once all instances were written.
    fn write(&mut self) -> bool {
        let Some(entries) = self.writing.next() else {
            return false;
        };
        for bytes in entries {
            self.entry += 1;
            let mut tail = self.tail.0.lock().expect("no panic");
            tail.insert(self.entry, bytes);
        }
        self.progress.commit(self.entry);
        true
    }

    fn wait_while(&self, waits: impl Fn(&Filled) -> bool) {
        while waits(self) {
            if let Some(fault) = self.store.status().fault() {
                panic!("{}", fault.reason);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn fill(&mut self) {
        while self.write() {
            self.wait_while(|own| own.tail.0.lock().expect("no panic").len() > AHEAD);
        }
        let records = self.writing.records as u64;
        self.wait_while(|own| own.store.status().exported_position() < records);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let place = arguments.next_if(|text| text.parse::<usize>().is_err());
    let place = Where::named(place.as_deref().unwrap_or("embedded"));
    let mut number = |otherwise| arguments.next().map_or(otherwise, number);
    let (instances, count, granted) = (number(100_000), number(1_000), number(0));

    let directory = tempfile::tempdir().expect("a directory");
    let config = Config {
        location: place.place(),
        readers: 1,
        max_wait: Duration::from_secs(60),
        ..Config::default()
    };
    let mut filled = Filled::open(&directory, config, instances);
    let begun = Instant::now();
    filled.fill();
    let (took, own, servers) = (
        begun.elapsed(),
        cpu_time_of("export-1"),
        place::cpu_of_servers(),
    );
    let per = |time: Duration| time.as_secs_f64() * 1e6 / instances as f64;
    println!(
        "{instances} instances in {took:.0?}: {:.0}/s; of CPU time per instance {:.1} µs of the exporter, {:.1} µs of the server",
        instances as f64 / took.as_secs_f64(),
        per(own),
        per(servers)
    );
    place.settle();
    let asking = Asking::new(&filled.store, &place, instances, count);
    asking.all();
    if granted > 0 {
        grants::compare(asking, granted);
    }
    kinds::just_created(&mut filled, &place, count.min(1_000));
    // Until then the latest writes are in files beside the embedded store's file.
    filled.store.stop();
    let bytes = place.bytes(directory.path());
    println!(
        "{} MiB, {:.0} bytes per instance",
        bytes >> 20,
        bytes as f64 / instances as f64
    );
}

fn number(text: String) -> usize {
    let number = text.replace('_', "").parse();
    number.unwrap_or_else(|_| panic!("'{text}' is no number"))
}
