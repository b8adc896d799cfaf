//! The engine alone, one thread, no IO: one-task instances per second, bytes of log and allocations per instance, and the speed of replay
//! and of recovery, which skips whatever begins and ends within one window of the log.
//!
//! Processing and replay alternate, so that both see the same machine. They are timed by the CPU time of the thread, so that other work on
//! the machine does not count.
//!
//! `cargo run --release -p skep-engine --example throughput [INSTANCES [UNCOMMITTED]]`. With a number of uncommitted batches the engine
//! keeps the undo information of a leader that may have to revert them.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mimalloc::MiMalloc;
use skep_engine::state::State;
use skep_engine::state::table::EmptyStore;
use skep_engine::{Engine, EngineConfig};
use skep_protocol::Key;
use skep_sim::one_task::{
    self, PROCESS, VARIABLES, Worker, completion, cpu_time, creation, deployment,
};

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[allow(unsafe_code)] // A counting allocator cannot be written without.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { MiMalloc.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { MiMalloc.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Instances processed before the follower replays their batches.
const ROUND: usize = 6400;

/// Bytes of log that recovery applies in one go, as in the broker.
const WINDOW_BYTES: usize = 4 << 20;

/// An engine as recovery opens it.
fn follower() -> Engine {
    let state = State::open_to_replay(1, Arc::new(EmptyStore)).expect("an empty store opens");
    Engine::new(EngineConfig::default(), state, 1)
}

/// The parts of a log that recovery applies in one go.
fn windows(log: &[Vec<u8>]) -> impl Iterator<Item = &[Vec<u8>]> {
    let mut rest = log;
    std::iter::from_fn(move || {
        let mut room = WINDOW_BYTES;
        let fits = rest.iter().take_while(|batch| {
            let has_room = room > 0;
            room = room.saturating_sub(batch.len());
            has_room
        });
        let (window, after) = rest.split_at(fits.count());
        rest = after;
        (!window.is_empty()).then_some(window)
    })
}

fn main() {
    let instances: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(300_000);
    let mut worker = Worker::default();
    let mut engine = one_task::engine();
    let uncommitted: Option<usize> = std::env::args().nth(2).and_then(|n| n.parse().ok());
    engine.keep_undo(uncommitted.is_some());
    engine.process(0, Some(0), &deployment(PROCESS), &mut worker);
    let mut follower = self::follower();
    let (batch, effects) = engine.take_batch();
    assert!(effects.responses[0].1.is_ok(), "{effects:?}");
    let batch = batch.expect("a deployment has records");
    follower.apply(&batch).expect("the log replays");
    let mut recovering = self::follower();
    recovering.apply(&batch).expect("the log replays");

    let create = creation(PROCESS, VARIABLES);
    let (mut bytes, mut records, mut allocations, mut done) = (0, 0, 0, 0);
    let (mut processing, mut replay) = (Duration::ZERO, Duration::ZERO);
    let (mut recovery, mut passed) = (Duration::ZERO, 0);
    let mut waiting: Vec<Key> = Vec::new();
    let mut log = Vec::new();
    let mut in_flight = VecDeque::new();
    while done < instances {
        let allocated = ALLOCATIONS.load(Ordering::Relaxed);
        let started = cpu_time();
        for _ in 0..ROUND / 64 {
            for key in waiting.drain(..) {
                engine.process(1, Some(1), &completion(key), &mut worker);
                done += 1;
            }
            for _ in 0..64 {
                engine.process(1, Some(2), &create, &mut worker);
            }
            records += engine.batch_len();
            let (batch, effects) = engine.take_batch();
            waiting.extend(effects.pushes.iter().map(|(_, job)| job.key));
            log.extend(batch);
            in_flight.push_back(engine.next_position());
            if in_flight.len() > uncommitted.unwrap_or(0)
                && let Some(position) = in_flight.pop_front()
            {
                engine.settle(position);
            }
        }
        processing += cpu_time() - started;
        allocations += ALLOCATIONS.load(Ordering::Relaxed) - allocated;

        let started = cpu_time();
        for batch in &log {
            follower.apply(batch).expect("the log replays");
        }
        replay += cpu_time() - started;

        let started = cpu_time();
        for window in windows(&log) {
            let batches: Vec<&[u8]> = window.iter().map(|batch| &batch[..]).collect();
            passed += recovering.apply_window(&batches).expect("the log replays");
        }
        recovery += cpu_time() - started;
        bytes += log.drain(..).map(|batch| batch.len()).sum::<usize>();
    }
    let started = cpu_time();
    follower.promote().expect("the indices are built");
    replay += cpu_time() - started;
    let started = cpu_time();
    recovering.promote().expect("the indices are built");
    recovery += cpu_time() - started;
    for other in [&follower, &recovering] {
        assert!(
            other.state.dump() == engine.state.dump(),
            "replay gives the same state"
        );
    }

    let per = |n: f64| n / done as f64;
    let rate = |time: Duration| done as f64 / time.as_secs_f64();
    println!("instances             {done}");
    println!("processing            {:.0} instances/s", rate(processing));
    println!("replay                {:.0} instances/s", rate(replay));
    println!(
        "replay / processing   {:.1}",
        processing.as_secs_f64() / replay.as_secs_f64()
    );
    println!(
        "recovery              {:.0} instances/s, {:.1} % of them passed over",
        rate(recovery),
        100.0 * per(passed as f64)
    );
    println!(
        "recovery / processing {:.1}",
        processing.as_secs_f64() / recovery.as_secs_f64()
    );
    println!("records per instance  {:.1}", per(records as f64));
    println!(
        "log bytes             {:.0} per instance",
        per(bytes as f64)
    );
    println!(
        "allocations           {:.1} per instance",
        per(allocations as f64)
    );
}
