//! Two of three machines are lost for good, while work is under way between the partitions, and an operator recovers all partitions from the
//! copies of the third one. The other machines come back without copies.
//!
//! Or only some partitions lose all copies but one, as these were on other nodes than the copies of the rest: the machines live, and what was
//! under way between partitions that go on from one copy and partitions that lost nothing must end as well.
//!
//! If that machine had everything that was committed, nothing is lost, and all that is checked otherwise holds. If it was cut off for a
//! while, what other partitions did because of lost entries stays. Then no key is given twice, the copies that are left are consistent, and
//! commands between partitions end.

use std::sync::Mutex;

use skep_cluster::{Layout, State, Survivor, plan_unsafe_recovery};

use super::Mutation;
use super::tally::Tally;
use super::world::{Happening, MACHINES, ReplicaId, World};

/// Microseconds for which a machine is cut off before the others are lost.
const CUT_OFF: u64 = 300_000;
/// Microseconds without requests in which a machine gets everything, and between two looks whether it has.
const LULL: u64 = 200_000;
const LOOK: u64 = 4_000;

/// The partitions that are recovered.
#[derive(Clone, Copy, Debug)]
enum Recovers {
    All,
    /// Those with even or odd numbers. The others keep their copies.
    EverySecond(u32),
}

impl Recovers {
    fn has(self, partition: u32) -> bool {
        match self {
            Recovers::All => true,
            Recovers::EverySecond(rest) => partition % 2 == rest,
        }
    }
}

impl World {
    /// Whether the copy was lost for good.
    pub fn is_lost(&self, place: ReplicaId) -> bool {
        let left = self.operators.left.get(&place.0);
        left.is_some_and(|left| *left != place.1) || self.operators.lost.contains(&place)
    }

    /// Whether copies of the partition were lost for good.
    pub fn has_lost_copies(&self, partition: u32) -> bool {
        (0..MACHINES).any(|host| self.is_lost((partition, host)))
    }

    /// The last entry of a copy, if it is on disk, and all before it are committed.
    fn ends_with(&self, place: ReplicaId) -> Option<u64> {
        let replica = &self.replicas[&place];
        let running = replica.node.running.as_ref()?;
        let oracle = &self.groups[&place.0].oracle;
        let last = oracle.last_committed_on(replica.node.id)?;
        let is_settled = running.queue.is_empty() && running.core.applied() <= last;
        (is_settled && last > 0).then_some(last)
    }

    /// Whether partitions can be recovered from the machine: with a loss, or without one.
    fn can_be_left(&self, host: u32, recovers: Recovers, loses: bool) -> bool {
        let mut lacks = false;
        let mut wanted = self.there().filter(|partition| recovers.has(*partition));
        let all = wanted.all(|partition| {
            let last = self.ends_with((partition, host));
            let commit = self.groups[&partition].oracle.commit_index();
            lacks |= last.is_some_and(|last| last < commit);
            last.is_some()
        });
        all && lacks == loses
    }

    /// Ends the faults for a while, and finds a machine to recover from.
    fn find_left(&mut self, recovers: Recovers, loses: bool) -> Option<u32> {
        for host in 0..MACHINES {
            self.calms_down(200_000);
            // A change ends with a relocation, of which machines hear one after the other.
            for _ in 0..10 {
                if self.is_changing() {
                    self.run_for(100_000);
                }
            }
            if self.is_changing() {
                continue;
            }
            if loses {
                // A leader that is cut off goes on proposing, and nobody commits that.
                self.lead_elsewhere(host);
                let all = (0..MACHINES).map(u64::from);
                self.network.isolate(u64::from(host), all);
                self.run_for(CUT_OFF);
                if self.can_be_left(host, recovers, loses) {
                    return Some(host);
                }
                continue;
            }
            self.calm.lull_until = self.agenda.now + LULL;
            for _ in 0..LULL / LOOK {
                self.run_for(LOOK);
                if self.can_be_left(host, recovers, loses) {
                    return Some(host);
                }
            }
        }
        None
    }

