//! Groups of three in a simulated world. The checks of `sim/oracle.rs` run after every step.
//!
//! `SKEP_SIM_SEEDS=10000 cargo test -p skep-replication --test simulation` tries more seeds; `SKEP_SIM_SEED=17` runs one.

mod sim;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use sim::Mutation;
use sim::world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a run did, so that a test can tell that it did something.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: AtomicU64,
    snapshots: AtomicU64,
    restarts: AtomicU64,
    transfers: AtomicU64,
}

fn run(seed: u64, mutation: Mutation, tally: &Tally) {
    let mut world = World::new(seed, mutation);
    world.run_until(2_500_000);
    world.heal_and_check_progress();
    let add = |counter: &AtomicU64, value: u64| counter.fetch_add(value, Ordering::Relaxed);
    add(&tally.acknowledged, world.oracle.acknowledged.len() as u64);
    add(&tally.snapshots, world.snapshots);
    add(&tally.restarts, world.restarts);
    add(&tally.transfers, world.transfers);
}

/// Runs seeds on all cores; returns the first seed that failed, with the reason.
fn search(first: u64, count: u64, mutation: Mutation, tally: &Tally) -> Option<(u64, String)> {
    let next = AtomicU64::new(first);
    let end = first + count;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= end {
                            return None;
                        }
                        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, mutation, tally)));
                        if let Err(panic) = outcome {
                            next.store(end, Ordering::Relaxed);
                            let text = panic.downcast_ref::<String>().cloned();
                            let text = text.or_else(|| {
                                panic.downcast_ref::<&str>().map(|text| (*text).to_owned())
                            });
                            return Some((seed, text.unwrap_or_default()));
                        }
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().unwrap())
            .min()
    })
}

#[test]
fn groups_of_three_stay_correct_whatever_happens_and_make_progress_when_it_ends() {
    let tally = Tally::default();
    if let Some(seed) = number("SKEP_SIM_SEED") {
        run(seed, Mutation::None, &tally);
        println!("{tally:?}");
        return;
    }
    let seeds = number("SKEP_SIM_SEEDS").unwrap_or(120);
    if let Some((seed, reason)) = search(1, seeds, Mutation::None, &tally) {
        panic!("seed {seed} failed (repeat it with SKEP_SIM_SEED={seed}): {reason}");
    }
    println!("{seeds} seeds: {tally:?}");
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert!(count(&tally.acknowledged) > 50 * seeds, "{tally:?}");
    assert!(
        count(&tally.snapshots) > seeds
            && count(&tally.restarts) > seeds
            && count(&tally.transfers) > seeds / 2
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = || {
        let mut world = World::new(42, Mutation::None);
        world.run_until(2_000_000);
        (
            world.oracle.acknowledged.clone(),
            world.random.below(u64::MAX),
        )
    };
    let first = digest();
    assert!(first.0.len() > 50);
    assert_eq!(first, digest());
}

/// The checks find each of these mistakes, or they could not be trusted to find others.
#[test]
fn the_checks_catch_nodes_that_are_built_wrongly() {
    for mutation in [
        Mutation::PersistedBeforeFlush,
        Mutation::EffectBeforeCommit,
        Mutation::KeepSpeculation,
        Mutation::ForgetVote,
        Mutation::IgnoreReplacement,
        Mutation::SpeculativeCheckpoint,
    ] {
        let caught = search(1, 2000, mutation, &Tally::default());
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
