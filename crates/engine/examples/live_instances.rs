//! State at scale: a million live one-task instances are created, written to a store at a checkpoint, evicted from memory,
//! recovered, and read back row by row. Time and memory of each step.
//!
//! `cargo run --release -p skep-engine --example live_instances [INSTANCES]`
//!
//! The store is a file of rows with an in-memory index that stands in for the key-value store's own; its size is reported separately.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // It measures time and writes a file; the engine does neither.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use skep_engine::state::{CheckpointWriter, RowStore, State, StoreError};
use skep_engine::{Engine, EngineConfig, NoStreams};
use skep_protocol::{Key, TenantId};
use skep_sim::one_task::{self, PROCESS, VARIABLES, completion, creation, deployment};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Index = HashMap<(u8, [u8; 8]), (u64, u32)>;
/// Rows with non-numeric keys.
type Others = Vec<(u8, Vec<u8>, Vec<u8>)>;

/// Rows in a file, found by key.
struct FileStore {
    file: File,
    index: Mutex<Index>,
    others: Mutex<Others>,
}

struct Writer<'a> {
    out: BufWriter<&'a File>,
    at: u64,
    index: Index,
    others: Others,
}

impl Writer<'_> {
    fn finish(mut self) -> (u64, Index, Others) {
        self.out.flush().expect("the store is written");
        (self.at, self.index, self.others)
    }
}

impl CheckpointWriter for Writer<'_> {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        match <[u8; 8]>::try_from(key) {
            Ok(key) => {
                self.out.write_all(&row).expect("the store is written");
                self.index.insert((table, key), (self.at, row.len() as u32));
                self.at += row.len() as u64;
            }
            Err(_) => self.others.push((table, key.to_vec(), row)),
        }
    }
    fn delete(&mut self, table: u8, key: &[u8]) {
        if let Ok(key) = key.try_into() {
            self.index.remove(&(table, key));
        }
    }
}

impl FileStore {
    fn read(&self, at: u64, len: u32) -> Result<Vec<u8>, StoreError> {
        let mut row = vec![0; len as usize];
        let read = self.file.read_exact_at(&mut row, at);
        read.map_err(|e| StoreError(e.to_string()))?;
        Ok(row)
    }
}

impl RowStore for FileStore {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Ok(key) = <[u8; 8]>::try_from(key) else {
            return Ok(None);
        };
        let found = self
            .index
            .lock()
            .expect("one thread")
            .get(&(table, key))
            .copied();
        found.map(|(at, len)| self.read(at, len)).transpose()
    }

    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for (t, key, row) in self.others.lock().expect("one thread").iter() {
            if *t == table {
                visit(key, row)?;
            }
        }
        let mut rows: Vec<_> = {
            let index = self.index.lock().expect("one thread");
            let of_table = index.iter().filter(|((t, _), _)| *t == table);
            of_table.map(|((_, key), place)| (*key, *place)).collect()
        };
        rows.sort_unstable();
        for (key, (at, len)) in rows {
            visit(&key, &self.read(at, len)?)?;
        }
        Ok(())
    }
}

/// Resident memory of this process, MiB.
fn rss() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = statm
        .split(' ')
        .nth(1)
        .and_then(|p| p.parse().ok())
        .unwrap_or(0.0);
    pages * 4096.0 / 1048576.0
}

fn report(step: &str, started: Instant, count: usize) {
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{step:<28} {seconds:>7.2} s {:>10.0}/s   RSS {:>6.0} MiB",
        count as f64 / seconds,
        rss()
    );
}

fn waiting(state: &State) -> Vec<Key> {
    let tenant = TenantId::default();
    state.jobs.activatable("work", &tenant).collect()
}

fn main() {
    let count: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_000);
    let mut engine = one_task::engine();
    engine.process(0, None, &deployment(PROCESS), &mut NoStreams);
    let create = creation(PROCESS, VARIABLES);

    let started = Instant::now();
    for i in 0..count {
        engine.process(i as i64, None, &create, &mut NoStreams);
        if i % 64 == 63 {
            engine.take_batch();
        }
    }
    engine.take_batch();
    report("created, all in memory", started, count);
    println!(
        "  estimated row bytes        {:.0} MiB",
        engine.state.resident_bytes() as f64 / 1048576.0
    );

    let path = std::env::temp_dir().join(format!("skep-live-instances-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .expect("a file");
    let started = Instant::now();
    let mut writer = Writer {
        out: BufWriter::new(&file),
        at: 0,
        index: Index::new(),
        others: Vec::new(),
    };
    engine.state.checkpoint(&mut writer);
    let (at, index, others) = writer.finish();
    report("checkpoint written", started, count);
    println!(
        "  store                      {:.0} MiB, {} rows",
        at as f64 / 1048576.0,
        index.len()
    );
    let position = engine.next_position();
    drop(engine);
    let before = rss();
    let store = Arc::new(FileStore {
        file,
        index: Mutex::new(index),
        others: Mutex::new(others),
    });

    let started = Instant::now();
    let state = State::open(1, store.clone()).expect("the store opens");
    let mut engine = Engine::new(EngineConfig::default(), state, position);
    report("recovered from the store", started, count);
    println!("  before recovery            {before:.0} MiB (allocator and the index of the store)");

    let jobs = waiting(&engine.state);
    assert_eq!(jobs.len(), count, "every job waits");
    let cold = jobs.len().min(100_000);
    let started = Instant::now();
    for job in &jobs[..cold] {
        engine.process(1, None, &completion(*job), &mut NoStreams);
        if engine.batch_len() > 500 {
            engine.take_batch();
        }
    }
    engine.take_batch();
    report("completed cold instances", started, cold);

    let started = Instant::now();
    for job in &jobs[cold..] {
        engine.state.jobs.get(*job);
    }
    report("read all other jobs back", started, count - cold);
    let mut pending = Writer {
        out: BufWriter::new(&store.file),
        at,
        index: Index::new(),
        others: Vec::new(),
    };
    engine.state.checkpoint(&mut pending);
    drop(pending);
    let started = Instant::now();
    let evicted = engine.state.evict(64 << 20) + engine.state.evict(64 << 20);
    report("evicted down to 64 MiB", started, evicted);
    println!(
        "  estimated row bytes        {:.0} MiB",
        engine.state.resident_bytes() as f64 / 1048576.0
    );
    assert_eq!(engine.fault(), None);
    std::fs::remove_file(path).expect("the file is removed");
}
