//! What merging a partition into another one would cost (ADR 29): the rows of its live instances leave, and another partition takes them
//! over. Meanwhile nobody can work on these instances.
//!
//! `cargo run --release -p skep-engine --example merging [INSTANCES [BYTES]]`: by default 100,000 one-task instances with the variables of
//! an order, plus BYTES of text each. It takes less than a minute, and writes to the directory for temporary files (`TMPDIR`), which should
//! be on the disk of a server. The exit code is 1 if a limit is exceeded.
//!
//! Rows are encoded and handed out in chunks of 1 MiB, as a merge would do, and each chunk is flushed, as the log of the other partition
//! would do. Taking over stands in for code that does not exist: the other engine applies the events by which as many instances began.
//! These change each row more than once, so inserting rows would take less time. Network, replication and the reading of rows that are
//! not in memory are left out.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // It measures time and writes a file; the engine does neither.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_engine::state::table::EmptyStore;
use skep_engine::state::{CheckpointWriter, Counters, Row, State};
use skep_engine::{Engine, EngineConfig, NoStreams};
use skep_sim::one_task::{PROCESS, VARIABLES, cpu_time, creation, deployment, engine};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of rows that leave in one turn.
const CHUNK: usize = 1 << 20;
/// Records of a batch of the log.
const BATCH: usize = 500;
/// Beside the work of its own clients, the other partition spends at most this share of its turns on the rows, and takes at most so many
/// bytes per second.
const SHARE: f64 = 0.2;
const PACE: f64 = 16.0 * MIB;
const MIB: f64 = 1_048_576.0;

/// More than this many bytes of rows are not to be merged.
const MOST_BYTES: f64 = 64.0 * MIB;
/// Maximum time in which nobody can work on an instance.
const MOST_FROZEN: Duration = Duration::from_secs(5);
/// Maximum duration of a turn: a partition does nothing else meanwhile.
const LONGEST_TURN: Duration = Duration::from_millis(50);

/// Rows that leave together.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    rows: usize,
    turn: Duration,
}

/// Encoded rows, in chunks.
struct Leaving {
    chunks: Vec<Chunk>,
    current: Chunk,
    since: Duration,
}

impl Leaving {
    fn begin() -> Leaving {
        Leaving {
            chunks: Vec::new(),
            current: Chunk::default(),
            since: cpu_time(),
        }
    }

    fn cut(&mut self) {
        self.current.turn = cpu_time() - self.since;
        self.chunks.push(std::mem::take(&mut self.current));
        self.since = cpu_time();
    }
}

impl CheckpointWriter for Leaving {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        let bytes = &mut self.current.bytes;
        bytes.push(table);
        for part in [key, row.as_slice()] {
            bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        self.current.rows += 1;
        if self.current.bytes.len() >= CHUNK {
            self.cut();
        }
    }

    /// Rows that have gone already do not move.
    fn delete(&mut self, _table: u8, _key: &[u8]) {}
}

/// How long each of several turns took.
struct Turns {
    total: Duration,
    longest: Duration,
}

fn turns(times: impl Iterator<Item = Duration>) -> Turns {
    let mut turns = Turns {
        total: Duration::ZERO,
        longest: Duration::ZERO,
    };
    for time in times {
        turns.total += time;
        turns.longest = turns.longest.max(time);
    }
    turns
}

/// A partition with this many live instances, and its log.
fn filled(instances: usize, bytes: usize) -> (Engine, Vec<Vec<u8>>) {
    let mut engine = engine();
    engine.process(0, None, &deployment(PROCESS), &mut NoStreams);
    let mut log = Vec::new();
    log.extend(engine.take_batch().0);
    let order = VARIABLES.trim_end_matches('}');
    let text = "x".repeat(bytes);
    let create = creation(PROCESS, &format!("{order},\"text\":\"{text}\"}}"));
    for _ in 0..instances {
        engine.process(1, None, &create, &mut NoStreams);
        if engine.batch_len() > BATCH {
            log.extend(engine.take_batch().0);
        }
    }
    log.extend(engine.take_batch().0);
    (engine, log)
}

/// The partition that takes the instances over.
fn heir() -> Engine {
    let state = State::open(2, Arc::new(EmptyStore)).expect("an empty store opens");
    let config = EngineConfig {
        partition: 2,
        ..EngineConfig::default()
    };
    Engine::new(config, state, 1)
}

/// Appends each chunk to a file and flushes it.
fn flushed(chunks: &[Chunk]) -> Turns {
    let path = std::env::temp_dir().join(format!("skep-merging-{}", std::process::id()));
    let mut file = File::create(&path).expect("a file");
    let times = turns(chunks.iter().map(|chunk| {
        let started = Instant::now();
        file.write_all(&chunk.bytes).expect("the file is written");
        file.sync_data().expect("the file is flushed");
        started.elapsed()
    }));
    std::fs::remove_file(path).expect("the file is removed");
    times
}

/// All rows but the counters, which each partition has for itself.
fn expect_same_rows(one: &Engine, other: &Engine) {
    let rows = |engine: &Engine| {
        let mut rows = engine.state.dump();
        rows.retain(|(table, _), _| *table != Counters::TABLE);
        rows
    };
    assert!(
        rows(one) == rows(other),
        "the other partition has the same rows"
    );
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: usize| {
        let given = arguments.next();
        given.map_or(usual, |it| it.parse().expect("a number"))
    };
    let (instances, bytes) = (number(100_000), number(0));
    let (mut engine, log) = filled(instances, bytes);

    let mut leaving = Leaving::begin();
    engine.state.checkpoint(&mut leaving);
    leaving.cut();
    let chunks = leaving.chunks;
    let leave = turns(chunks.iter().map(|chunk| chunk.turn));
    let flush = flushed(&chunks);

    let mut heir = heir();
    let of_chunk = log.len().div_ceil(chunks.len()).max(1);
    let take = turns(log.chunks(of_chunk).map(|batches| {
        let begin = cpu_time();
        for batch in batches {
            heir.apply(batch).expect("the log replays");
        }
        cpu_time() - begin
    }));
    expect_same_rows(&engine, &heir);

    let rows: usize = chunks.iter().map(|chunk| chunk.rows).sum();
    let size: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    println!(
        "{instances} instances: {rows} rows, {:.1} MiB, {} chunks",
        size as f64 / MIB,
        chunks.len()
    );
    for (name, turns) in [("leave", &leave), ("flush", &flush), ("take over", &take)] {
        let longest = turns.longest.as_secs_f64() * 1e3;
        let total = turns.total.as_secs_f64();
        println!("{name:12} {total:7.2} s   longest {longest:6.1} ms");
    }
    judged(size as f64, &leave, &flush, &take)
}

fn judged(bytes: f64, leave: &Turns, flush: &Turns, take: &Turns) -> ExitCode {
    let alone = leave.total + flush.total + take.total;
    let shared = take.total.div_f64(SHARE);
    let paced = Duration::from_secs_f64(bytes / PACE);
    let frozen = alone.max(shared).max(paced);
    println!(
        "frozen       {:7.2} s   {:.2} s if the other partition does nothing else",
        frozen.as_secs_f64(),
        alone.as_secs_f64()
    );
    let longest = leave.longest.max(take.longest);
    let mut held = true;
    for (limit, holds) in [
        ("at most 64 MiB of rows", bytes <= MOST_BYTES),
        ("frozen for at most 5 s", frozen <= MOST_FROZEN),
        ("no turn takes more than 50 ms", longest <= LONGEST_TURN),
    ] {
        println!("{limit:32} {}", if holds { "HELD" } else { "REFUTED" });
        held &= holds;
    }
    if held {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
