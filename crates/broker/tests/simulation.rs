//! Partitions replicated on three nodes in a simulated world. The checks of `sim/` run after every step.
//!
//! A run of CI takes a million steps; elsewhere there are fewer worlds.
//! `SKEP_SEEDS=1000 cargo test -p skep-broker --test simulation` tries more seeds; `SKEP_SEED=17` runs one.

mod sim;

use std::sync::Mutex;

use sim::Mutation;
use sim::tally::Tally;
use sim::world::{Kind, World};

fn run(seed: u64, mutation: Mutation, tally: &Mutex<Tally>) {
    live(World::new(seed, mutation), tally);
}

fn live(mut world: World, all: &Mutex<Tally>) {
    world.run_until(2_000_000);
    world.heal_and_check();
    all.lock().unwrap().add(&world.tally);
}

#[test]
fn replicated_partitions_stay_correct_whatever_happens_and_make_progress_when_it_ends() {
    let tally = Mutex::default();
    let worlds = match std::env::var_os("CI") {
        Some(_) => 200,
        None => 8,
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
        let changes = [
            tally.changes,
            tally.joined,
            tally.given_up,
            tally.hibernates,
        ];
        assert!(changes.iter().all(|count| *count > seeds / 2), "{tally:?}");
        assert!(tally.cancelled > seeds / 16, "{tally:?}");
        assert!(tally.lost_disks > seeds / 60, "{tally:?}");
        assert!(tally.steps > 1_000_000, "{tally:?}");
    }
    assert!(
        tally.restarts > seeds / 2 && tally.step_downs > seeds / 2 && tally.checkpoints > seeds / 2,
        "{tally:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = || {
        let mut world = World::new(7, Mutation::None);
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

/// The checks find each of these mistakes, otherwise they could not be trusted to find others.
#[test]
fn the_checks_catch_partitions_that_are_driven_wrongly() {
    for mutation in [
        Mutation::PersistedBeforeFlush,
        Mutation::EffectBeforeCommit,
        Mutation::StepDownWithoutUndo,
        Mutation::RebuildWithoutLog,
        Mutation::SpeculativeCheckpoint,
        Mutation::SnapshotWithoutState,
        Mutation::PublishesProposals,
    ] {
        let seeds: Vec<u64> = (1..=200).collect();
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation, &Mutex::default()));
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}

/// The same for the code that changes the cluster.
#[test]
fn the_checks_catch_a_cluster_that_changes_wrongly() {
    let kind = Kind {
        changes: true,
        ..Kind::default()
    };
    for mutation in [
        Mutation::ChangesEarly,
        Mutation::RemovedStillCounts,
        Mutation::GivesUpEarly,
    ] {
        let seeds: Vec<u64> = (1..=100).collect();
        let run = |seed| live(World::of(kind, seed, mutation), &Mutex::default());
        let caught = skep_sim::search(&seeds, run);
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
