//! The world: three machines with a replica of each partition, and an agenda of events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_broker::partition::Timetable;
use skep_cluster::node_of;
use skep_engine::{EngineConfig, IdentityConfig, Place, RequestId, Sent, TurnTime};
use skep_protocol::Routing;
use skep_protocol::command::Request;
use skep_protocol::response::JobActivation;
use skep_replication::Members;

use super::super::agenda::Agenda;
use super::super::clients::JOB_TYPE;
use super::super::network::{Flight, Network};
use super::super::node::{self, Node};
use super::super::oracle::Oracle;
use super::super::{Mutation as NodeMutation, Random};
use super::chronicle::Chronicle;
use super::clients::Clients;
use super::hanging::Hung;
use super::heartbeats::Status;
use super::operators::{LOOK, Operators};
use super::reads::Step;
use super::routes::{Held, Way};
use super::tally::Tally;
use super::{Mutation, NOW, monotonic};

/// Approximate microseconds between two ticks of a machine.
pub const TICK: u64 = 10_000;
/// Microseconds after which a request is tried again whose correlation key is about to move.
const FROZEN: u64 = 2_000;
/// Milliseconds after which an unanswered command is repeated.
pub const RETRY: i64 = 150;
/// Interval between a partition's checks for unannounced work.
const CHECKS: Duration = Duration::from_millis(40);
/// The engine's time when the world begins, in milliseconds.
const EPOCH: i64 = 1_700_000_000_000;
pub const MACHINES: u32 = 3;

/// A replica: the partition and the machine.
pub type ReplicaId = (u32, u32);

#[derive(Debug)]
pub enum Happening {
    /// A message between replicas of a partition.
    Arrive(u32, Flight),
    /// A command of another partition arrives at a machine.
    Remote {
        host: u32,
        partition: u32,
        sent: Box<Sent>,
        way: Way,
    },
    /// A client's request arrives at the machine that seems to lead.
    Request {
        place: ReplicaId,
        id: RequestId,
        request: Box<Request>,
    },
    /// A machine receives another one's status.
    Status {
        host: u32,
        from: u32,
        status: Status,
    },
    /// A replica carries out the consequences of a command.
    Settle(ReplicaId),
    Tick {
        host: u32,
        life: u64,
    },
    DiskDone {
        place: ReplicaId,
        life: u64,
    },
    Client,
    Fault,
    /// A job that its client did not take comes back.
    Returned {
        place: ReplicaId,
        job: JobActivation,
    },
    /// An operator looks at the cluster.
    Operator,
    /// What a machine notices of a connection with another one, or receives over it.
    Stream {
        host: u32,
        from: u32,
        to: u32,
    },
    /// A step of a search at a machine.
    Search {
        host: u32,
        step: Step,
    },
    /// A machine ends its copies for a purge.
    Leaves {
        host: u32,
    },
    /// A machine hears of the routing that the cluster has agreed on.
    Learns {
        host: u32,
    },
}

/// A machine: its parts fail together.
pub struct Host {
    pub up: bool,
    /// Number of starts, so that events of an earlier life are dropped.
    pub life: u64,
    pub paused_until: u64,
    /// Maximum microseconds per flush.
    pub slow_disk: u64,
    /// Milliseconds by which its clock is ahead.
    pub clock: i64,
    /// The last status of each other machine, and its time.
    pub last_seen: BTreeMap<u32, (u64, Status)>,
    /// Commands that wait for a leader.
    pub held: VecDeque<Held>,
    /// The routing that it has heard of.
    pub routing: Arc<Routing>,
}

impl Host {
    fn new(routing: Arc<Routing>) -> Host {
        Host {
            up: false,
            life: 0,
            paused_until: 0,
            slow_disk: 0,
            clock: 0,
            last_seen: BTreeMap::new(),
            held: VecDeque::new(),
            routing,
        }
    }
}

pub struct Replica {
    pub node: Node,
    pub timetable: Timetable,
    /// Next check by the wall clock, for [`Mutation::RetryByWallClock`].
    looks_at: i64,
    /// No flush completes before this time.
    pub hangs_until: u64,
    /// Its thread hangs, or did.
    pub hung: Option<Hung>,
    /// Set when the replica's thread has ended by an error: the machine that it considered the leader's.
    pub died: Option<Option<u32>>,
}

