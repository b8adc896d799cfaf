//! Costs of the disk: append latency for fresh and recycled segments, LZ4, opening times, memory.
//!
//! `cargo run --release -p skep-storage --example figures`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bytes::Bytes;
use skep_random::Random;
use skep_storage::disk::RealDisk;
use skep_storage::kv::{FjallConfig, FjallKv, KvBatch, KvStore};
use skep_storage::log::{Frame, Log, LogConfig};

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Bytes like a batch of records: JSON text with changing numbers.
fn payload(size: usize, seed: u64) -> Bytes {
    let mut text = String::with_capacity(size + 100);
    let mut random = Random(seed);
    while text.len() < size {
        let number = random.next_u64();
        text.push_str(&format!(
            "{{\"key\":{},\"order\":\"{:x}\",\"total\":{}}}",
            number >> 20,
            number,
            number >> 50
        ));
    }
    text.truncate(size);
    text.into()
}

/// Appends for four seconds, one after the other; `ahead`: another thread prepares the next segment.
fn appends(name: &str, size: usize, config: &LogConfig, ahead: bool) {
    let directory = tempfile::tempdir_in(".").expect("directory");
    let (mut log, _) =
        Log::open(Arc::new(RealDisk), directory.path(), config.clone()).expect("open");
    let mut write = Vec::new();
    let mut sync = Vec::new();
    let mut bytes = 0;
    let started = Instant::now();
    let mut index = 0;
    let mut preparing: Option<std::thread::JoinHandle<bool>> = None;
    while started.elapsed() < Duration::from_secs(4) {
        index += 1;
        if let Some(made) = preparing.take_if(|thread| thread.is_finished()) {
            log.prepared(made.join().expect("no panic"));
        }
        if ahead
            && preparing.is_none()
            && let Some(preparation) = log.preparation()
        {
            let run = move || preparation.run(&AtomicBool::new(false)).expect("room");
            preparing = Some(std::thread::spawn(run));
        }
        let frame = Frame::Entry {
            index,
            term: 1,
            tag: 0,
            payload: payload(size, index),
        };
        let times = log.append(&[frame]).expect("append");
        if index % 500 == 0 && !ahead && config.segment_bytes < 64 << 20 {
            log.compact(index - 10, 1).expect("compact");
        }
        write.push(times.write);
        sync.push(times.sync);
        bytes += times.bytes;
    }
    write.sort_unstable();
    sync.sort_unstable();
    let at = |list: &[Duration], thousandth: usize| list[(list.len() - 1) * thousandth / 1000];
    println!(
        "{name:24} {size:6} B, {} flushes: write p50 {:?} p99 {:?}, flush p50 {:?} p99 {:?} p99.9 {:?}, {:.2} of the payload \
         written",
        sync.len(),
        at(&write, 500),
        at(&write, 990),
        at(&sync, 500),
        at(&sync, 990),
        at(&sync, 999),
        bytes as f64 / (size as u64 * index) as f64,
    );
}

fn main() {
    let small = |compress_from| LogConfig {
        segment_bytes: 4 << 20,
        compress_from,
        ..LogConfig::default()
    };
    let large = || LogConfig {
        compress_from: u64::MAX,
        ..LogConfig::default()
    };
    for size in [1024, 16 * 1024, 128 * 1024] {
        appends("grown by 1 MiB", size, &large(), false);
        appends("written ahead", size, &large(), true);
        appends("recycled 4 MiB segments", size, &small(u64::MAX), false);
        appends("recycled, LZ4", size, &small(0), false);
    }

    let directory = tempfile::tempdir_in(".").expect("directory");
    let before = resident_mib();
    let started = Instant::now();
    let (mut log, _) = Log::open(
        Arc::new(RealDisk),
        directory.path().join("log"),
        LogConfig::default(),
    )
    .expect("open");
    let opened_log = started.elapsed();
    let mut kv = FjallKv::open(directory.path().join("kv"), FjallConfig::default()).expect("open");
    println!(
        "empty: log opened in {opened_log:?}, log and store in {:?}, {:.1} MiB more resident",
        started.elapsed(),
        resident_mib() - before
    );

    let large = payload(8192, 1);
    let mut frames = Vec::new();
    for index in 1..=12_000_u64 {
        let frame = Frame::Entry {
            index,
            term: 1,
            tag: 0,
            payload: large.clone(),
        };
        frames.push(frame);
        if frames.len() == 100 {
            log.append(&frames).expect("append");
            frames.clear();
        }
    }
    drop(log);
    let started = Instant::now();
    let (log, _) = Log::open(
        Arc::new(RealDisk),
        directory.path().join("log"),
        LogConfig::default(),
    )
    .expect("open");
    println!(
        "log of {} MiB opened in {:?}",
        log.disk_bytes() >> 20,
        started.elapsed()
    );

    for round in 0..20_u64 {
        let mut batch = KvBatch::new();
        for row in 0..20_000_u64 {
            batch.put(1, (round * 20_000 + row).to_be_bytes(), payload(200, row));
        }
        batch.set_meta(round.to_be_bytes());
        let started = Instant::now();
        kv.commit(batch).expect("commit");
        if round % 5 == 4 {
            println!("commit of 20 000 rows of 200 B: {:?}", started.elapsed());
        }
    }
    println!(
        "store of {} MiB, {:.1} MiB resident",
        kv.disk_bytes() >> 20,
        resident_mib()
    );
    drop(kv);
    let started = Instant::now();
    drop(FjallKv::open(directory.path().join("kv"), FjallConfig::default()).expect("open"));
    println!("store opened again in {:?}", started.elapsed());
}
