//! The world: an agenda of events, the faults, and the delivery of messages.

use skep_protocol::command::{Command, Request};
use std::collections::BTreeMap;

use skep_cluster::{Layout, State, node_of};
use skep_engine::{Effects, RequestId, Sent};
use skep_replication::{Members, Role};

use super::agenda::Agenda;
use super::changes::ControlMessage;
use super::clients::{Clients, JOB_TYPE};
use super::host::Host;
use super::jobs::Jobs;
use super::metadata::{MemberEvent, Metadata};
use super::network::{Flight, Network};
use super::node::{Node, VOTERS};
use super::operators::Operators;
use super::oracle::Oracle;
use super::tally::Tally;
use super::{Mutation, Random};

/// Approximate microseconds between two ticks of a node.
pub const TICK: u64 = 10_000;
/// The engine's time when the world begins, in milliseconds.
const EPOCH: i64 = 1_700_000_000_000;
/// Microseconds of silence after which a node counts as away.
const SILENT_AFTER: u64 = 5 * TICK;
/// Number of machines in a world with cluster changes.
const HOSTS: u32 = 5;

#[derive(Debug)]
pub enum Happening {
    /// A message between replicas.
    Arrive(Flight),
    /// A message between members of the metadata group.
    Metadata(Flight),
    /// A message between nodes about changes of the cluster.
    ControlMessage(u32, Box<ControlMessage>),
    Remote(Sent),
    Tick {
        host: u32,
        life: u64,
    },
    DiskDone {
        node: u64,
        life: u64,
    },
    Client,
    /// A paused machine continues.
    Wakes(u32),
    Operator,
    Fault,
}

/// Features of a world besides faults and clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kind {
    /// Whether nodes and replicas come and go.
    pub changes: bool,
    /// Whether disks are lost for good; then there are at least three copies.
    pub lost_disks: bool,
    /// Whether replicas without work hibernate.
    pub hibernate: bool,
}

impl Kind {
    /// Covers every kind over consecutive seeds.
    pub fn of(seed: u64) -> Self {
        Self {
            changes: seed.is_multiple_of(2),
            lost_disks: seed.is_multiple_of(4),
            hibernate: seed % 6 < 3,
        }
    }
}

pub struct World {
    pub seed: u64,
    pub mutation: Mutation,
    pub kind: Kind,
    pub random: Random,
    pub oracle: Oracle,
    /// The oracle of the metadata group.
    pub own_oracle: Oracle,
    pub hosts: BTreeMap<u32, Host>,
    /// Replicas of the partition.
    pub nodes: BTreeMap<u64, Node>,
    /// The newest membership of the partition's group that took effect anywhere.
    pub members: Members,
    pub clients: Clients,
    pub operators: Operators,
    pub jobs: Jobs,
    pub network: Network,
    pub agenda: Agenda<Happening>,
    /// Maximum microseconds per flush.
    flush: u64,
    pub faults: bool,
    /// Whether no new events are scheduled.
    pub quiet: bool,
    releases: u64,
    pub tally: Tally,
}

impl World {
    pub fn new(seed: u64, mutation: Mutation) -> Self {
        Self::of(Kind::of(seed), seed, mutation)
    }

    pub fn of(kind: Kind, seed: u64, mutation: Mutation) -> Self {
        let mut random = Random(seed);
        let network = Network::random(&mut random);
        let flush = 200 + random.below(3) * 15_000;
        let mut world = Self {
            seed,
            mutation,
            kind,
            random,
            oracle: Oracle::new(VOTERS),
            own_oracle: Oracle::new(VOTERS),
            hosts: BTreeMap::new(),
            nodes: BTreeMap::new(),
            members: Members::bootstrap(VOTERS.to_vec()),
            clients: Clients::default(),
            operators: Operators::default(),
            jobs: Jobs::default(),
            network,
            agenda: Agenda::default(),
            flush,
            faults: true,
            quiet: false,
            releases: 0,
            tally: Tally::default(),
        };
        world.found();
        world.after(1000, Happening::Client);
        world.after(200_000, Happening::Fault);
        if kind.changes {
            world.after(300_000, Happening::Operator);
        }
        world
    }

    /// A world without faults and operators.
    pub fn without_faults(kind: Kind, seed: u64, mutation: Mutation) -> Self {
        let mut world = Self::of(kind, seed, mutation);
        world.faults = false;
        world.network.heal();
        world.flush = 500;
        world
            .agenda
            .retain(|happening| !matches!(happening, Happening::Client));
        world
    }