/// The oracle of a partition's group, and the number of answers released.
pub struct Watched {
    pub oracle: Oracle,
    releases: u64,
}

/// Limits of activity.
pub struct Calm {
    /// Whether groups without work hibernate.
    pub hibernate: bool,
    /// Clients send no requests until then.
    pub lull_until: u64,
    /// Whether no new events are scheduled.
    pub quiet: bool,
    /// Whether faults happen.
    pub faults: bool,
}

pub struct World {
    pub seed: u64,
    pub mutation: Mutation,
    pub random: Random,
    pub routing: Arc<Routing>,
    pub groups: BTreeMap<u32, Watched>,
    pub hosts: Vec<Host>,
    pub replicas: BTreeMap<ReplicaId, Replica>,
    pub network: Network,
    pub agenda: Agenda<Happening>,
    /// Maximum microseconds per flush.
    pub flush: u64,
    pub calm: Calm,
    began: Instant,
    pub operators: Operators,
    pub clients: Clients,
    pub chronicle: Chronicle,
    pub tally: Tally,
}

impl Watched {
    /// A group with these members.
    pub fn of(members: Vec<u64>) -> Watched {
        Watched {
            oracle: Oracle::new(members),
            releases: 0,
        }
    }
}

impl World {
    pub fn new(seed: u64, mutation: Mutation) -> Self {
        NOW.set(0);
        let mut random = Random(seed);
        let partitions = 2 + random.below(3) as u32;
        let network = Network::random(&mut random);
        let flush = 200 + random.below(3) * 10_000;
        let all = 1..=partitions;
        let routing = Arc::new(Routing::new(partitions));
        let mut world = Self {
            seed,
            mutation,
            random,
            routing: routing.clone(),
            groups: BTreeMap::new(),
            hosts: (0..MACHINES).map(|_| Host::new(routing.clone())).collect(),
            replicas: BTreeMap::new(),
            network,
            agenda: Agenda::default(),
            flush,
            calm: Calm {
                hibernate: seed.is_multiple_of(2),
                lull_until: 0,
                quiet: false,
                faults: true,
            },
            began: Instant::now(),
            operators: Operators::default(),
            clients: Clients::default(),
            chronicle: Chronicle::of(partitions),
            tally: Tally::default(),
        };
        for partition in all.clone() {
            world.groups.insert(partition, Watched::of(world.members()));
        }
        for host in 0..MACHINES {
            for partition in all.clone() {
                let replica = world.replica(partition, host);
                world.replicas.insert((partition, host), replica);
            }
            world.start(host);
        }
        world.after(1000, Happening::Client);
        world.after(200_000, Happening::Fault);
        world.after(LOOK, Happening::Operator);
        world
    }

    pub fn replica(&self, partition: u32, host: u32) -> Replica {
        let voters = self.members();
        let member = voters[host as usize];
        let members = Members::bootstrap(voters);
        let seed = super::super::hash(&[self.seed, u64::from(partition)], &[]);
        let hibernate_after = self.calm.hibernate.then_some(6);
        let mut node = Node::new(member, members, hibernate_after, seed, NodeMutation::None);
        // Replicas of one partition are compared more often in the other simulation, and here once more at the end.
        node.settings.states_one_in = 8;
        node.settings.directories_one_in = 8;
        if self.mutation == Mutation::FlushHangs {
            node.settings.write_ticks = Some(usize::MAX);
        }
        let clock = TurnTime {
            most: u64::MAX,
            clock: monotonic,
        };
        let is_last = partition == self.routing.count();
        let checks = !is_last || self.mutation != Mutation::OnePartitionChecksNothing;
        node.settings.engine = EngineConfig {
            partition,
            least_key: self.operators.purge.least_key(partition),
            routing: self.routing.clone(),
            turn_time: Some(clock),
            identity: IdentityConfig {
                authorizations: checks,
                ..IdentityConfig::default()
            },
            retry_interval: match self.mutation {
                Mutation::NeverRepeated => i64::MAX,
                _ => RETRY,
            },
            ..node::engine_config()
        };
        Replica {
            node,
            timetable: Timetable::new(CHECKS, self.began),
            hangs_until: 0,
            hung: None,
            looks_at: i64::MIN,
            died: None,
        }
    }