    /// Transfers the leadership of this machine's partitions to another one.
    fn lead_elsewhere(&mut self, host: u32) {
        let other = self.members()[((host + 1) % MACHINES) as usize];
        for partition in self.there() {
            let place = (partition, host);
            if let Some(running) = &mut self.node(place).running
                && running.core.is_leader()
            {
                running.core.group_mut().transfer_leadership(other);
                self.settle(place);
            }
        }
        self.run_for(100_000);
    }

    /// The decision on the reports of the machines that stay: the new state, and the partitions that go on from one copy.
    fn decides(&self, left: u32, recovers: Recovers) -> (State, Vec<u32>) {
        let bootstrapped = |nodes: u32| {
            let layout = Layout {
                nodes: (0..nodes).collect(),
                copies: MACHINES,
                partitions: *self.there().end(),
            };
            State::bootstrapped("it".to_string(), &layout, 0)
        };
        let mut state = bootstrapped(MACHINES);
        let (stay, removed): (Vec<u32>, Vec<u32>) = match recovers {
            Recovers::All => (0..MACHINES).partition(|host| *host == left),
            Recovers::EverySecond(_) => {
                // Two more nodes had the copies that are lost.
                let lost = MACHINES..MACHINES + 2;
                let more = bootstrapped(MACHINES + 2).nodes.into_iter();
                state.nodes.extend(more.filter(|(id, _)| lost.contains(id)));
                ((0..MACHINES).collect(), lost.collect())
            }
        };
        let survivors = stay.into_iter().map(|host| {
            let is_heard = host == left || self.mutation != Mutation::UnheardCountsAsLost;
            let is_there = |partition: u32| host == left || !recovers.has(partition);
            let copies = self.there().filter_map(|partition| {
                let node = &self.replicas[&(partition, host)].node;
                let reports = is_heard && is_there(partition) && node.running.is_some();
                reports.then(|| node.survives(partition))
            });
            Survivor {
                node: host,
                state: state.clone(),
                reaches: Vec::new(),
                is_led: false,
                copies: copies.collect(),
            }
        });
        let survivors: Vec<Survivor> = survivors.collect();
        let (first, planned) = plan_unsafe_recovery(&removed, left, &survivors, 0).unwrap();
        let from = planned.unsafe_recovery.unwrap().from;
        (first, from.into_keys().collect())
    }

    /// All machines but this one are lost, or all copies of some partitions but those of this one, and an operator decides that it continues
    /// alone with them.
    fn recovers_from(&mut self, left: u32, recovers: Recovers, loses: bool) {
        let (first, from) = self.decides(left, recovers);
        let lost: Vec<u32> = self.there().filter(|it| recovers.has(*it)).collect();
        if self.mutation != Mutation::UnheardCountsAsLost {
            assert_eq!(from, lost, "partitions with a majority are left alone");
        }
        for host in (0..MACHINES).filter(|host| *host != left) {
            match recovers {
                Recovers::All => self.crash(host),
                Recovers::EverySecond(_) => {
                    for partition in &lost {
                        let replica = self.replicas.get_mut(&(*partition, host)).unwrap();
                        replica.node.dies();
                        replica.died = None;
                    }
                }
            }
        }
        self.operators.left = lost.into_iter().map(|it| (it, left)).collect();
        for partition in &from {
            let group = self.groups.get_mut(partition).unwrap();
            let node = &mut self.replicas.get_mut(&(*partition, left)).unwrap().node;
            node.dies();
            let kept = group.oracle.continues_from(node.id);
            let own = first.replica_of(left, *partition).unwrap();
            node.continue_as(own, first.revision, &mut group.oracle);
            if self.mutation != Mutation::KeysGivenAgain {
                node.settings.engine.least_key = first.least_keys[partition];
            }
            if loses {
                self.chronicle.loses(*partition, kept);
            }
        }
        if loses {
            self.clients.lose();
        }
        for partition in from {
            self.start_replica((partition, left));
        }
        self.network.cut.clear();
        self.calm.faults = true;
    }

