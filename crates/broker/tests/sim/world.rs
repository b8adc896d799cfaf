//! The world: an agenda of what happens when, the faults, and the way of messages.

use std::collections::BTreeMap;

use skep_engine::{Effects, Sent};

use super::agenda::Agenda;
use super::clients::{Clients, JOB_TYPE};
use super::jobs::Jobs;
use super::network::{Flight, Network};
use super::node::Node;
use super::oracle::Oracle;
use super::{Mutation, Random};

/// Microseconds between two ticks of a node, more or less.
const TICK: u64 = 10_000;
/// The engine's time when the world begins, in milliseconds.
const EPOCH: i64 = 1_700_000_000_000;

#[derive(Debug)]
enum Happening {
    Arrive(Flight),
    Remote(Sent),
    Tick { node: u64, life: u64 },
    DiskDone { node: u64, life: u64 },
    Client,
    Fault,
}

pub struct World {
    pub random: Random,
    pub oracle: Oracle,
    pub nodes: BTreeMap<u64, Node>,
    pub clients: Clients,
    pub jobs: Jobs,
    network: Network,
    agenda: Agenda<Happening>,
    /// Microseconds that a flush takes at most.
    flush: u64,
    faults: bool,
    /// Nothing new happens any more.
    quiet: bool,
    releases: u64,
    pub restarts: u64,
    pub pauses: u64,
    pub clock_jumps: u64,
    pub slow_disks: u64,
}

impl World {
    pub fn new(seed: u64, mutation: Mutation) -> Self {
        let mut random = Random(seed);
        let mut oracle = Oracle::new(1..=3);
        let mut nodes = BTreeMap::new();
        for id in 1..=3 {
            let mut node = Node::new(id, seed, mutation);
            node.start(&mut oracle);
            nodes.insert(id, node);
        }
        let network = Network::random(&mut random);
        let flush = 200 + random.below(3) * 15_000;
        let mut world = Self {
            random,
            oracle,
            nodes,
            clients: Clients::default(),
            jobs: Jobs::default(),
            network,
            agenda: Agenda::default(),
            flush,
            faults: true,
            quiet: false,
            releases: 0,
            restarts: 0,
            pauses: 0,
            clock_jumps: 0,
            slow_disks: 0,
        };
        for id in 1..=3 {
            world.after(TICK, Happening::Tick { node: id, life: 1 });
        }
        world.after(1000, Happening::Client);
        world.after(200_000, Happening::Fault);
        world
    }

    pub fn steps(&self) -> u64 {
        self.agenda.steps
    }

    /// The time on the clock of a node.
    fn millis(&self, node: u64) -> i64 {
        EPOCH + (self.agenda.now / 1000) as i64 + self.nodes[&node].clock
    }

    fn after(&mut self, delay: u64, happening: Happening) {
        self.agenda.after(delay, happening);
    }

    pub fn run_until(&mut self, end: u64) {
        while let Some(happening) = self.agenda.next(end) {
            self.happen(happening);
        }
    }

    fn lives(&self, node: u64, life: u64) -> bool {
        let node = &self.nodes[&node];
        node.life == life && node.running.is_some()
    }

    fn node(&mut self, id: u64) -> &mut Node {
        self.nodes.get_mut(&id).unwrap()
    }

    /// How long the node does nothing from now on.
    fn pause_of(&self, happening: &Happening) -> u64 {
        let node = match happening {
            Happening::Arrive(flight) => flight.to,
            Happening::Tick { node, .. } | Happening::DiskDone { node, .. } => *node,
            Happening::Remote(_) | Happening::Client | Happening::Fault => return 0,
        };
        self.nodes[&node]
            .paused_until
            .saturating_sub(self.agenda.now)
    }

    /// The node that takes commands, if it does anything at all.
    fn leader(&mut self, first: u64) -> Option<u64> {
        let now = self.agenda.now;
        (0..3).map(|n| 1 + (first + n) % 3).find(|id| {
            let node = self.node(*id);
            node.paused_until <= now && node.leading().is_some()
        })
    }