    pub fn places(&self) -> Vec<ReplicaId> {
        self.replicas.keys().copied().collect()
    }

    pub fn node(&mut self, place: ReplicaId) -> &mut Node {
        &mut self.replicas.get_mut(&place).unwrap().node
    }

    pub fn host(&mut self, host: u32) -> &mut Host {
        &mut self.hosts[host as usize]
    }

    pub fn any_host(&mut self) -> u32 {
        self.random.below(u64::from(MACHINES)) as u32
    }

    pub fn any_place(&mut self) -> ReplicaId {
        let partitions = u64::from(*self.there().end());
        let partition = 1 + self.random.below(partitions) as u32;
        (partition, self.any_host())
    }

    /// The time on a machine's clock.
    pub fn millis(&self, host: u32) -> i64 {
        EPOCH + (self.agenda.now / 1000) as i64 + self.hosts[host as usize].clock
    }

    pub fn after(&mut self, delay: u64, happening: Happening) {
        self.agenda.after(delay, happening);
    }

    pub fn run_for(&mut self, time: u64) {
        let end = self.agenda.now + time;
        while let Some(happening) = self.agenda.next(end) {
            NOW.set(self.agenda.now);
            self.happen(happening);
        }
        NOW.set(end);
    }

    /// Time for which the machine is paused from now on.
    fn pause_of(&self, happening: &Happening) -> u64 {
        let host = match happening {
            Happening::Arrive(_, flight) => node_of(flight.to).unwrap(),
            Happening::DiskDone { place, .. }
            | Happening::Request { place, .. }
            | Happening::Returned { place, .. }
            | Happening::Settle(place) => place.1,
            Happening::Remote { host, .. }
            | Happening::Status { host, .. }
            | Happening::Learns { host }
            | Happening::Leaves { host }
            | Happening::Search { host, .. }
            | Happening::Stream { host, .. }
            | Happening::Tick { host, .. } => *host,
            Happening::Client | Happening::Fault | Happening::Operator => return 0,
        };
        let until = self.hosts[host as usize].paused_until;
        until.saturating_sub(self.agenda.now)
    }

    /// The replica in whose inbox this waits for its thread.
    fn inbox_of(&self, happening: &Happening) -> Option<ReplicaId> {
        match happening {
            Happening::Arrive(partition, flight) => Some((*partition, node_of(flight.to)?)),
            Happening::DiskDone { place, .. }
            | Happening::Request { place, .. }
            | Happening::Returned { place, .. }
            | Happening::Settle(place) => Some(*place),
            _ => None,
        }
    }

    fn happen(&mut self, happening: Happening) {
        let pause = self.pause_of(&happening);
        if pause > 0 {
            let late = match happening {
                // The threads of partitions may wake after those of the connections.
                Happening::Arrive(..) | Happening::Request { .. } => self.random.below(5_000),
                _ => 0,
            };
            return self.after(pause + late, happening);
        }
        if self.inbox_of(&happening).is_some_and(|it| self.hangs(it)) {
            // The fault may end earlier.
            return self.after(5 * TICK, happening);
        }
        match happening {
            Happening::Arrive(partition, flight) => {
                let place = (partition, node_of(flight.to).unwrap());
                // It is for a copy that a purge has ended.
                if self.replicas[&place].node.id != flight.to {
                    return;
                }
                self.node(place).receive(flight.from, flight.bytes);
                if self.random.below(8) == 0 {
                    self.scheduled(place);
                }
                self.settle(place);
            }
            Happening::Remote {
                host,
                partition,
                sent,
                way,
            } => self.comes(host, partition, *sent, way),
            Happening::Request { place, id, request } => self.process(place, id, &request),
            Happening::Status { host, from, status } => self.receive_status(host, from, status),
            Happening::Settle(place) => self.settle(place),
            Happening::Tick { host, life } => self.tick(host, life),
            Happening::DiskDone { place, life } => self.disk_done(place, life),
            Happening::Operator => self.operator_looks(),
            Happening::Search { host, step } => self.search_step(host, step),
            Happening::Stream { host, from, to } => self.stream_happens(host, (from, to)),
            Happening::Returned { place, job } => self.comes_back(place, &job),
            Happening::Learns { host } => self.learns(host),
            Happening::Leaves { host } => self.leaves(host),
            Happening::Client => {
                if self.agenda.now >= self.calm.lull_until {
                    self.clients_ask();
                    for place in [self.any_place(), self.likely_leader()] {
                        self.search(place);
                    }
                }
                let pause = match self.random.below(30) {
                    // Long enough for groups to hibernate.
                    0 if self.calm.hibernate && self.calm.faults => {
                        150_000 + self.random.below(200_000)
                    }
                    _ => 2000 + self.random.below(25_000),
                };
                self.after(pause, Happening::Client);
            }
            Happening::Fault => {
                if self.calm.faults {
                    self.fault();
                }
                let pause = 20_000 + self.random.below(200_000);
                self.after(pause, Happening::Fault);
            }
        }
    }

