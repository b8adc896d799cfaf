//! Random worlds, and worlds with deliberate mistakes.

use std::sync::Mutex;

use super::Mutation;
use super::tally::Tally;
use super::world::World;

fn run(seed: u64, mutation: Mutation, all: &Mutex<Tally>) {
    live(World::new(seed, mutation), all);
}

/// A world in which correlation keys move most of the time.
fn run_moving(seed: u64, mutation: Mutation, all: &Mutex<Tally>) {
    let mut world = World::new(seed, mutation);
    world.operators.growth.moves_on = true;
    live(world, all);
}

fn live(mut world: World, all: &Mutex<Tally>) {
    world.run_for(1_500_000);
    world.heal_and_check();
    all.lock().unwrap().add_all(&world.tally);
}

#[test]
fn work_that_is_spread_over_partitions_is_done_once_whatever_happens() {
    let tally = Mutex::default();
    let worlds = match std::env::var_os("CI") {
        Some(_) => 200,
        None => 6,
    };
    let seeds = skep_sim::chosen(worlds);
    let failed = skep_sim::search(&seeds, |seed| run(seed, Mutation::None, &tally));
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let seeds = seeds.len() as u64;
    let tally: Tally = tally.into_inner().unwrap();
    println!("{seeds} seeds: {tally:?}");
    if seeds == 1 {
        return;
    }
    let happened = |what: &[&str], least: u64| {
        for what in what {
            assert!(tally.of(what) > least, "too few {what}: {tally:?}");
        }
    };
    happened(&["across", "created", "ended", "completed"], 15 * seeds);
    let asked = [
        "deployed",
        "paid",
        "pinged",
        "began",
        "counted",
        "looked",
        "signalled",
        "pushed",
        "permitted",
        "forbidden",
        "searches",
        "announced streams",
        "confirmed by the asker",
    ];
    happened(&asked, 2 * seeds);
    if seeds > 20 {
        happened(&["crashes", "deaths", "step-downs", "held"], seeds / 2);
        let faults = [
            "pauses",
            "clock jumps",
            "slow disks",
            "hanging flushes",
            "hanging threads",
            "isolated",
            "cancelled",
            "correlated",
            "checkpoints",
            "hibernates",
            "grown",
            "relocated",
            "yielded",
            "purges",
        ];
        happened(&faults, seeds / 8);
    }
}

/// The checks find each of these mistakes, otherwise they could not be trusted to find others.
#[test]
fn the_checks_catch_partitions_that_work_together_wrongly() {
    for mutation in [
        Mutation::RepeatsLookNew,
        Mutation::SendsBeforeCommit,
        Mutation::RetryByWallClock,
        Mutation::NeverRepeated,
        Mutation::AcknowledgedOnArrival,
        Mutation::RightsAcknowledgedOnArrival,
        Mutation::OnePartitionChecksNothing,
        Mutation::LeaderOfLocalHandle,
        Mutation::ReplicaDiesNodeLives,
        Mutation::HungReplicaLooksAlive,
        Mutation::ReadsBelowWhatWasRead,
        Mutation::StreamsToldOnce,
        Mutation::HangCountsAsFlushed,
        Mutation::FlushHangs,
        Mutation::WorkBeforeState,
        Mutation::AnyReturnCounts,
        Mutation::OldCommandsCount,
    ] {
        let seeds: Vec<u64> = (1..=100).collect();
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation, &Mutex::default()));
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}

#[test]
fn work_goes_on_while_correlation_keys_move_all_the_time() {
    let tally = Mutex::default();
    let worlds = match std::env::var_os("CI") {
        Some(_) => 15,
        None => 4,
    };
    let seeds = skep_sim::chosen(worlds);
    let failed = skep_sim::search(&seeds, |seed| run_moving(seed, Mutation::None, &tally));
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let tally: Tally = tally.into_inner().unwrap();
    println!("{} seeds: {tally:?}", seeds.len());
    if seeds.len() > 1 {
        for what in ["relocated", "sent on"] {
            assert!(
                tally.of(what) > seeds.len() as u64,
                "too few {what}: {tally:?}"
            );
        }
    }
}

#[test]
fn the_checks_catch_slots_that_move_wrongly() {
    for mutation in [Mutation::TakenOnArrival, Mutation::EndsUnheard] {
        let seeds: Vec<u64> = (1..=100).collect();
        let caught = skep_sim::search(&seeds, |seed| {
            run_moving(seed, mutation, &Mutex::default());
        });
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