    fn happen(&mut self, happening: Happening) {
        let pause = self.pause_of(&happening);
        if pause > 0 {
            return self.after(pause, happening);
        }
        match happening {
            Happening::Arrive(flight) => {
                self.node(flight.to).receive(flight.from, flight.bytes);
                // Work may come between a message and the next poll.
                if self.random.below(8) == 0 {
                    self.due(flight.to);
                }
                self.settle(flight.to);
            }
            Happening::Remote(command) => {
                let Some(id) = self.leader(0) else {
                    return;
                };
                let now = self.millis(id);
                if let Some(running) = self.node(id).leading() {
                    let streams = &mut running.streams;
                    running.core.process_remote(now, &command, streams);
                }
                self.propose(id);
                self.settle(id);
            }
            Happening::Tick { node, life } => {
                if !self.lives(node, life) {
                    return;
                }
                if let Some(running) = &mut self.node(node).running {
                    running.core.group_mut().tick();
                }
                self.due(node);
                self.settle(node);
                let pace = TICK - 500 + self.random.below(1000);
                self.after(pace, Happening::Tick { node, life });
            }
            Happening::DiskDone { node, life } => {
                if !self.lives(node, life) {
                    return;
                }
                let count = 1 + self.random.below(3) as usize;
                self.nodes
                    .get_mut(&node)
                    .unwrap()
                    .disk_done(count, &mut self.oracle);
                self.settle(node);
            }
            Happening::Client => {
                self.client();
                let pause = 2000 + self.random.below(40_000);
                self.after(pause, Happening::Client);
            }
            Happening::Fault => {
                if self.faults {
                    self.fault();
                }
                let pause = 20_000 + self.random.below(250_000);
                self.after(pause, Happening::Fault);
            }
        }
    }

    /// What is due, and pushes to a stream that has room again.
    fn due(&mut self, id: u64) {
        if self.quiet {
            return;
        }
        let now = self.millis(id);
        let room = self.random.below(6) == 0;
        if let Some(running) = self.node(id).leading() {
            running.core.run_due(now, false, &mut running.streams);
            if running.core.engine().has_work() {
                running.core.run_work(now, &mut running.streams);
            }
            if room {
                running.streams.0 = 2;
                running
                    .core
                    .push_waiting_jobs(now, JOB_TYPE, 2, &mut running.streams);
            }
        }
        self.propose(id);
    }

    fn propose(&mut self, id: u64) {
        let node = self.nodes.get_mut(&id).unwrap();
        node.propose(&mut self.oracle, &mut self.releases);
    }

    /// Lets a node do what follows from what happened to it.
    fn settle(&mut self, id: u64) {
        let node = self.nodes.get_mut(&id).unwrap();
        let left = node.poll(&mut self.oracle, &mut self.releases);
        let life = node.life;
        if let Some(running) = &mut node.running
            && !running.disk_busy
            && !running.queue.is_empty()
        {
            running.disk_busy = true;
            let slowest = self.flush.max(node.slow_disk);
            let delay = 50 + self.random.below(slowest);
            self.after(delay, Happening::DiskDone { node: id, life });
        }
        for (index, payload) in left.committed {
            self.jobs.committed(index, &payload);
        }
        for effects in left.effects {
            self.released(effects);
        }
        for message in left.messages {
            let (to, bytes) = (message.to(), message.encode());
            for delay in self.network.deliveries(&mut self.random, id, to) {
                let bytes = bytes.clone();
                self.after(
                    delay,
                    Happening::Arrive(Flight {
                        from: id,
                        to,
                        bytes,
                    }),
                );
            }
        }
    }

    fn released(&mut self, effects: Effects) {
        for (id, answer) in effects.responses {
            self.clients.answered(id, answer);
        }
        for (_, job) in effects.pushes {
            self.clients.pushed += 1;
            // Some pushed jobs never reach their worker: their time-out brings them back.
            if self.random.below(5) > 0 {
                self.clients.jobs.push(job);
            }
        }
        for (_, command) in effects.sends {
            self.clients.remote += 1;
            if !self.faults || self.random.below(10) > 0 {
                let delay = 100 + self.random.below(3000);
                self.after(delay, Happening::Remote(command));
            }
        }
    }

