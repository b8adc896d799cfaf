//! Groups without work: they cost nothing, but still notice when a member is gone.

use super::Mutation;
use super::world::World;

/// Longer than two elections take.
const ELECTIONS: u64 = 500_000;

/// A world whose group hibernates, and its leader.
fn hibernating(seed: u64, mutation: Mutation) -> (World, u64) {
    let mut world = World::idle(seed, mutation);
    world.run_for(ELECTIONS);
    assert!(all_hibernate(&world), "seed {seed}");
    let leader = world.leader_but(0).expect("it has a leader");
    (world, leader)
}

fn all_hibernate(world: &World) -> bool {
    let mut running = world
        .nodes
        .values()
        .filter_map(|node| node.running.as_ref());
    running.all(|running| running.group.hibernates())
}

#[test]
fn a_group_without_work_sends_nothing_until_there_is_some() {
    for seed in 1..30 {
        let (mut world, leader) = hibernating(seed, Mutation::None);
        let sent = world.sent;
        world.run_for(10_000_000);
        assert_eq!(world.sent, sent, "seed {seed}: in 1000 ticks");
        world.command_once();
        world.run_for(ELECTIONS);
        assert!(!world.oracle.acknowledged.is_empty(), "seed {seed}");
        assert!(all_hibernate(&world), "seed {seed}: again");
        assert_eq!(world.leader_but(0), Some(leader), "seed {seed}");
    }
}

#[test]
fn a_hibernating_follower_leads_when_the_leader_is_gone() {
    let elects = |seed, mutation| {
        let (mut world, leader) = hibernating(seed, mutation);
        world.crash(leader);
        world.run_for(ELECTIONS);
        world.leader_but(leader).is_some()
    };
    for seed in 1..30 {
        assert!(elects(seed, Mutation::None), "seed {seed}");
        // The test would detect it.
        assert!(!elects(seed, Mutation::WatchNobody), "seed {seed}");
    }
}

#[test]
fn a_hibernating_leader_that_is_cut_off_leads_no_more() {
    for seed in 1..30 {
        let (mut world, leader) = hibernating(seed, Mutation::None);
        world.isolate(leader);
        world.run_for(ELECTIONS);
        assert!(!world.nodes[&leader].leads(), "seed {seed}");
        assert!(world.leader_but(leader).is_some(), "seed {seed}");
    }
}

#[test]
fn a_member_that_comes_back_finds_those_that_hibernate() {
    for seed in 1..30 {
        let (mut world, leader) = hibernating(seed, Mutation::None);
        let other = if leader == 1 { 2 } else { 1 };
        world.crash(other);
        world.run_for(ELECTIONS);
        assert_eq!(world.leader_but(0), Some(leader), "seed {seed}");
        world.restart_all();
        world.run_for(ELECTIONS);
        assert!(all_hibernate(&world), "seed {seed}");
        assert_eq!(world.leader_but(0), Some(leader), "seed {seed}");
    }
}