    /// The leading replica with its term: the newest of several.
    pub fn leading_member(&self) -> Option<(u64, u64)> {
        let groups = self.nodes.values().filter_map(|node| {
            let running = node.running.as_ref()?;
            Some((running.core.group(), node.id))
        });
        let leading = groups.filter(|(group, _)| matches!(group.role(), Role::Leader { .. }));
        leading.map(|(group, id)| (group.term(), id)).max()
    }

    /// Bootstraps three nodes, each with a copy; with cluster changes there are further machines with empty disks.
    fn found(&mut self) {
        let layout = Layout {
            nodes: vec![0, 1, 2],
            copies: 3,
            partitions: 1,
        };
        let first = State::bootstrapped("simulated".to_string(), &layout, 0);
        for host in 0..if self.kind.changes { HOSTS } else { 3 } {
            let mut fresh = Host::default();
            if let Some(member) = first.member(host) {
                let replica = self.replica(member, self.members.clone());
                self.nodes.insert(member, replica);
                fresh.replica = Some(member);
                if self.kind.changes {
                    fresh.own = Some(Metadata::new(
                        member,
                        self.members.clone(),
                        Some(first.clone()),
                    ));
                } else {
                    fresh.known = first.clone();
                }
            }
            self.hosts.insert(host, fresh);
            self.start(host);
        }
    }

    /// A new replica on an empty disk.
    pub fn replica(&self, member: u64, members: Members) -> Node {
        let hibernate_after = self.kind.hibernate.then_some(6);
        Node::new(member, members, hibernate_after, self.seed, self.mutation)
    }

    pub fn host(&mut self, host: u32) -> &mut Host {
        self.hosts.get_mut(&host).unwrap()
    }

    /// The machine of a member.
    pub fn host_of(&mut self, member: u64) -> &mut Host {
        self.host(node_of(member).unwrap())
    }

    pub fn ids(&self) -> Vec<u64> {
        self.nodes.keys().copied().collect()
    }

    /// A random machine.
    pub fn any(&mut self) -> u32 {
        let at = self.random.below(self.hosts.len() as u64);
        u32::try_from(at).unwrap()
    }

    /// The time on the clock of a replica's machine.
    pub fn millis(&mut self, node: u64) -> i64 {
        EPOCH + (self.agenda.now / 1000) as i64 + self.host_of(node).clock
    }

    pub fn after(&mut self, delay: u64, happening: Happening) {
        self.agenda.after(delay, happening);
    }

    pub fn run_until(&mut self, end: u64) {
        while let Some(happening) = self.agenda.next(end) {
            self.happen(happening);
        }
    }

    pub fn run_for(&mut self, time: u64) {
        self.run_until(self.agenda.now + time);
    }

    /// Time for which the machine is paused from now on.
    fn pause_of(&mut self, happening: &Happening) -> u64 {
        let host = match happening {
            Happening::Arrive(flight) | Happening::Metadata(flight) => node_of(flight.to).unwrap(),
            Happening::DiskDone { node, .. } => node_of(*node).unwrap(),
            Happening::Tick { host, .. } | Happening::ControlMessage(host, _) => *host,
            Happening::Remote(_)
            | Happening::Client
            | Happening::Wakes(_)
            | Happening::Operator
            | Happening::Fault => {
                return 0;
            }
        };
        let now = self.agenda.now;
        self.host(host).paused_until.saturating_sub(now)
    }

    /// The replica that accepts commands, if any is active.
    fn leader(&mut self, first: u64) -> Option<u64> {
        let now = self.agenda.now;
        let mut ids = self.ids();
        let turn = first as usize % ids.len().max(1);
        ids.rotate_left(turn);
        ids.into_iter().find(|id| {
            self.host_of(*id).paused_until <= now
                && self
                    .nodes
                    .get_mut(id)
                    .is_some_and(|it| it.leading().is_some())
        })
    }