    /// A burst of commands to somebody who believes to lead.
    fn client(&mut self) {
        let first = self.random.below(3);
        let Some(id) = self.leader(first) else {
            return;
        };
        let now = self.millis(id);
        for _ in 0..=self.random.below(4) {
            let (request, command) = self.clients.command(&mut self.random);
            let together = self.random.below(2) == 0;
            let Some(running) = self.nodes.get_mut(&id).unwrap().leading() else {
                break;
            };
            let command = command.into();
            running
                .core
                .process(now, Some(request), &command, &mut running.streams);
            if !together {
                self.propose(id);
            }
        }
        self.propose(id);
        self.settle(id);
    }

    fn fault(&mut self) {
        let id = 1 + self.random.below(3);
        let to = 1 + self.random.below(3);
        match self.random.below(20) {
            0..3 => self.nodes.get_mut(&id).unwrap().crash(&mut self.random),
            3..6 => self.restart_all(),
            6 => {
                // One direction.
                self.network.cut.insert((id, to));
            }
            7 | 8 => {
                // Nobody reaches this node, nor it anybody.
                self.network.isolate(id, 1..=3);
            }
            9 | 10 => self.network.cut.clear(),
            11 => {
                for node in self.nodes.values_mut() {
                    if let Some(running) = &mut node.running {
                        running.core.group_mut().transfer_leadership(to);
                    }
                }
                // Commands while leadership is handed over.
                self.client();
                for id in 1..=3 {
                    self.settle(id);
                }
            }
            12 => {
                // Within a burst of commands, some of which are not proposed yet.
                let (request, command) = self.clients.command(&mut self.random);
                let command = command.into();
                for id in 1..=3 {
                    let now = self.millis(id);
                    if let Some(running) = self.node(id).leading() {
                        let streams = &mut running.streams;
                        running.core.process(now, Some(request), &command, streams);
                        self.node(id).panic();
                        self.settle(id);
                    }
                }
            }
            13 | 14 => {
                let length = 50_000 + self.random.below(900_000);
                self.node(id).paused_until = self.agenda.now + length;
                self.pauses += 1;
            }
            15 => {
                self.node(id).clock = self.random.below(6_000) as i64 - 3_000;
                self.clock_jumps += 1;
            }
            16 => {
                // So slow that it could as well be full.
                self.node(id).slow_disk = self.random.below(600_000);
                self.slow_disks += 1;
            }
            _ => {
                self.node(id).capture_checkpoint();
                self.settle(id);
            }
        }
    }

    fn restart_all(&mut self) {
        for id in 1..=3 {
            let node = self.nodes.get_mut(&id).unwrap();
            if node.running.is_none() {
                self.restarts += 1;
                node.start(&mut self.oracle);
                let life = node.life;
                self.settle(id);
                self.after(TICK, Happening::Tick { node: id, life });
            }
        }
    }

    /// Ends all faults. Then the group must elect a leader, commit new commands, and become equal on all nodes.
    pub fn heal_and_check(&mut self) {
        self.faults = false;
        self.network.heal();
        self.flush = 500;
        for node in self.nodes.values_mut() {
            (node.paused_until, node.slow_disk, node.clock) = (0, 0, 0);
        }
        self.restart_all();
        // What was to happen on a node that paused happens within a second.
        self.run_until(self.agenda.now + 1_600_000);
        let before = self.clients.acknowledged;
        self.run_until(self.agenda.now + 200_000);
        assert!(
            self.clients.acknowledged > before,
            "no progress after the network healed"
        );
        // Without new commands everybody catches up, and what is due happens, also by a clock that was three seconds ahead.
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Client));
        self.run_until(self.agenda.now + 2_500_000);
        self.quiet = true;
        self.run_until(self.agenda.now + 200_000);
        let leaders = self.nodes.values_mut().filter_map(Node::leading).count();
        assert_eq!(leaders, 1, "exactly one leader when all is well");
        let commit = self.oracle.commit_index();
        let mut dump = None;
        for (id, node) in &mut self.nodes {
            let core = &mut node.running.as_mut().unwrap().core;
            assert_eq!(core.applied(), commit, "node {id} did not catch up");
            assert_eq!(core.evaluated().0, commit, "node {id} is ahead of the log");
            let own = core.engine().state.dump();
            assert!(
                *dump.get_or_insert_with(|| own.clone()) == own,
                "node {id} has another state"
            );
            self.clients.check(*id, core.engine_mut());
        }
    }
}