    fn disk_done(&mut self, place: ReplicaId, life: u64) {
        let replica = &self.replicas[&place];
        if replica.node.life != life || replica.node.running.is_none() {
            return;
        }
        // The fault may end earlier.
        let wait = replica.hangs_until.saturating_sub(self.agenda.now);
        let wait = wait.min(5 * TICK);
        if wait > 0 && self.mutation != Mutation::HangCountsAsFlushed {
            return self.after(wait, Happening::DiskDone { place, life });
        }
        if wait > 0 {
            let node = self.node(place);
            if let Some(running) = &mut node.running
                && let Some(last) = running.queue.back().map(|append| append.number)
            {
                running.core.group_mut().persisted(last);
            }
            self.after(wait, Happening::DiskDone { place, life });
            return self.settle(place);
        }
        let count = 1 + self.random.below(3) as usize;
        let group = self.groups.get_mut(&place.0).unwrap();
        let replica = self.replicas.get_mut(&place).unwrap();
        replica.node.disk_done(count, &mut group.oracle);
        self.settle(place);
    }

    fn tick(&mut self, host: u32, life: u64) {
        let here = self.host(host);
        if !here.up || here.life != life {
            return;
        }
        self.send_status(host);
        self.report_silence(host);
        self.deliver_held(host);
        self.rows_catch_up(host);
        self.connect(host);
        if self.calm.faults && self.random.below(20) == 0 {
            self.stream_changes(host);
        }
        for partition in self.there() {
            let place = (partition, host);
            if self.hangs(place) {
                continue;
            }
            if let Some(running) = &mut self.node(place).running {
                running.core.group_mut().tick();
                self.scheduled(place);
                self.settle(place);
            }
        }
        let pace = TICK - 500 + self.random.below(1000);
        self.after(pace, Happening::Tick { host, life });
    }

    /// Does scheduled and deferred work, and pushes to a stream that has credit again, like `Partition::run_scheduled`.
    fn scheduled(&mut self, place: ReplicaId) {
        if self.calm.quiet || self.hangs(place) {
            return;
        }
        let now = self.millis(place.1);
        let instant = self.began + Duration::from_micros(self.agenda.now);
        let by_wall_clock = self.mutation == Mutation::RetryByWallClock;
        let room = self.random.below(6) == 0 && self.clients.streams.has_any(place.1);
        let replica = self.replicas.get_mut(&place).unwrap();
        let timetable = &mut replica.timetable;
        timetable.checks().works();
        let check = timetable.checks().is_due(instant);
        if let Some(running) = replica.node.leading() {
            let streams = &mut running.streams;
            if check {
                timetable.checks().begins(instant, None);
            }
            let waits = by_wall_clock && now < replica.looks_at;
            if (check || timetable.is_due(now)) && !waits {
                replica.looks_at = now + RETRY;
                let due = running.core.run_due(now, false, streams);
                timetable.ran(Some(due), false, now);
            } else {
                timetable.next_is(running.core.engine().next_due());
            }
            for _ in 0..3 {
                if running.core.engine().has_work() {
                    running.core.run_work(now, streams);
                }
            }
            if room {
                streams.0 = 2;
                running.core.push_waiting_jobs(now, JOB_TYPE, 2, streams);
            }
        }
        self.propose(place);
    }