    fn happen(&mut self, happening: Happening) {
        let pause = self.pause_of(&happening);
        if pause > 0 {
            return self.after(pause, happening);
        }
        match happening {
            Happening::Arrive(flight) => {
                let Some(node) = self.nodes.get_mut(&flight.to) else {
                    return;
                };
                node.receive(flight.from, flight.bytes);
                // Due work may come between a message and the next poll.
                if self.random.below(8) == 0 {
                    self.due(flight.to);
                }
                self.settle(flight.to);
            }
            Happening::Metadata(flight) => self.metadata_arrives(flight),
            Happening::ControlMessage(host, message) => self.receive_control(host, *message),
            Happening::Remote(command) => self.remote(&command),
            Happening::Tick { host, life } => self.tick(host, life),
            Happening::DiskDone { node, life } => {
                let Some(it) = self.nodes.get_mut(&node).filter(|it| it.life == life) else {
                    return;
                };
                let count = 1 + self.random.below(3) as usize;
                it.disk_done(count, &mut self.oracle);
                self.settle(node);
            }
            Happening::Client => {
                self.client();
                let pause = match self.random.below(30) {
                    // Long enough for a group to hibernate.
                    0 if self.kind.hibernate && self.faults => 150_000 + self.random.below(200_000),
                    _ => 2000 + self.random.below(40_000),
                };
                self.after(pause, Happening::Client);
            }
            Happening::Wakes(host) => {
                // Requests of waiting clients may come before messages that other members have sent meanwhile.
                if let Some(id) = self.host(host).replica {
                    self.look(id);
                }
            }
            Happening::Operator => {
                self.operate();
                let pause = 20_000 + self.random.below(200_000);
                self.after(pause, Happening::Operator);
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

    fn remote(&mut self, command: &Sent) {
        let Some(id) = self.leader(0) else {
            return;
        };
        let now = self.millis(id);
        if let Some(running) = self.leading(id) {
            let streams = &mut running.streams;
            running.core.process_remote(now, command, streams);
        }
        self.propose(id);
        self.settle(id);
    }

    /// The replica, if it accepts commands.
    pub fn leading(&mut self, id: u64) -> Option<&mut super::node::Running> {
        self.nodes.get_mut(&id)?.leading()
    }

    fn tick(&mut self, host: u32, life: u64) {
        let here = self.host(host);
        if !here.up || here.life != life {
            return;
        }
        here.ticks += 1;
        let replica = here.replica;
        let goes_on = here.ticks.is_multiple_of(3);
        if self.kind.hibernate {
            self.beat(host);
        }
        self.metadata_event(host, MemberEvent::Tick);
        if let Some(id) = replica {
            if self.kind.hibernate {
                self.report_silence(host, id);
            }
            if let Some(running) = self.nodes.get_mut(&id).and_then(|it| it.running.as_mut()) {
                running.core.group_mut().tick();
                self.due(id);
                self.settle(id);
            }
        }
        if goes_on && self.kind.changes {
            self.go_on_with_change(host);
        }
        let pace = TICK - 500 + self.random.below(1000);
        self.after(pace, Happening::Tick { host, life });
    }

    /// Sends the node's heartbeat to all others.
    fn beat(&mut self, from: u32) {
        let now = self.agenda.now;
        for (to, host) in &mut self.hosts {
            let (a, b) = (u64::from(from), u64::from(*to));
            let arrives = !self.network.deliveries(&mut self.random, a, b).is_empty();
            if arrives && host.up {
                host.last_seen.insert(from, now);
            }
        }
    }

    /// Tells the node's replica which members are silent.
    fn report_silence(&mut self, host: u32, id: u64) {
        let now = self.agenda.now;
        let last_seen = &self.hosts[&host].last_seen;
        let silence = |member: u64| {
            let last = node_of(member).and_then(|node| last_seen.get(&node));
            now - last.copied().unwrap_or_default()
        };
        if let Some(running) = self.nodes.get_mut(&id).and_then(|it| it.running.as_mut()) {
            let group = running.core.group_mut();
            self.tally.hibernates += u64::from(group.hibernates());
            let ticks = group.leader().map_or(0, silence) / TICK;
            let ticks = usize::try_from(ticks).unwrap_or(usize::MAX);
            group.note_silent(|of| silence(of) > SILENT_AFTER, ticks);
        }
    }

    /// Does due work, and pushes to a stream that has credit again.
    fn due(&mut self, id: u64) {
        if self.quiet {
            return;
        }
        let now = self.millis(id);
        let room = self.random.below(6) == 0;
        if let Some(running) = self.leading(id) {
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
        if let Some(node) = self.nodes.get_mut(&id) {
            node.propose(&mut self.oracle, &mut self.releases);
        }
    }

    /// Lets a replica carry out the consequences of the last event.
    pub fn settle(&mut self, id: u64) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let left = node.poll(&mut self.oracle, &mut self.releases);
        let life = node.life;
        if let Some(running) = &mut node.running
            && !running.disk_busy
            && !running.queue.is_empty()
        {
            running.disk_busy = true;
            let slowest = self.flush.max(self.host_of(id).slow_disk);
            let delay = 50 + self.random.below(slowest);
            self.after(delay, Happening::DiskDone { node: id, life });
        }
        for (index, payload) in left.committed {
            self.jobs.committed(index, &payload);
        }
        for members in left.members {
            if members.index > self.members.index {
                self.members = members;
            }
        }
        for effects in left.effects {
            self.released(effects);
        }
        for message in left.messages {
            self.fly(id, message.to(), message.encode(), Happening::Arrive);
        }
    }

    /// Sends bytes from member to member.
    pub fn fly(
        &mut self,
        from: u64,
        to: u64,
        bytes: bytes::Bytes,
        arrives: impl Fn(Flight) -> Happening,
    ) {
        let hosts = (node_of(from).unwrap(), node_of(to).unwrap());
        for delay in self.deliveries(hosts.0, hosts.1) {
            let bytes = bytes.clone();
            let flight = Flight { from, to, bytes };
            self.after(delay, arrives(flight));
        }
    }

    /// The delays after which copies of a message between two machines arrive.
    pub fn deliveries(&mut self, from: u32, to: u32) -> Vec<u64> {
        let (from, to) = (u64::from(from), u64::from(to));
        self.network.deliveries(&mut self.random, from, to)
    }

    fn released(&mut self, effects: Effects) {
        for (id, answer) in effects.responses {
            self.clients.answered(id, answer);
        }
        for (_, job) in effects.pushes {
            self.clients.pushed += 1;
            // Some pushed jobs never reach their worker: their time-out makes them available again.
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

    /// Sends a burst of commands to a replica that believes to lead.
    pub fn client(&mut self) {
        let first = self.random.below(3);
        if let Some(id) = self.leader(first) {
            self.burst(id);
        }
    }

    /// Sends reads of acknowledged values to a replica.
    fn look(&mut self, id: u64) {
        for _ in 0..4 {
            let asked = self.clients.looks(&mut self.random);
            self.send(id, asked);
        }
    }

    /// Sends a client's command to a replica, which accepts it if it believes to lead.
    pub fn send(&mut self, id: u64, (request, command): (RequestId, Command)) {
        let now = self.millis(id);
        if let Some(running) = self.leading(id) {
            let command = Request::internal(command);
            let streams = &mut running.streams;
            running.core.process(now, Some(request), &command, streams);
            self.propose(id);
            self.settle(id);
        }
    }

    fn burst(&mut self, id: u64) {
        if self.leading(id).is_none() {
            return;
        }
        let now = self.millis(id);
        for _ in 0..=self.random.below(4) {
            let (request, command) = self.clients.command(&mut self.random);
            let together = self.random.below(2) == 0;
            let Some(running) = self.leading(id) else {
                break;
            };
            let command = Request::internal(command);
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

    /// Starts a machine with the content of its disk.
    pub fn start(&mut self, host: u32) {
        let here = self.hosts.get_mut(&host).unwrap();
        here.up = true;
        here.life += 1;
        let life = here.life;
        if self.kind.changes {
            here.known = State::default();
        }
        if let Some(own) = &mut here.own {
            let seed = super::hash(&[self.seed, u64::from(host), life], &[]);
            own.start(seed, &mut self.own_oracle);
            here.known = own.stored_state().unwrap_or_default();
        }
        self.open_replica(host);
        self.after(TICK, Happening::Tick { host, life });
    }

    /// Ends all faults. Then changes must end, and the group must elect a leader, commit new commands, and become equal on all nodes.
    pub fn heal_and_check(&mut self) {
        self.faults = false;
        self.network.heal();
        self.flush = 500;
        for host in self.hosts.values_mut() {
            (host.paused_until, host.slow_disk, host.clock) = (0, 0, 0);
            if let Some(own) = &mut host.own {
                own.fuse = None;
            }
        }
        self.restart_all();
        if self.kind.changes {
            self.finish_changes();
        }
        // Events of a paused node happen within a second.
        self.run_for(1_600_000);
        let before = self.clients.acknowledged;
        self.run_for(200_000);
        assert!(
            self.clients.acknowledged > before,
            "no progress after the network healed"
        );
        // Without new commands all nodes catch up, and due work happens, even by a clock that was three seconds ahead.
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Client));
        self.run_for(2_500_000);
        self.quiet = true;
        self.run_for(200_000);
        let leaders = self.nodes.values_mut().filter_map(Node::leading).count();
        assert_eq!(leaders, 1, "exactly one leader when all is well");
        if self.kind.hibernate {
            for (id, node) in &self.nodes {
                let group = node.running.as_ref().unwrap().core.group();
                assert!(
                    group.hibernates(),
                    "node {id} has no work and does not hibernate"
                );
            }
        }
        if self.kind.changes {
            self.check_cluster();
        }
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
        self.count();
    }
}
