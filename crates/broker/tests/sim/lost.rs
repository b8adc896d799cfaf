//! All machines of a cluster but one are permanently lost, and an operator recovers it from that one.

use std::collections::BTreeMap;

use skep_cluster::{Survivor, plan_unsafe_recovery};
use skep_replication::Members;

use super::Mutation;
use super::host::Host;
use super::metadata::Metadata;
use super::oracle::Oracle;
use super::world::{Happening, Kind, World};

const PARTITION: u32 = 1;

impl World {
    /// Lets everybody catch up; then only this machine is left, after a power failure, and continues.
    fn recovers_from(&mut self, left: u32) {
        let others: Vec<u32> = self
            .hosts
            .keys()
            .copied()
            .filter(|it| *it != left)
            .collect();
        for other in &others {
            self.wipe(*other);
        }
        let here = &self.hosts[&left];
        let (state, old) = (here.known.clone(), here.replica.unwrap());
        let copy = self.nodes[&old].survives(PARTITION);
        self.crash(left);
        let removed = state.nodes.keys().copied().filter(|it| *it != left);
        let removed: Vec<u32> = removed.collect();
        let survivor = Survivor {
            node: left,
            state,
            reaches: Vec::new(),
            is_led: false,
            copies: vec![copy],
        };
        let (first, _) = plan_unsafe_recovery(&removed, left, &[survivor], 0).unwrap();
        let own = first.member(left).unwrap();
        let replica = first.replica_of(left, PARTITION).unwrap();
        assert_eq!(first.goes_on_from(left, PARTITION), Some(old));
        let mut node = self.nodes.remove(&old).unwrap();
        self.members = node.continue_as(replica, first.revision, &mut self.oracle);
        self.nodes.insert(replica, node);
        self.own_oracle = Oracle::new([own]);
        let here: &mut Host = self.host(left);
        here.own = Some(Metadata::new(
            own,
            Members::bootstrap(vec![own]),
            Some(first),
        ));
        here.replica = Some(replica);
        self.restart_all();
    }

    /// Resumes clients, faults and operators.
    fn resume(&mut self) {
        self.quiet = false;
        self.faults = true;
        self.after(1000, Happening::Client);
    }
}

/// Whatever happens to this machine and to those that return: everything exists exactly once.
#[test]
fn the_remaining_machine_recovers_and_others_return() {
    let kind = |seed: u64| Kind {
        changes: true,
        lost_disks: false,
        hibernate: seed.is_multiple_of(2),
    };
    let worlds = match std::env::var_os("CI") {
        Some(_) => 6,
        None => 2,
    };
    let seeds: Vec<u64> = (1..=worlds).collect();
    let failed = skep_sim::search(&seeds, |seed| {
        let mut world = World::of(kind(seed), seed, Mutation::None);
        world.run_until(600_000);
        world.heal_and_check();
        let before: BTreeMap<u64, u64> = world.oracle.acknowledged.clone();
        world.recovers_from((seed % 3) as u32);
        world.resume();
        world.run_for(1_500_000);
        world.heal_and_check();
        assert!(world.oracle.acknowledged.len() > before.len());
    });
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed: {reason}");
    }
}
