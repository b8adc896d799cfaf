//! The world: an agenda of events, the faults, and the clients.

use std::collections::BTreeMap;

use skep_replication::{Change, Members};

use super::agenda::Agenda;
use super::machine::Command;
use super::network::{Flight, Network};
use super::node::{Node, VOTERS};
use super::oracle::Oracle;
use super::{Mutation, Random};

/// Approximate microseconds between two ticks of a node.
pub const TICK: u64 = 10_000;
const COUNTERS: u64 = 3;
/// Microseconds of silence after which a node counts as away.
const SILENT_AFTER: u64 = 5 * TICK;

#[derive(Debug)]
enum Happening {
    Arrive(Flight),
    /// A node's heartbeat, for all its groups.
    Beat {
        from: u64,
        to: u64,
    },
    /// Connections to a node that is down are refused, unless it is back by then.
    Refused {
        gone: u64,
        to: u64,
    },
    Tick {
        node: u64,
        life: u64,
    },
    DiskDone {
        node: u64,
        life: u64,
    },
    Client,
    Fault,
}

pub struct World {
    pub random: Random,
    pub oracle: Oracle,
    pub nodes: BTreeMap<u64, Node>,
    network: Network,
    agenda: Agenda<Happening>,
    next_command: u64,
    /// Maximum microseconds per flush.
    flush: u64,
    faults: bool,
    mutation: Mutation,
    seed: u64,
    /// Nodes with hanging disks, and the end of the fault.
    hanging: BTreeMap<u64, u64>,
    /// Time of the (first or last) heartbeat from another node.
    last_seen: BTreeMap<(u64, u64), u64>,
    /// Number of messages between members so far.
    pub sent: u64,
    /// Number of ticks with a hibernating member.
    pub hibernates: u64,
    /// In worlds with membership changes, the newest membership that took effect anywhere.
    members: Option<Members>,
    next_member: u64,
    /// A voter whose disk is lost; the others continue without it until it is removed.
    lost: Option<u64>,
    pub changes: u64,
    pub lost_disks: u64,
    pub hung_disks: u64,
    pub snapshots: u64,
    pub restarts: u64,
    pub transfers: u64,
}