    /// Ends the faults. What holds although entries were lost is checked while the world runs, and here.
    fn heal_and_check_after_loss(&mut self) {
        self.heal();
        let before: u64 = self.clients.answers.values().sum();
        self.run_for(1_200_000);
        let after: u64 = self.clients.answers.values().sum();
        assert!(after > before, "no progress after the recovery");
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Client | Happening::Fault));
        self.until_nothing_is_under_way("entries were lost");
        for (partition, left) in self.operators.left.clone() {
            let leader = self.leader(partition);
            let left = Some((partition, left));
            assert_eq!(leader, left, "partition {partition} has its one copy");
        }
        let begun = self.chronicle.tally.of("begun after a loss");
        self.tally.add("begun after a loss", begun);
    }
}

/// Worlds with odd seeds are not purged.
fn run(seed: u64, mutation: Mutation, recovers: Recovers, all: &Mutex<Tally>) {
    let (mut world, loses) = (World::new(2 * seed + 1, mutation), seed.is_multiple_of(2));
    world.run_for(700_000);
    let Some(left) = world.find_left(recovers, loses) else {
        return;
    };
    world.recovers_from(left, recovers, loses);
    world.run_for(900_000);
    if loses {
        world.heal_and_check_after_loss();
        world.tally.add("recovered with a loss", 1);
    } else {
        world.heal_and_check();
        world.tally.add("recovered without a loss", 1);
    }
    all.lock().unwrap().add_all(&world.tally);
}

/// The first partition, which distributes to the others, is among them in half of the worlds.
fn every_second(seed: u64) -> Recovers {
    Recovers::EverySecond((seed / 2 % 2) as u32)
}

fn try_worlds(recovers: fn(u64) -> Recovers) {
    let tally = Mutex::default();
    let worlds = match std::env::var_os("CI") {
        Some(_) => 20,
        None => 6,
    };
    let seeds = skep_sim::chosen(worlds);
    let failed = skep_sim::search(&seeds, |seed| {
        run(seed, Mutation::None, recovers(seed), &tally);
    });
    if let Some((seed, reason)) = failed {
        panic!("seed {seed} failed (repeat it with SKEP_SEED={seed}): {reason}");
    }
    let tally: Tally = tally.into_inner().unwrap();
    println!("{} seeds: {tally:?}", seeds.len());
    if seeds.len() > 1 {
        for what in [
            "recovered with a loss",
            "recovered without a loss",
            "begun after a loss",
        ] {
            assert!(tally.of(what) > 0, "no world was {what}: {tally:?}");
        }
    }
}

#[test]
fn partitions_that_are_recovered_from_one_machine_keep_what_can_be_kept() {
    try_worlds(|_| Recovers::All);
}

#[test]
fn partitions_that_are_recovered_from_one_copy_work_on_with_those_that_lost_nothing() {
    try_worlds(every_second);
}

#[test]
fn the_checks_catch_keys_that_lost_copies_have_given() {
    let kinds: [fn(u64) -> Recovers; 2] = [|_| Recovers::All, every_second];
    for recovers in kinds {
        let seeds: Vec<u64> = (1..=20).map(|seed| 2 * seed).collect();
        let caught = skep_sim::search(&seeds, |seed| {
            let mutation = Mutation::KeysGivenAgain;
            run(seed, mutation, recovers(seed), &Mutex::default());
        });
        let (_, reason) = caught.expect("no key was given twice");
        assert!(reason.contains("was given twice"), "{reason}");
    }
}

#[test]
fn the_checks_catch_partitions_that_are_recovered_although_their_copies_live() {
    let seeds: Vec<u64> = (1..=20).collect();
    let caught = skep_sim::search(&seeds, |seed| {
        let mutation = Mutation::UnheardCountsAsLost;
        run(seed, mutation, every_second(seed), &Mutex::default());
    });
    let caught = caught.expect("nobody noticed that a partition went on twice");
    println!("{caught:?}");
}
