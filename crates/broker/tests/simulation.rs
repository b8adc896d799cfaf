//! Partitions replicated on three nodes in a simulated world. The checks of `sim/` run after every step.
//!
//! `SKEP_SIM_SEEDS=1000 cargo test -p skep-broker --test simulation` tries more seeds; `SKEP_SIM_SEED=17` runs one.

mod sim;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sim::Mutation;
use sim::world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What runs did, so that a test can tell that they did something.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    acknowledged: u64,
    pushed: u64,
    remote: u64,
    restarts: u64,
    rebuilds: u64,
    checkpoints: u64,
    compactions: u64,
    installs: u64,
    panics: u64,
}

fn run(seed: u64, mutation: Mutation, tally: &Mutex<Tally>) {
    let mut world = World::new(seed, mutation);
    world.run_until(2_000_000);
    world.heal_and_check();
    let mut tally = tally.lock().unwrap();
    tally.acknowledged += world.clients.acknowledged;
    tally.pushed += world.clients.pushed;
    tally.remote += world.clients.remote;
    tally.restarts += world.restarts;
    for node in world.nodes.values() {
        tally.rebuilds += node.rebuilds;
        tally.checkpoints += node.checkpoints;
        tally.compactions += node.compactions;
        tally.installs += node.installs;
        tally.panics += node.panics;
    }
}

/// Runs seeds on all cores; returns a seed that failed, with the reason.
fn search(count: u64, mutation: Mutation, tally: &Mutex<Tally>) -> Option<(u64, String)> {
    let next = AtomicU64::new(1);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > count {
                        return;
                    }
                    if let Err(panic) =
                        catch_unwind(AssertUnwindSafe(|| run(seed, mutation, tally)))
                    {
                        next.store(count + 1, Ordering::Relaxed);
                        let text = panic.downcast_ref::<String>().cloned();
                        let text = text.or_else(|| {
                            panic.downcast_ref::<&str>().map(|text| (*text).to_owned())
                        });
                        *failure.lock().unwrap() = Some((seed, text.unwrap_or_default()));
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap()
}

#[test]
fn replicated_partitions_stay_correct_whatever_happens_and_make_progress_when_it_ends() {
    let tally = Mutex::default();
    if let Some(seed) = number("SKEP_SIM_SEED") {
        run(seed, Mutation::None, &tally);
        println!("{tally:?}");
        return;
    }
    let seeds = number("SKEP_SIM_SEEDS").unwrap_or(8);
    if let Some((seed, reason)) = search(seeds, Mutation::None, &tally) {
        panic!("seed {seed} failed (repeat it with SKEP_SIM_SEED={seed}): {reason}");
    }
    let tally = tally.into_inner().unwrap();
    println!("{seeds} seeds: {tally:?}");
    assert!(
        tally.acknowledged > 30 * seeds && tally.pushed > seeds && tally.remote > seeds,
        "{tally:?}"
    );
    assert!(
        tally.restarts > seeds / 2 && tally.rebuilds > seeds / 2 && tally.checkpoints > seeds,
        "{tally:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = || {
        let mut world = World::new(42, Mutation::None);
        world.run_until(700_000);
        (
            world.oracle.acknowledged.clone(),
            world.random.below(u64::MAX),
        )
    };
    let first = digest();
    assert!(first.0.len() > 10);
    assert_eq!(first, digest());
}

/// The checks find each of these mistakes, or they could not be trusted to find others.
#[test]
fn the_checks_catch_partitions_that_are_driven_wrongly() {
    for mutation in [
        Mutation::PersistedBeforeFlush,
        Mutation::EffectBeforeCommit,
        Mutation::RebuildWithoutLog,
        Mutation::SpeculativeCheckpoint,
        Mutation::SnapshotWithoutState,
    ] {
        let caught = search(200, mutation, &Mutex::default());
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
