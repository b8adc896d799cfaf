//! Partitions replicated on three nodes in a simulated world. The checks of `sim/` run after every step.
//!
//! A run of CI takes a million steps; elsewhere there are fewer worlds.
//! `SKEP_SEEDS=1000 cargo test -p skep-broker --test simulation` tries more seeds; `SKEP_SEED=17` runs one.

mod sim;

use std::sync::Mutex;

use sim::Mutation;
use sim::world::World;

/// What runs did, so that a test can tell that they did something.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    steps: u64,
    acknowledged: u64,
    pushed: u64,
    remote: u64,
    restarts: u64,
    rebuilds: u64,
    checkpoints: u64,
    compactions: u64,
    installs: u64,
    panics: u64,
    pauses: u64,
    clock_jumps: u64,
    slow_disks: u64,
    handed_out: u64,
}

fn run(seed: u64, mutation: Mutation, tally: &Mutex<Tally>) {
    let mut world = World::new(seed, mutation);
    world.run_until(2_000_000);
    world.heal_and_check();
    let mut tally = tally.lock().unwrap();
    tally.steps += world.steps();
    tally.pauses += world.pauses;
    tally.clock_jumps += world.clock_jumps;
    tally.slow_disks += world.slow_disks;
    tally.handed_out += world.jobs.handed_out;
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

#[test]
fn replicated_partitions_stay_correct_whatever_happens_and_make_progress_when_it_ends() {
    let tally = Mutex::default();
    let worlds = if std::env::var_os("CI").is_some() {
        160
    } else {
        8
    };
    let seeds = skep_sim::chosen(worlds);
    let failed = skep_sim::search(&seeds, |seed| run(seed, Mutation::None, &tally));
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let seeds = seeds.len() as u64;
    let tally = tally.into_inner().unwrap();
    println!("{seeds} seeds: {tally:?}");
    if seeds == 1 {
        return;
    }
    assert!(tally.steps > 5_000 * seeds, "{tally:?}");
    assert!(
        tally.acknowledged > 30 * seeds && tally.pushed > seeds && tally.remote > seeds,
        "{tally:?}"
    );
    if seeds > 100 {
        let kinds = [tally.pauses, tally.clock_jumps, tally.slow_disks];
        assert!(kinds.iter().all(|count| *count > seeds / 4), "{tally:?}");
        assert!(tally.steps > 1_000_000, "{tally:?}");
    }
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
        let seeds: Vec<u64> = (1..=200).collect();
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation, &Mutex::default()));
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