    pub fn propose(&mut self, place: ReplicaId) {
        let group = self.groups.get_mut(&place.0).unwrap();
        let replica = self.replicas.get_mut(&place).unwrap();
        (replica.node).propose(&mut group.oracle, &mut group.releases);
    }

    /// Lets a replica carry out the consequences of the last event.
    pub fn settle(&mut self, place: ReplicaId) {
        if self.hangs(place) {
            return;
        }
        let (partition, host) = place;
        let group = self.groups.get_mut(&partition).unwrap();
        let replica = self.replicas.get_mut(&place).unwrap();
        let left = (replica.node).poll(&mut group.oracle, &mut group.releases);
        let life = replica.node.life;
        if let Some(running) = &mut replica.node.running
            && !running.disk_busy
            && !running.queue.is_empty()
        {
            running.disk_busy = true;
            let slowest = self.flush.max(self.host(host).slow_disk);
            let delay = 50 + self.random.below(slowest);
            self.after(delay, Happening::DiskDone { place, life });
        }
        if self.mutation == Mutation::SendsBeforeCommit {
            self.send_early(place, &left.appended);
        }
        for (index, payload) in left.committed {
            self.chronicle.committed(partition, index, &payload);
        }
        for effects in left.effects {
            self.released(place, effects);
        }
        for message in left.messages {
            self.fly(place, message.to(), &message.encode());
        }
    }

    /// Sends bytes to another replica of the partition.
    fn fly(&mut self, (partition, from): ReplicaId, to: u64, bytes: &bytes::Bytes) {
        for delay in self.deliveries(from, node_of(to).unwrap()) {
            let flight = Flight {
                from: self.replicas[&(partition, from)].node.id,
                to,
                bytes: bytes.clone(),
            };
            self.after(delay, Happening::Arrive(partition, flight));
        }
    }

    /// The delays after which copies of a message between two machines arrive.
    pub fn deliveries(&mut self, from: u32, to: u32) -> Vec<u64> {
        let (from, to) = (u64::from(from), u64::from(to));
        self.network.deliveries(&mut self.random, from, to)
    }

    /// Passes a client's request to a replica, which accepts it if it leads.
    pub fn process(&mut self, place: ReplicaId, id: RequestId, request: &Request) {
        let now = self.millis(place.1);
        let Some(running) = self.node(place).leading() else {
            return;
        };
        match running.core.engine_mut().place_of(request) {
            Place::Here => {}
            Place::Waits => {
                let request = Box::new(request.clone());
                return self.after(FROZEN, Happening::Request { place, id, request });
            }
            Place::At(partition) => {
                self.tally.add("sent on", 1);
                return self.send_on(place.1, partition, id, request);
            }
            // Its client hears that nothing was done, or nothing at all.
            Place::Lost => return self.tally.add("lost", 1),
        }
        let Some(running) = self.node(place).leading() else {
            return;
        };
        let streams = &mut running.streams;
        running.core.process(now, Some(id), request, streams);
        if self.random.below(2) == 0 {
            self.propose(place);
            self.settle(place);
        }
    }

    /// Starts a machine with the content of its disk.
    pub fn start(&mut self, host: u32) {
        let here = self.host(host);
        here.up = true;
        here.life += 1;
        let life = here.life;
        for partition in self.there() {
            self.start_replica((partition, host));
        }
        self.stream_opens(host);
        self.after(TICK, Happening::Tick { host, life });
    }

    /// Starts a replica, unless it was ended for a purge, or is lost.
    pub fn start_replica(&mut self, place: ReplicaId) {
        if self.has_left(place) {
            return;
        }
        let group = self.groups.get_mut(&place.0).unwrap();
        let replica = self.replicas.get_mut(&place).unwrap();
        replica.died = None;
        replica.hung = None;
        replica.timetable = Timetable::new(CHECKS, self.began);
        replica.looks_at = i64::MIN;
        replica.node.start(&mut group.oracle);
        self.settle(place);
    }
}
