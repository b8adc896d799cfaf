//! Groups of three in a simulated world. The checks of `skep_sim::oracle` run after every step.
//!
//! `SKEP_SEEDS=10000 cargo test -p skep-replication --test simulation` tries more seeds; `SKEP_SEED=17` runs one.

mod sim;

use std::sync::atomic::{AtomicU64, Ordering};

use sim::Mutation;
use sim::world::World;

/// Counters of a run, so that a test can verify that something happened.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: AtomicU64,
    snapshots: AtomicU64,
    restarts: AtomicU64,
    transfers: AtomicU64,
    changes: AtomicU64,
    lost_disks: AtomicU64,
    hung_disks: AtomicU64,
    hibernates: AtomicU64,
}

fn run(seed: u64, mutation: Mutation, tally: &Tally) {
    live(World::new(seed, mutation), tally);
}

fn live(mut world: World, tally: &Tally) {
    world.run_until(2_500_000);
    world.heal_and_check_progress();
    let add = |counter: &AtomicU64, value: u64| counter.fetch_add(value, Ordering::Relaxed);
    add(&tally.acknowledged, world.oracle.acknowledged.len() as u64);
    add(&tally.snapshots, world.snapshots);
    add(&tally.restarts, world.restarts);
    add(&tally.transfers, world.transfers);
    add(&tally.changes, world.changes);
    add(&tally.lost_disks, world.lost_disks);
    add(&tally.hung_disks, world.hung_disks);
    add(&tally.hibernates, world.hibernates);
}

#[test]
fn groups_of_three_stay_correct_whatever_happens_and_make_progress_when_it_ends() {
    let tally = Tally::default();
    let seeds = skep_sim::chosen(200);
    let failed = skep_sim::search(&seeds, |seed| run(seed, Mutation::None, &tally));
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let seeds = seeds.len() as u64;
    println!("{seeds} seeds: {tally:?}");
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    if seeds == 1 {
        return;
    }
    assert!(count(&tally.acknowledged) > 50 * seeds, "{tally:?}");
    assert!(
        count(&tally.snapshots) > seeds
            && count(&tally.restarts) > seeds
            && count(&tally.hibernates) > seeds
            && count(&tally.hung_disks) > seeds / 4
            && count(&tally.transfers) > seeds / 2
    );
}

