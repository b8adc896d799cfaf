//! A machine loses the directory of one partition while it is down. When it starts again, only copies that lack committed entries run beside
//! it: the copy must not vote as if it had acknowledged nothing. In the product, `broker/src/started.rs` refuses to start it.

use std::sync::Mutex;

use super::Mutation;
use super::tally::Tally;
use super::world::{MACHINES, ReplicaId, World};

/// Microseconds for which a copy is cut off, and for which it runs without the ones that have what it lacks.
const CUT_OFF: u64 = 300_000;
const ALONE: u64 = 600_000;

impl World {
    /// The copy's files are gone.
    fn loses_files(&mut self, place: ReplicaId) {
        let life = self.replicas[&place].node.life;
        let mut replica = self.replica(place.0, place.1);
        // Events of the copy before are dropped.
        replica.node.life = life;
        let group = self.groups.get_mut(&place.0).unwrap();
        group.oracle.is_gone(replica.node.id);
        self.replicas.insert(place, replica);
        if self.mutation != Mutation::LostPartitionDirectory {
            self.operators.lost.insert(place);
        }
        self.tally.add("lost directories", 1);
    }

    /// One of the two copies that have what was committed last loses its directory, and runs for a while with the third copy alone.
    fn loses_a_directory(&mut self) -> bool {
        self.calms_down(400_000);
        let (partition, _) = self.any_place();
        let Some((_, leads)) = self.leader(partition) else {
            return false;
        };
        let (loses, lags) = ((leads + 1) % MACHINES, (leads + 2) % MACHINES);
        let all = (0..MACHINES).map(u64::from);
        self.network.isolate(u64::from(lags), all);
        self.run_for(CUT_OFF);
        let commit = self.groups[&partition].oracle.commit_index();
        let running = self.replicas[&(partition, lags)].node.running.as_ref();
        let lacks = running.is_some_and(|running| running.core.group().last_index() < commit);
        if !lacks || self.is_changing() {
            return false;
        }
        self.crash(leads);
        self.crash(loses);
        self.network.cut.clear();
        self.loses_files((partition, loses));
        self.start(loses);
        self.run_for(ALONE);
        self.restart_all();
        self.calm.faults = true;
        true
    }
}

/// Worlds with odd seeds are not purged, and do not hibernate.
fn run(seed: u64, mutation: Mutation, all: &Mutex<Tally>) {
    let mut world = World::new(2 * seed + 1, mutation);
    world.run_for(500_000);
    if !world.loses_a_directory() {
        return;
    }
    world.run_for(600_000);
    world.heal_and_check();
    all.lock().unwrap().add_all(&world.tally);
}

#[test]
fn a_copy_whose_directory_is_lost_lets_nothing_be_lost() {
    let tally = Mutex::default();
    let worlds = match std::env::var_os("CI") {
        Some(_) => 20,
        None => 6,
    };
    let seeds = skep_sim::chosen(worlds);
    let failed = skep_sim::search(&seeds, |seed| run(seed, Mutation::None, &tally));
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let tally: Tally = tally.into_inner().unwrap();
    println!("{} seeds: {tally:?}", seeds.len());
    let lost = tally.of("lost directories");
    assert!(seeds.len() == 1 || lost > 0, "{tally:?}");
}

#[test]
fn the_checks_catch_a_copy_that_comes_back_with_nothing() {
    let seeds: Vec<u64> = (1..=20).collect();
    let caught = skep_sim::search(&seeds, |seed| {
        run(seed, Mutation::LostPartitionDirectory, &Mutex::default());
    });
    let caught = caught.expect("nobody noticed that a copy voted that had lost its data");
    println!("{caught:?}");
}