impl World {
    pub fn new(seed: u64, mutation: Mutation) -> Self {
        let mut random = Random(seed);
        let mut oracle = Oracle::new(VOTERS);
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
            network,
            agenda: Agenda::default(),
            next_command: 1,
            flush,
            faults: true,
            mutation,
            seed,
            hanging: BTreeMap::new(),
            last_seen: BTreeMap::new(),
            sent: 0,
            hibernates: 0,
            members: None,
            next_member: 4,
            lost: None,
            changes: 0,
            lost_disks: 0,
            hung_disks: 0,
            snapshots: 0,
            restarts: 0,
            transfers: 0,
        };
        for id in 1..=3 {
            world.after(TICK, Happening::Tick { node: id, life: 1 });
        }
        world.after(1000, Happening::Client);
        world.after(200_000, Happening::Fault);
        world
    }

    /// A world without faults and requests.
    pub fn idle(seed: u64, mutation: Mutation) -> Self {
        let mut world = Self::new(seed, mutation);
        world.heal();
        world
            .agenda
            .retain(|happening| !matches!(happening, Happening::Client));
        world
    }

    /// A world with membership changes.
    pub fn with_changes(seed: u64, mutation: Mutation) -> Self {
        let mut world = Self::new(seed, mutation);
        world.members = Some(Members::bootstrap(VOTERS.to_vec()));
        world
    }

    /// A world without random faults; a message takes up to `delay` microseconds.
    pub fn without_faults(seed: u64, delay: u64) -> Self {
        let mut world = Self::new(seed, Mutation::None);
        world.network.heal();
        world.network.delay = delay;
        (world.faults, world.flush) = (false, 500);
        world
    }

    /// Microseconds since the world began.
    pub fn now(&self) -> u64 {
        self.agenda.now
    }

    /// The leading node with its term: the newest of several.
    pub fn leader(&self) -> Option<(u64, u64)> {
        let leaders = self.nodes.values().filter(|node| node.leads());
        leaders.map(|node| (node.term(), node.id)).max()
    }

    /// Drops all messages to this node; the others still hear it.
    pub fn deafen(&mut self, node: u64) {
        let others = self.ids().into_iter().filter(|other| *other != node);
        self.network.cut.extend(others.map(|other| (other, node)));
    }

    /// Hangs the disk of this node for this many microseconds; its messages are not affected.
    pub fn hang_disk(&mut self, node: u64, time: u64) {
        self.hung_disks += 1;
        self.hanging.insert(node, self.agenda.now + time);
    }

    pub fn ids(&self) -> Vec<u64> {
        self.nodes.keys().copied().collect()
    }

    /// Starts members that were added, and ends removed ones, including their disks.
    fn follow_members(&mut self) {
        let Some(members) = self.members.clone() else {
            return;
        };
        for learner in &members.learners {
            if self.nodes.contains_key(learner) {
                continue;
            }
            let mut begins = members.clone();
            if self.mutation == Mutation::VotesEarly {
                begins.voters.push(*learner);
                begins.voters.sort_unstable();
                begins.learners.clear();
            }
            let mut node = Node::joining(*learner, self.seed, self.mutation, begins);
            node.start(&mut self.oracle);
            self.nodes.insert(*learner, node);
            let tick = Happening::Tick {
                node: *learner,
                life: 1,
            };
            self.after(TICK, tick);
        }
        self.nodes.retain(|id, _| members.contains(*id));
        self.lost = self.lost.filter(|lost| members.contains(*lost));
    }

    /// Loses a voter's disk for good, if the others are a majority without it.
    fn lose_disk(&mut self) {
        let Some(members) = self.members.clone() else {
            return;
        };
        let at = self.random.below(members.voters.len() as u64) as usize;
        let voter = members.voters[at];
        let are_enough = members.voters.len() > 2;
        if self.lost.is_some() || !are_enough || self.nodes.remove(&voter).is_none() {
            return;
        }
        self.lost_disks += 1;
        if self.mutation == Mutation::LostDiskComesBack {
            self.oracle.is_gone(voter);
            let node = Node::joining(voter, self.seed, self.mutation, members);
            self.nodes.insert(voter, node);
        } else {
            self.lost = Some(voter);
        }
    }

    /// The leader changes the members, one at a time.
    fn change_members(&mut self) {
        self.follow_members();
        let Some(members) = self.members.clone() else {
            return;
        };
        for id in self.ids() {
            let Some(node) = self.nodes.get_mut(&id) else {
                continue;
            };
            let caught_up = |learner: &u64| {
                let group = node.running.as_ref().map(|running| &running.group);
                group.is_some_and(|group| group.has_caught_up(*learner))
            };
            let change = match (self.lost, members.learners.first()) {
                (Some(lost), _) => Change::Remove(lost),
                (_, Some(learner)) if caught_up(learner) => Change::Promote(*learner),
                (_, Some(learner)) if self.random.below(8) == 0 => Change::Remove(*learner),
                (_, Some(_)) => continue,
                _ if members.voters.len() <= 3 => Change::AddLearner(self.next_member),
                _ => {
                    let at = self.random.below(members.voters.len() as u64) as usize;
                    Change::Remove(members.voters[at])
                }
            };
            if node.change(change) {
                self.changes += 1;
                if let Change::AddLearner(_) = change {
                    self.next_member += 1;
                }
            }
            self.settle(id);
        }
    }

    fn after(&mut self, delay: u64, happening: Happening) {
        self.agenda.after(delay, happening);
    }

    /// Runs until this time.
    pub fn run_until(&mut self, end: u64) {
        while let Some(happening) = self.agenda.next(end) {
            self.happen(happening);
        }
    }

    fn lives(&self, node: u64, life: u64) -> bool {
        self.nodes
            .get(&node)
            .is_some_and(|node| node.life == life && node.running.is_some())
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive(flight) => {
                if let Some(node) = self.nodes.get_mut(&flight.to) {
                    node.receive(flight.from, flight.bytes);
                }
                self.settle(flight.to);
            }
            Happening::Beat { from, to } => {
                self.last_seen.insert((to, from), self.agenda.now);
            }
            Happening::Refused { gone, to } => {
                let is_gone = |node: &Node| node.running.is_none();
                if self.nodes.get(&gone).is_none_or(is_gone) {
                    self.report_gone(gone, to);
                }
            }
            Happening::Tick { node, life } => {
                if !self.lives(node, life) {
                    return;
                }
                self.beat(node);
                self.report_silence(node);
                if let Some(running) = self
                    .nodes
                    .get_mut(&node)
                    .and_then(|node| node.running.as_mut())
                {
                    running.group.tick();
                }
                self.settle(node);
                let pace = TICK - 500 + self.random.below(1000);
                self.after(pace, Happening::Tick { node, life });
            }
            Happening::DiskDone { node, life } => {
                if !self.lives(node, life) {
                    return;
                }
                let oracle = &mut self.oracle;
                if let Some(node) = self.nodes.get_mut(&node) {
                    let count = 1 + self.random.below(3) as usize;
                    node.disk_done(count, oracle);
                    if let Some(running) = &mut node.running {
                        running.disk_busy = false;
                    }
                }
                self.settle(node);
            }
            Happening::Client => {
                self.client();
                let pause = match self.random.below(40) {
                    // Long enough for a group to hibernate.
                    0 if self.faults => 100_000 + self.random.below(200_000),
                    _ => 500 + self.random.below(20_000),
                };
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

    /// Sends the node's heartbeat to all others.
    fn beat(&mut self, from: u64) {
        for to in self.ids().into_iter().filter(|to| *to != from) {
            for delay in self.network.deliveries(&mut self.random, from, to) {
                self.after(delay, Happening::Beat { from, to });
            }
        }
    }

    /// Tells the node's member which members are silent.
    fn report_silence(&mut self, id: u64) {
        if self.mutation == Mutation::WatchNobody {
            return;
        }
        let (now, last_seen) = (self.agenda.now, &self.last_seen);
        let silence = |of: u64| now - last_seen.get(&(id, of)).copied().unwrap_or_default();
        if let Some(node) = self.nodes.get_mut(&id)
            && let Some(running) = &mut node.running
        {
            self.hibernates += u64::from(running.group.hibernates());
            let leader = running.group.leader().map_or(0, silence);
            let ticks = usize::try_from(leader / TICK).unwrap_or(usize::MAX);
            let is_silent = |of| silence(of) > SILENT_AFTER;
            running.group.note_silent(is_silent, ticks);
        }
    }

    /// Lets a node carry out the consequences of the last event.
    fn settle(&mut self, id: u64) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let messages = node.poll(&mut self.oracle);
        for news in node.news.drain(..) {
            match &mut self.members {
                Some(members) if members.index < news.index => *members = news,
                _ => {}
            }
        }
        let life = node.life;
        let mut disk = None;
        if let Some(running) = &mut node.running
            && !running.disk_busy
            && !running.queue.is_empty()
        {
            running.disk_busy = true;
            let until = self.hanging.get(&id).copied().unwrap_or_default();
            let hangs = until.saturating_sub(self.agenda.now);
            disk = Some(50 + hangs + self.random.below(self.flush));
        }
        if let Some(delay) = disk {
            self.after(delay, Happening::DiskDone { node: id, life });
        }
        for message in messages {
            if message.is_snapshot() {
                self.snapshots += 1;
            }
            self.sent += 1;
            let to = message.to();
            let bytes = message.encode();
            for delay in self.network.deliveries(&mut self.random, id, to) {
                let flight = Flight {
                    from: id,
                    to,
                    bytes: bytes.clone(),
                };
                self.after(delay, Happening::Arrive(flight));
            }
        }
    }

    /// Sends a burst of commands to any node that accepts them, so that several proposals are in flight.
    fn client(&mut self) {
        for _ in 0..=self.random.below(4) {
            let command = Command {
                number: self.next_command,
                counter: self.random.below(COUNTERS),
            };
            for id in self.ids() {
                let Some(node) = self.nodes.get_mut(&id) else {
                    continue;
                };
                if node.command(command, &mut self.oracle) {
                    self.next_command += 1;
                    break;
                }
            }
        }
        for id in self.ids() {
            self.settle(id);
        }
    }

    /// A random node.
    fn any(&mut self) -> u64 {
        let ids = self.ids();
        let at = self.random.below(ids.len() as u64) as usize;
        ids.get(at).copied().unwrap_or(1)
    }

    fn fault(&mut self) {
        if self.members.is_some() {
            match self.random.below(20) {
                0..10 => return self.change_members(),
                10 => return self.lose_disk(),
                _ => {}
            }
        }
        let id = self.any();
        match self.random.below(13) {
            0..3 => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.crash(&mut self.random);
                }
                for to in self.ids() {
                    let delay = self.random.below(100_000);
                    self.after(delay, Happening::Refused { gone: id, to });
                }
            }
            3..6 => self.restart_all(),
            6 => {
                // One direction.
                let to = self.any();
                self.network.cut.insert((id, to));
            }
            7 => {
                // This node is isolated from all others.
                let others = self.ids();
                self.network.isolate(id, others);
            }
            8 => {
                self.network.cut.clear();
                // Something in between refused the connection, although the node is up.
                let to = self.any();
                self.report_gone(id, to);
            }
            9 => {
                let to = self.any();
                for node in self.nodes.values_mut() {
                    if let Some(running) = &mut node.running {
                        self.transfers += u64::from(running.group.transfer_leadership(to));
                    }
                }
                for id in self.ids() {
                    self.settle(id);
                }
            }
            10 => {
                let time = 50_000 + self.random.below(600_000);
                self.hang_disk(id, time);
            }
            _ => {
                let keep = self.random.below(8);
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.checkpoint(keep, &mut self.oracle);
                }
                self.settle(id);
            }
        }
    }

    /// Tells a node that connections to another one are refused.
    pub fn report_gone(&mut self, gone: u64, to: u64) {
        let node = self.nodes.get_mut(&to);
        if let Some(running) = node.and_then(|node| node.running.as_mut()) {
            running.group.gone(|of| of == gone);
        }
        self.settle(to);
    }

    pub fn restart_all(&mut self) {
        for id in self.ids() {
            let Some(node) = self.nodes.get_mut(&id) else {
                continue;
            };
            if node.running.is_none() {
                self.restarts += 1;
                node.start(&mut self.oracle);
                let life = node.life;
                self.settle(id);
                self.after(TICK, Happening::Tick { node: id, life });
            }
        }
    }

    /// Ends all faults.
    fn heal(&mut self) {
        self.faults = false;
        self.network.heal();
        self.hanging.clear();
        self.flush = 500;
    }

    /// Isolates this node from all others.
    pub fn isolate(&mut self, id: u64) {
        let others = self.ids();
        self.network.isolate(id, others);
    }

    /// The leader proposes to remove a member.
    pub fn remove(&mut self, leader: u64, member: u64) {
        if let Some(node) = self.nodes.get_mut(&leader) {
            assert!(node.change(Change::Remove(member)));
        }
        self.settle(leader);
    }

    pub fn crash(&mut self, id: u64) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.crash(&mut self.random);
        }
    }

    /// Sends one command to the leader.
    pub fn command_once(&mut self) {
        self.client();
    }

    /// The leader, among all nodes except `without`.
    pub fn leader_but(&self, without: u64) -> Option<u64> {
        let mut nodes = self.nodes.values();
        let leads = |node: &&Node| node.id != without && node.leads();
        nodes.find(leads).map(|node| node.id)
    }

    /// Lets time pass.
    pub fn run_for(&mut self, time: u64) {
        self.run_until(self.agenda.now + time);
    }

    /// Ends all faults. Then the group must elect a leader, commit new commands, and become equal on all nodes.
    pub fn heal_and_check_progress(&mut self) {
        self.heal();
        self.follow_members();
        self.restart_all();
        for _ in 0..3 {
            self.run_until(self.agenda.now + 300_000);
            // A pending membership change may have taken effect.
            self.follow_members();
        }
        let patience = self.agenda.now + 2_000_000;
        while self.lost.is_some() {
            assert!(self.agenda.now < patience, "a lost member was not removed");
            self.change_members();
            self.run_for(100_000);
            self.follow_members();
        }
        let before = self.oracle.acknowledged.len();
        self.run_until(self.agenda.now + 200_000);
        assert!(
            self.oracle.acknowledged.len() > before,
            "no progress after the network healed"
        );
        assert_eq!(
            self.nodes.values().filter(|node| node.leads()).count(),
            1,
            "exactly one leader when all is well"
        );
        // Without new commands all nodes catch up.
        self.next_command = u64::MAX / 2;
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Client));
        self.run_until(self.agenda.now + 400_000);
        let commit = self.oracle.commit_index();
        for node in self.nodes.values() {
            assert_eq!(node.reported(), commit, "node {} did not catch up", node.id);
        }
        // A member that does not hibernate with its leader soon misses it, and elections never end.
        for node in self.nodes.values() {
            let group = &node.running.as_ref().unwrap().group;
            assert!(group.hibernates(), "node {} does not hibernate", node.id);
        }
    }
}
