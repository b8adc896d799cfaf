//! Faults end, and then all work must end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::node::Node;
use super::world::{Happening, Replica, ReplicaId, TICK, World};

/// Tables that are equal on all partitions: process definitions, their last versions, cluster variables, users and rights.
const EVERYWHERE: [u8; 4] = [1, 10, 60, 67];

/// A state, row by row.
type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

impl World {
    /// Ends the faults and checks all final conditions, within a limited time.
    pub fn heal_and_check(&mut self) {
        self.heal();
        let before: u64 = self.clients.answers.values().sum();
        self.leaders_flush(1_200_000);
        let after: u64 = self.clients.answers.values().sum();
        assert!(after > before, "no progress after the network healed");
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Client | Happening::Fault));
        // Clocks that were set back have delayed timers by hours: the repetition of commands between partitions must not depend on that.
        self.until_nothing_is_under_way("faults have ended");
        self.clients.check_taken(&self.chronicle);
        self.clocks_are_right();
        self.finish();
        self.find_late_openings();
        self.until_nothing_is_under_way("all instances have ended");
        self.revive_all();
        for replica in self.replicas.values_mut() {
            (replica.hangs_until, replica.hung) = (0, None);
        }
        self.until_all_have_all();
        self.all_search();
        self.check_streams();
        self.calm.quiet = true;
        self.run_for(300_000);
        self.clients.check_ended(&self.chronicle);
        self.check_partitions();
        self.count();
    }

    /// Ends all faults but one: each partition may have a replica that is dead, or whose disk or thread hangs. The others are a majority, if
    /// there are others.
    pub fn heal(&mut self) {
        self.calm.faults = false;
        if self.random.below(2) == 0 {
            // All are ahead by hours for a moment.
            for host in &mut self.hosts {
                host.clock = 5 * 3_600_000;
            }
            self.run_for(100_000);
        }
        self.network.heal();
        self.flush = 500;
        for host in &mut self.hosts {
            (host.paused_until, host.slow_disk, host.clock) = (0, 0, 0);
        }
        self.restart_all();
        self.revive_all();
        for replica in self.replicas.values_mut() {
            (replica.hangs_until, replica.hung) = (0, None);
        }
        self.run_for(400_000);
        if self.calm.hibernate {
            // A replica that hibernates when its leader dies has to learn of it.
            self.calm.lull_until = self.agenda.now + 500_000;
            self.run_for(400_000);
        }
        for partition in self.there() {
            if self.has_lost_copies(partition) {
                continue;
            }
            let host = self.any_host();
            let leader = self.leader_of(host, partition).unwrap_or(host);
            match self.random.below(5) {
                0 => self.dies((partition, leader)),
                1 => self.dies((partition, host)),
                2 => {
                    let replica = self.replicas.get_mut(&(partition, leader));
                    replica.unwrap().hangs_until = u64::MAX / 2;
                }
                3 => self.hangs_for((partition, leader), u64::MAX),
                _ => {}
            }
        }
    }

    /// Sets all clocks, which were ahead by hours at times, to a common time later than any of them.
    fn clocks_are_right(&mut self) {
        for host in &mut self.hosts {
            host.clock = 24 * 3_600_000;
        }
    }

    pub fn leader(&self, partition: u32) -> Option<ReplicaId> {
        let places = self.replicas.iter().filter_map(|(place, replica)| {
            let running = replica.node.running.as_ref()?;
            let leads = place.0 == partition && running.core.is_leader();
            // A thread that hangs does not know better.
            (leads && !self.hangs(*place)).then(|| (running.core.group().term(), *place))
        });
        places.max().map(|(_, place)| place)
    }

    /// Unfinished work of each partition, as known to its leader.
    fn open(&self, what: impl Fn(&skep_engine::Engine) -> String) -> String {
        let each = self.there().map(|partition| {
            let leader = self.leader(partition);
            let running = leader.and_then(|leader| self.replicas[&leader].node.running.as_ref());
            let open = match running {
                Some(running) => what(running.core.engine()),
                None => format!("no leader of {}", self.replicas_of(partition)),
            };
            (partition, open)
        });
        let each: Vec<String> = each
            .filter(|(_, open)| !open.is_empty())
            .map(|(partition, open)| format!("partition {partition}: {open}"))
            .collect();
        each.join("; ")
    }

    /// The replicas of a partition, for those who look for the reason why nobody leads.
    fn replicas_of(&self, partition: u32) -> String {
        let of_partition = |it: &(&ReplicaId, &Replica)| it.0.0 == partition;
        let replicas = self.replicas.iter().filter(of_partition);
        let each = replicas.map(|(place, replica)| {
            let Some(running) = &replica.node.running else {
                return format!("{place:?} died: {:?}", replica.died);
            };
            let group = running.core.group();
            let ends = (group.term_at(group.last_index()), group.last_index());
            format!(
                "{place:?} in term {} is {:?}, leader {:?}, hangs: {} {} {}, appends {}, log {:?}..{ends:?}, committed {} of {}, applied {}",
                group.term(),
                group.role(),
                group.leader(),
                self.hangs(*place),
                replica.hangs_until > self.agenda.now,
                group.disk_hangs(),
                running.queue.len(),
                group.base(),
                group.commit_index(),
                group.known_commit(),
                running.core.applied(),
            )
        });
        each.collect::<Vec<_>>().join("\n")
    }

    pub fn until_nothing_is_under_way(&mut self, when: &str) {
        let under_way = |engine: &skep_engine::Engine| {
            let state = &engine.state;
            let distributions: usize = state.distributions.waiting().map(|of| of.1).sum();
            let correlations = state
                .message_subscriptions
                .pending_after(skep_protocol::Key::NONE);
            let openings = state
                .process_subscriptions
                .pending_after(skep_protocol::Key::NONE);
            let (correlations, openings) = (correlations.count(), openings.count());
            if !engine.awaits_answers() {
                return String::new();
            }
            format!(
                "{distributions} distributions, {correlations} correlations, {openings} openings and closings"
            )
        };
        let (mut rounds, mut patience) = (60, 200);
        while rounds > 0 {
            self.run_for(100_000);
            if self.open(under_way).is_empty() && !self.is_changing() {
                return;
            }
            // Without the others a new leader commits nothing before its only follower has caught up: a snapshot in many small chunks, most
            // of which arrive out of order and come again, takes seconds.
            if patience > 0 && self.replicas.values().any(|it| it.node.takes_snapshot()) {
                patience -= 1;
            } else {
                rounds -= 1;
            }
        }
        panic!(
            "{when}, and something is under way for ever: {}",
            self.open(under_way)
        );
    }

    /// Runs the world for this long. Others are a majority and answer, so nobody leads for much longer than an election time, 10 ticks,
    /// while an append is not durable. It would go on until a few more appends wait: the others hear of it until then.
    fn leaders_flush(&mut self, duration: u64) {
        const MOST: u32 = 5;
        let step = 3 * TICK;
        let mut seen: BTreeMap<(ReplicaId, u64, u64), u32> = BTreeMap::new();
        for _ in 0..duration / step {
            self.run_for(step);
            let waiting = self.leaders_that_flush();
            seen.retain(|leader, _| waiting.contains(leader));
            for leader in waiting {
                let times = seen.entry(leader).or_default();
                *times += 1;
                assert!(*times <= MOST, "{leader:?} leads while its flush hangs");
            }
        }
    }

    /// Replicas that take themselves for leaders and wait for their disk, with their terms and the first append that is not durable.
    fn leaders_that_flush(&self) -> BTreeSet<(ReplicaId, u64, u64)> {
        let waiting = self.replicas.iter().filter_map(|(place, replica)| {
            let running = replica.node.running.as_ref()?;
            let append = running.queue.front()?;
            let leads = running.core.is_leader() && !self.hangs(*place);
            let is_whole = !self.has_lost_copies(place.0);
            (leads && is_whole).then(|| (*place, running.core.group().term(), append.number))
        });
        waiting.collect()
    }

    /// Workers and clients serve all instances until there are none.
    fn finish(&mut self) {
        let open = |engine: &skep_engine::Engine| {
            let state = &engine.state;
            let counts = [
                ("element instances", state.elements.table.len()),
                ("jobs", state.jobs.table.len()),
                ("timers", state.timers.table.len()),
                (
                    "subscriptions of instances",
                    state.process_subscriptions.table.len(),
                ),
                ("locks", state.message_starts.started.len()),
                ("locks on other partitions", state.slots.started.len()),
                ("moves of slots", state.slots.departures.len()),
                ("incidents", state.incidents.table.len()),
                ("continuations", state.continuations.table.len()),
                ("distributions", state.distributions.table.len()),
            ];
            let left = counts.iter().filter(|(_, count)| *count > 0);
            let left: Vec<String> = left
                .map(|(what, count)| format!("{count} {what}"))
                .collect();
            left.join(", ")
        };
        for _ in 0..100 {
            self.finish_all();
            self.run_for(100_000);
            if self.open(open).is_empty() {
                return;
            }
        }
        panic!("this does not end: {}", self.open(open));
    }

    /// A subscription opened by a late duplicate after its end is closed only once, and that command may be lost. The next message for it
    /// reveals the orphan, as it does not for a subscription in use.
    fn find_late_openings(&mut self) {
        let open =
            |engine: &skep_engine::Engine| match engine.state.message_subscriptions.table.len() {
                0 => String::new(),
                count => format!("{count} message subscriptions"),
            };
        for round in 0..20 {
            if self.open(open).is_empty() {
                return;
            }
            self.tally.add("late openings", u64::from(round == 0));
            self.knock();
            self.run_for(300_000);
        }
        panic!(
            "all instances have ended, and there are {}",
            self.open(open)
        );
    }

    /// Waits until lagging replicas have caught up: a snapshot in many small chunks takes a while.
    fn until_all_have_all(&mut self) {
        for _ in 0..200 {
            self.run_for(100_000);
            let has_all = |(place, replica): (&ReplicaId, &Replica)| {
                let commit = self.groups[&place.0].oracle.commit_index();
                let running = replica.node.running.as_ref();
                running.is_some_and(|it| it.core.applied() == commit)
            };
            let mut there = self.replicas.iter().filter(|it| !self.is_lost(*it.0));
            if there.all(has_all) {
                return;
            }
        }
    }

    fn check_partitions(&mut self) {
        let mut everywhere = None;
        for partition in self.there() {
            let leaders = self.replicas.iter_mut().filter_map(|(place, replica)| {
                let leads = place.0 == partition && replica.node.leading().is_some();
                leads.then_some(*place)
            });
            let leaders = leaders.count();
            assert_eq!(
                leaders, 1,
                "partition {partition} has one leader when all is well"
            );
            let commit = self.groups[&partition].oracle.commit_index();
            let mut first: Option<Rows> = None;
            for (place, replica) in &self.replicas {
                if place.0 != partition || self.is_lost(*place) {
                    continue;
                }
                let core = &replica.node.running.as_ref().unwrap().core;
                assert_eq!(core.applied(), commit, "{place:?} did not catch up");
                let dump = core.engine().state.dump();
                let equal = *first.get_or_insert_with(|| dump.clone()) == dump;
                assert!(equal, "{place:?} has another state");
            }
            self.check_hibernation(partition);
            let mut rows = first.unwrap();
            rows.retain(|(table, _), _| EVERYWHERE.contains(table));
            let all = everywhere.get_or_insert_with(|| rows.clone());
            let differing: Vec<_> = all
                .iter()
                .filter(|(key, row)| rows.get(*key) != Some(row))
                .chain(rows.iter().filter(|(key, _)| !all.contains_key(*key)))
                .collect();
            assert!(
                differing.is_empty(),
                "partition {partition} has not what every partition has: {differing:?}"
            );
            assert!(!rows.is_empty());
        }
    }

    fn check_hibernation(&self, partition: u32) {
        let replicas = self
            .replicas
            .iter()
            .filter(|(place, _)| place.0 == partition && !self.is_lost(**place));
        for (place, replica) in replicas.filter(|_| self.calm.hibernate) {
            let hibernates = replica
                .node
                .running
                .as_ref()
                .unwrap()
                .core
                .group()
                .hibernates();
            assert!(hibernates, "{place:?} has no work and does not hibernate");
        }
    }

    /// Adds up the counters of all parts.
    fn count(&mut self) {
        let tally = &mut self.tally;
        for (what, count) in &self.clients.answers {
            tally.add(what, *count);
        }
        tally.add("steps", self.agenda.steps);
        tally.add_all(&self.chronicle.tally);
        tally.add("ended", self.chronicle.ended.len() as u64);
        for jobs in self.chronicle.jobs.values() {
            tally.add("handed out", jobs.handed_out);
        }
        let count = |node: &Node| {
            [
                node.step_downs,
                node.rebuilds,
                node.installs,
                node.checkpoints,
            ]
        };
        for replica in self.replicas.values() {
            let names = ["step-downs", "rebuilds", "installs", "checkpoints"];
            for (name, count) in names.into_iter().zip(count(&replica.node)) {
                tally.add(name, count);
            }
        }
    }
}