#[test]
fn members_come_and_go_whatever_happens_and_nothing_is_lost() {
    let tally = Tally::default();
    let seeds = skep_sim::chosen(200);
    let run = |seed| live(World::with_changes(seed, Mutation::None), &tally);
    if let Some((seed, reason)) = skep_sim::search(&seeds, run) {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let seeds = seeds.len() as u64;
    println!("{seeds} seeds: {tally:?}");
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let enough = count(&tally.changes) > 2 * seeds && count(&tally.lost_disks) > seeds / 4;
    assert!(seeds == 1 || enough, "{tally:?}");
}

/// Election timeout in microseconds, as in `sim/node.rs`.
const ELECTION: u64 = 10 * sim::world::TICK;

/// The others wait as long as they hear it, so it has to announce that it steps down.
#[test]
fn a_leader_that_only_sends_steps_down_within_two_election_timeouts() {
    for seed in 1..=30 {
        let mut world = World::without_faults(seed, 2000);
        world.run_until(10 * ELECTION);
        let (_, deaf) = world.leader().expect("a leader");
        world.deafen(deaf);
        let cut = world.now();
        while world.leader().is_none_or(|(_, leader)| leader == deaf) {
            let passed = world.now() - cut;
            assert!(passed < 2 * ELECTION, "seed {seed}: nobody took over");
            world.run_until(world.now() + 1000);
        }
    }
}

/// Nothing is committed that a leader has not stored, and the others hear it: it has to announce that it steps down.
#[test]
fn a_leader_whose_flush_hangs_is_replaced_within_two_election_times() {
    for seed in 1..=30 {
        let mut world = World::without_faults(seed, 2000);
        world.run_until(10 * ELECTION);
        let (_, hung) = world.leader().expect("a leader");
        world.hang_disk(hung, 50 * ELECTION);
        let began = world.now();
        while world.leader().is_none_or(|(_, leader)| leader == hung) {
            let passed = world.now() - began;
            assert!(passed < 2 * ELECTION, "seed {seed}: nobody took over");
            world.run_for(1000);
        }
        let before = world.oracle.acknowledged.len();
        world.run_for(10 * ELECTION);
        let goes_on = world.oracle.acknowledged.len() > before;
        assert!(goes_on, "seed {seed}: nobody takes anything");
        assert_ne!(world.leader().map(|it| it.1), Some(hung), "seed {seed}");
    }
}

#[test]
fn a_leader_with_late_answers_keeps_leading() {
    for seed in 1..=5 {
        // The round trip takes nearly an election timeout.
        let mut world = World::without_faults(seed, ELECTION * 45 / 100);
        world.run_until(20 * ELECTION);
        let leader = world.leader().expect("a leader");
        world.run_until(60 * ELECTION);
        assert_eq!(world.leader(), Some(leader), "seed {seed}");
    }
}

/// Members that know of the end of the leader's process do not wait for an election timeout.
#[test]
fn a_leader_that_is_gone_is_replaced_at_once() {
    for seed in 1..=40 {
        let mut world = World::without_faults(seed, 2000);
        world.run_until(10 * ELECTION);
        let (_, leader) = world.leader().expect("a leader");
        world.crash(leader);
        // Messages sent before the crash arrive before the connections break.
        world.run_for(ELECTION / 10);
        for to in world.ids() {
            world.report_gone(leader, to);
        }
        // The first candidate may lack entries of the other one.
        world.run_for(ELECTION / 2);
        assert!(world.leader_but(leader).is_some(), "seed {seed}");
    }
}

/// Something in between may refuse connections, although the others hear the leader.
#[test]
fn a_false_report_of_a_lost_leader_does_not_unseat_it() {
    for seed in 1..=40 {
        let mut world = World::without_faults(seed, 2000);
        world.run_until(10 * ELECTION);
        let before = world.leader().expect("a leader");
        let follower = if before.1 == 1 { 2 } else { 1 };
        world.report_gone(before.1, follower);
        world.run_for(5 * ELECTION);
        assert_eq!(world.leader(), Some(before), "seed {seed}");
    }
}

/// Its removal was in transit when the previous leader crashed.
#[test]
fn a_member_that_leads_while_it_is_removed_gives_up() {
    let mut led = 0;
    for seed in 1..=40 {
        let mut world = World::without_faults(seed, 2000);
        world.run_until(10 * ELECTION);
        let (_, leader) = world.leader().expect("a leader");
        let gone = if leader == 1 { 2 } else { 1 };
        world.remove(leader, gone);
        world.run_for(seed * 200);
        world.crash(leader);
        for _ in 0..20 * ELECTION / 1000 {
            world.run_for(1000);
            // It is elected; its removal may take effect with its own first entry, and then it never announces its leadership.
            if world.nodes[&gone].leader() == Some(gone) {
                led += 1;
                break;
            }
        }
        // All others are running and hear it: they would wait.
        world.restart_all();
        world.run_for(20 * ELECTION);
        let before = world.oracle.acknowledged.len();
        world.run_for(10 * ELECTION);
        let goes_on = world.oracle.acknowledged.len() > before;
        assert!(goes_on, "seed {seed}: nobody takes anything");
    }
    assert!(led > 0, "it never came to lead");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = || {
        let mut world = World::new(42, Mutation::None);
        world.run_until(3_000_000);
        (
            world.oracle.acknowledged.clone(),
            world.random.below(u64::MAX),
        )
    };
    let first = digest();
    assert!(first.0.len() > 50);
    assert_eq!(first, digest());
}

/// The checks find each of these mistakes, otherwise they could not be trusted to find others.
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
        let seeds: Vec<u64> = (1..=2000).collect();
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation, &Tally::default()));
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}

#[test]
fn the_checks_catch_members_that_come_and_go_wrongly() {
    for mutation in [Mutation::LostDiskComesBack, Mutation::VotesEarly] {
        let seeds: Vec<u64> = (1..=2000).collect();
        let run = |seed| live(World::with_changes(seed, mutation), &Tally::default());
        let caught = skep_sim::search(&seeds, run);
        assert!(caught.is_some(), "{mutation:?} was not caught");
        println!("{mutation:?}: {caught:?}");
    }
}
