//! Searches in a store of many instances of small processes: how long they take, and how large the file is.
//!
//! Of nine instances one is active, the others have ended; there are ten processes. Each kind of query is asked many times with
//! other values. Times are those that who asks waits for, so that they tell something only on a quiet machine; beside them stands
//! the CPU time of the thread that answers.
//!
//! `cargo run --release -p skep-export --example search [INSTANCES] [QUERIES]`

mod one_task;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mimalloc::MiMalloc;
use one_task::Writing;
use skep_export::{CommittedLog, Config, LogError, LogProgress, Partition, Store};
use skep_protocol::Key;
use skep_query::entities::{PROCESS_DEFINITION, PROCESS_INSTANCE};
use skep_query::{Answer, Consistency, Query, search};
use skep_sim::one_task::cpu_time_of;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Entries that wait to be stored at most: the log is not kept.
const AHEAD: usize = 64;

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

fn fill(store: &Store, tail: &Tail, progress: &LogProgress, instances: usize) {
    let mut writing = Writing::new(10, instances, 9);
    let mut entry = 0;
    for entries in writing.by_ref() {
        for bytes in entries {
            entry += 1;
            tail.0.lock().expect("no panic").insert(entry, bytes);
        }
        progress.commit(entry);
        while tail.0.lock().expect("no panic").len() > AHEAD {
            assert!(store.status().fault().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    while store.status().exported_position() < writing.records as u64 {
        assert!(store.status().fault().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ask(store: &Store, query: Query) -> Answer {
    let (done, answered) = mpsc::channel();
    store.query(query, Consistency::ReadYourWrites, move |answer| {
        let _ = done.send(answer);
    });
    answered.recv().expect("an answer").expect("an answer").0
}

fn page(body: &str) -> Query {
    Query::Search(search(&PROCESS_INSTANCE, body).expect("a search"))
}

fn definitions() -> Query {
    Query::Search(search(&PROCESS_DEFINITION, "").expect("a search"))
}

/// Asks many times; `query` makes the one with this number.
fn measure(store: &Store, what: &str, count: usize, query: impl Fn(usize) -> Query) {
    let cpu = cpu_time_of("query-1");
    let mut times: Vec<Duration> = Vec::with_capacity(count);
    let mut rows = 0;
    for n in 0..count {
        let query = query(n);
        let begun = Instant::now();
        rows += match ask(store, query) {
            Answer::Found(found) => found.rows.len(),
            Answer::Row(row) => usize::from(row.is_some()),
            Answer::Rows(rows) => rows.len(),
        };
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| times[((count - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let cpu = (cpu_time_of("query-1") - cpu).as_secs_f64() * 1e3 / count as f64;
    println!(
        "{what}: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms; {cpu:.2} ms of CPU time, {:.1} rows",
        at(0.5),
        at(0.99),
        at(1.0),
        rows as f64 / count as f64
    );
}

fn pages(store: &Store, count: usize) {
    let Answer::Found(definitions) = ask(store, definitions()) else {
        return;
    };
    let key = |n: usize| {
        let row = &definitions.rows[n % definitions.rows.len()];
        row[0].as_int().unwrap_or_default()
    };
    for (state, order) in [
        ("ACTIVE", "DESC"),
        ("COMPLETED", "DESC"),
        ("COMPLETED", "ASC"),
    ] {
        let rest = format!(
            r#""state":"{state}"}},"sort":[{{"field":"startDate","order":"{order}"}}],"page":{{"limit":50}}}}"#
        );
        measure(
            store,
            &format!("50 {state} of a definition by startDate {order}"),
            count,
            |n| {
                page(&format!(
                    r#"{{"filter":{{"processDefinitionKey":"{}",{rest}"#,
                    key(n)
                ))
            },
        );
        measure(
            store,
            &format!("50 {state} of a process id by startDate {order}"),
            count,
            |n| {
                page(&format!(
                    r#"{{"filter":{{"processDefinitionId":"one-task-{}",{rest}"#,
                    n % 10
                ))
            },
        );
    }
}

fn by_key(store: &Store, count: usize) {
    let Answer::Found(found) = ask(store, page(r#"{"page":{"limit":10000}}"#)) else {
        return;
    };
    let keys: Vec<Key> = found
        .rows
        .iter()
        .filter_map(|row| row[0].as_int().map(Key))
        .collect();
    measure(store, "by key", count, |n| Query::Get {
        entity: &PROCESS_INSTANCE,
        key: keys[n * 7 % keys.len()],
    });
}

fn main() {
    let number = |n| std::env::args().nth(n).and_then(|text| text.parse().ok());
    let instances: usize = number(1).unwrap_or(1_000_000);
    let count: usize = number(2).unwrap_or(1_000);
    let directory = tempfile::tempdir().expect("a directory");
    let (tail, progress) = (Tail::default(), Arc::new(LogProgress::default()));
    let config = Config {
        readers: 1,
        ..Config::default()
    };
    let of = Partition {
        id: 1,
        directory: directory.path(),
        cluster: "search",
        definitions: vec![],
        metrics: Default::default(),
        elsewhere: false,
    };
    let store = Store::open(of, config, tail.clone(), progress.clone());
    let store = store.expect("a store");
    fill(&store, &tail, &progress, instances);
    pages(&store, count);
    let step = (instances / count).max(1);
    measure(&store, "by the value of a variable", count, |n| {
        let order = n * step % instances;
        page(&format!(
            r#"{{"filter":{{"variables":[{{"name":"orderId","value":"\"A-{order}\""}}]}}}}"#
        ))
    });
    by_key(&store, count);
    // What was written last lies beside the file until the end.
    store.stop();
    let file = std::fs::metadata(directory.path().join("query.sqlite"));
    let bytes = file.map_or(0, |file| file.len());
    println!(
        "{instances} instances, {} MiB, {:.0} bytes per instance",
        bytes >> 20,
        bytes as f64 / instances as f64
    );
}
