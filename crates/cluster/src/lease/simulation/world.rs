//! The store, the disks and the processes, and the invariants that they must satisfy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use super::super::claimant::{Answer, Claimant, Do, Ended, Now, Own, Terms};
use super::super::record::{Record, Tag};
use super::Mutation;
use skep_random::Random;

const LEASE: u64 = 15_000;
const FAULTS_END: u64 = 240_000;
const END: u64 = 400_000;
/// A call that has no answer by then gets none.
const CALL: u64 = 5_000;
/// With a store and without pauses, a process whose number was taken stops acting within this time.
const NOTICED: u64 = 120_000;
const IDS: u32 = 3;

/// The setting of a simulation: where processes run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    processes: usize,
    machines: usize,
    replaces: bool,
}

impl Setting {
    pub const ONE_DISK: Setting = Setting {
        processes: 5,
        machines: 1,
        replaces: false,
    };
    pub const OWN_DISKS: Setting = Setting {
        processes: 4,
        machines: 4,
        replaces: false,
    };
    pub const REPLACING: Setting = Setting {
        processes: 4,
        machines: 4,
        replaces: true,
    };
}

/// A directory of a number on one machine.
struct Directory {
    id: String,
    locked_by: Option<u64>,
    has_data: bool,
}

/// A process. If it acts, it has its number and whether it joins.
struct Process {
    id: u64,
    machine: usize,
    claimant: Claimant,
    /// Its clock runs at this many thousandths of the true speed, and its wall clock is off by this much.
    speed: u64,
    wall_off: i64,
    started: u64,
    paused_until: u64,
    /// The call that it waits for.
    call: u64,
    acts: Option<(u32, bool)>,
    /// Its last write of the number that arrived.
    arrived: u64,
    /// How long another process has been in its place, counting only time that it could have used.
    robbed_for: u64,
    looked: u64,
}

struct Object {
    tag: u64,
    record: Record,
    changed: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Step(u64),
    /// A call arrives at the store.
    Arrives {
        process: u64,
        call: u64,
        lost: bool,
        operation: u64,
    },
    Answers {
        process: u64,
        call: u64,
        answer: u64,
    },
    Pause,
    Crash,
    Leave,
    Outage,
    Starts(usize),
}

/// An event and its time; events of the same time keep their order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    number: u64,
    event: Event,
}

/// A process, and the operation that it waits for.
struct PendingCall {
    process: u64,
    call: u64,
}

/// A machine, and a number.
type MachineNumber = (usize, u32);

pub struct World {
    random: Random,
    setting: Setting,
    mutation: Option<Mutation>,
    now: u64,
    events: BinaryHeap<Reverse<Due>>,
    counter: u64,
    operations: BTreeMap<u64, Do>,
    answers: BTreeMap<u64, Answer>,
    store: BTreeMap<u32, Object>,
    /// All former and current owners of a number: instance and version.
    owners: BTreeSet<(u32, String, u64)>,
    disks: BTreeMap<MachineNumber, Directory>,
    processes: BTreeMap<u64, Process>,
    outage_until: u64,
    acted: u64,
}

impl World {
    pub fn new(seed: u64, setting: Setting, mutation: Option<Mutation>) -> World {
        let mut world = World {
            random: Random(seed),
            setting,
            mutation,
            now: 0,
            events: BinaryHeap::new(),
            counter: 0,
            operations: BTreeMap::new(),
            answers: BTreeMap::new(),
            store: BTreeMap::new(),
            owners: BTreeSet::new(),
            disks: BTreeMap::new(),
            processes: BTreeMap::new(),
            outage_until: 0,
            acted: 0,
        };
        for number in 0..setting.processes {
            world.at(0, Event::Starts(number % setting.machines));
        }
        for _ in 0..4 {
            for fault in [Event::Pause, Event::Crash, Event::Leave, Event::Outage] {
                let after = 2_000 + world.random.below(FAULTS_END);
                world.at(after, fault);
            }
        }
        world
    }

    fn at(&mut self, after: u64, event: Event) {
        self.counter += 1;
        let at = self.now + after;
        let number = self.counter;
        self.events.push(Reverse(Due { at, number, event }));
    }

    pub fn run(mut self) {
        while let Some(Reverse(Due { at, event, .. })) = self.events.pop() {
            if at > END {
                break;
            }
            self.now = at;
            self.happens(event);
            self.expect_what_must_hold();
        }
        // In the end every process that can have a number has one.
        let acting = self.processes.values().filter(|it| it.acts.is_some());
        if self.setting.machines == 1 {
            assert_eq!(acting.count(), IDS as usize, "numbers are left over");
        }
        assert!(self.acted > 0);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Step(process) => self.step(process),
            Event::Arrives {
                process,
                call,
                lost,
                operation,
            } => self.arrives(PendingCall { process, call }, lost, operation),
            Event::Answers {
                process,
                call,
                answer,
            } => self.answers(process, call, answer),
            Event::Starts(machine) => self.starts(machine),
            Event::Outage => {
                let long = 1_000 + self.random.below(60_000);
                self.outage_until = self.now + long;
            }
            Event::Pause => {
                let long = 500 + self.random.below(60_000);
                let until = self.now + long;
                if let Some(process) = self.any() {
                    process.paused_until = until;
                }
            }
            Event::Crash => {
                if let Some(id) = self.any().map(|it| it.id) {
                    self.ends(id);
                }
            }
            Event::Leave => {
                let now = self.now;
                let Some(process) = self.any().filter(|it| it.paused_until <= now) else {
                    return;
                };
                let (id, machine) = (process.id, process.machine);
                process.acts = None;
                let with_data = self
                    .disks
                    .iter()
                    .filter(|((of, _), it)| *of == machine && it.has_data);
                let with_data = with_data.map(|((_, node), _)| *node).collect();
                if let Some(process) = self.processes.get_mut(&id) {
                    process.claimant.leave(with_data);
                }
            }
        }
    }

    fn any(&mut self) -> Option<&mut Process> {
        let count = self.processes.len() as u64;
        let at = self.random.below(count.max(1)) as usize;
        self.processes.values_mut().nth(at)
    }

    fn starts(&mut self, machine: usize) {
        self.counter += 1;
        let id = self.counter;
        let here = self.disks.iter().filter(|((of, _), _)| *of == machine);
        let here = here.map(|((_, node), directory)| (*node, directory.id.clone()));
        let own = Own {
            instance: format!("p{id}"),
            task: format!("machine {machine}"),
            here: here.collect(),
            replaces: self.setting.replaces,
        };
        let terms = Terms {
            duration: Duration::from_millis(LEASE),
        };
        let mut claimant = Claimant::new(terms, IDS, own);
        claimant.mutation = self.mutation;
        let process = Process {
            id,
            machine,
            claimant,
            speed: 970 + self.random.below(61),
            wall_off: self.random.below(240_000) as i64 - 120_000,
            started: self.now,
            paused_until: 0,
            call: 0,
            acts: None,
            arrived: 0,
            robbed_for: 0,
            looked: self.now,
        };
        self.processes.insert(id, process);
        self.at(1, Event::Step(id));
    }

    /// The process ends, and another one starts on its machine.
    fn ends(&mut self, id: u64) {
        let Some(process) = self.processes.remove(&id) else {
            return;
        };
        for directory in self.disks.values_mut() {
            directory.locked_by = directory.locked_by.filter(|by| *by != id);
        }
        let after = 100 + self.random.below(5_000);
        self.at(after, Event::Starts(process.machine));
    }

    fn clock(&self, process: &Process) -> Now {
        let own = (self.now - process.started) * process.speed / 1000;
        Now {
            clock: Duration::from_millis(own),
            wall: self.now as i64 + process.wall_off,
        }
    }

    /// A process continues. False: it is paused, and the event happens when it wakes.
    fn is_awake(&mut self, id: u64, event: Event) -> bool {
        let until = self.processes.get(&id).map(|it| it.paused_until);
        match until {
            Some(until) if until > self.now => {
                self.at(until - self.now, event);
                false
            }
            until => until.is_some(),
        }
    }

    fn step(&mut self, id: u64) {
        if !self.is_awake(id, Event::Step(id)) {
            return;
        }
        let Some(process) = self.processes.get(&id) else {
            return;
        };
        let (now, machine) = (self.clock(process), process.machine);
        // It has had the time to found a cluster, or was added to one.
        if let Some((node, _)) = process.acts
            && self.random.below(100) < 30
        {
            if let Some(directory) = self.disks.get_mut(&(machine, node)) {
                directory.has_data = true;
            }
            if let Some(process) = self.processes.get_mut(&id) {
                process.claimant.joined();
            }
        }
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        match process.claimant.next(now) {
            Do::Wait(long) => {
                let long = long.as_millis() as u64 * 1000 / process.speed + 1;
                self.at(long.min(1_000), Event::Step(id));
            }
            Do::Lock { node, create } => {
                let locked = self.lock((machine, node), id, create);
                self.answer(id, Answer::Locked(locked));
            }
            Do::Unlock { node } => {
                if let Some(directory) = self.disks.get_mut(&(machine, node)) {
                    directory.locked_by = None;
                }
                self.answer(id, Answer::Done);
            }
            Do::Act { node, joins } => {
                process.acts = Some((node, joins));
                self.acts(id, node, joins);
                self.answer(id, Answer::Done);
            }
            Do::Stop(ended) => {
                if let Ended::Lost { node, .. } = ended {
                    self.expect_lost(id, node);
                }
                self.ends(id);
            }
            call @ (Do::Read { .. } | Do::Write { .. }) => self.calls(id, call),
        }
    }

    fn answer(&mut self, id: u64, answer: Answer) {
        if let Some(process) = self.processes.get(&id) {
            let now = self.clock(process);
            if let Some(process) = self.processes.get_mut(&id) {
                process.claimant.answered(now, answer);
            }
            self.at(1, Event::Step(id));
        }
    }

    fn lock(&mut self, place: MachineNumber, id: u64, create: bool) -> Option<String> {
        if create && !self.disks.contains_key(&place) {
            self.counter += 1;
            let directory = Directory {
                id: format!("d{}", self.counter),
                locked_by: None,
                has_data: false,
            };
            self.disks.insert(place, directory);
        }
        let directory = self.disks.get_mut(&place)?;
        if directory.locked_by.is_some_and(|by| by != id) {
            return None;
        }
        directory.locked_by = Some(id);
        Some(directory.id.clone())
    }

    fn calls(&mut self, id: u64, call: Do) {
        self.counter += 1;
        let number = self.counter;
        if let Some(process) = self.processes.get_mut(&id) {
            process.call = number;
        }
        self.operations.insert(number, call);
        let faulty = self.now < FAULTS_END;
        let late = if faulty && self.random.below(100) < 3 {
            self.random.below(20_000)
        } else {
            self.random.below(100)
        };
        if !(faulty && self.random.below(100) < 3) {
            let lost = faulty && self.random.below(100) < 3;
            let arrives = Event::Arrives {
                process: id,
                call: number,
                lost,
                operation: number,
            };
            self.at(1 + late, arrives);
        }
        self.answers.insert(number, Answer::Unknown);
        let nothing = Event::Answers {
            process: id,
            call: number,
            answer: number,
        };
        self.at(CALL, nothing);
    }

    fn arrives(&mut self, PendingCall { process, call }: PendingCall, lost: bool, operation: u64) {
        let Some(operation) = self.operations.remove(&operation) else {
            return;
        };
        if self.now < self.outage_until {
            return;
        }
        let answer = match operation {
            Do::Read { node } => {
                let object = self.store.get(&node);
                Answer::Read(object.map(|it| (Tag(it.tag.to_string()), it.record.clone())))
            }
            Do::Write { node, over, record } => self.written(process, node, over, record),
            _ => return,
        };
        if lost {
            return;
        }
        self.counter += 1;
        let number = self.counter;
        self.answers.insert(number, answer);
        let late = 1 + self.random.below(100);
        let answers = Event::Answers {
            process,
            call,
            answer: number,
        };
        self.at(late, answers);
    }

    fn written(&mut self, by: u64, node: u32, over: Option<Tag>, record: Record) -> Answer {
        let tag = self.store.get(&node).map(|it| Tag(it.tag.to_string()));
        if tag != over {
            return Answer::Refused;
        }
        if let Some(before) = self.store.get(&node)
            && before.record.instance != record.instance
            && !before.record.released
        {
            let owner = |it: &&Process| {
                format!("p{}", it.id) == before.record.instance
                    && it.acts.is_some_and(|(acts, _)| acts == node)
            };
            let acts = self.processes.values().any(|it| owner(&it));
            let unchanged = self.now - before.changed;
            assert!(
                !acts || unchanged >= LEASE,
                "p{by} took number {node} from {} after {unchanged} ms",
                before.record.instance
            );
        }
        self.counter += 1;
        let owner = (node, record.instance.clone(), record.version);
        self.owners.insert(owner);
        let object = Object {
            tag: self.counter,
            record,
            changed: self.now,
        };
        self.store.insert(node, object);
        if let Some(process) = self.processes.get_mut(&by) {
            process.arrived = self.now;
        }
        Answer::Written(Tag(self.counter.to_string()))
    }

    fn answers(&mut self, id: u64, call: u64, answer: u64) {
        let again = Event::Answers {
            process: id,
            call,
            answer,
        };
        if !self.is_awake(id, again) {
            return;
        }
        let waits = self.processes.get(&id).is_some_and(|it| it.call == call);
        let Some(answer) = self.answers.remove(&answer).filter(|_| waits) else {
            return;
        };
        if let Some(process) = self.processes.get_mut(&id) {
            process.call = 0;
        }
        self.answer(id, answer);
    }

    /// A process begins to act.
    fn acts(&mut self, id: u64, node: u32, joins: bool) {
        self.acted += 1;
        let Some(process) = self.processes.get(&id) else {
            return;
        };
        let version = process.claimant.version().unwrap_or_default();
        let owner = (node, format!("p{id}"), version);
        assert!(
            self.owners.contains(&owner),
            "{owner:?} acts and never had the number"
        );
        let directory = self.disks.get(&(process.machine, node));
        assert!(
            directory.is_some_and(|it| it.locked_by == Some(id)),
            "{owner:?} acts without the lock"
        );
        if !joins {
            let elsewhere = self.disks.iter().find(|((machine, of), it)| {
                *of == node && *machine != process.machine && it.has_data
            });
            // A member that was replaced elsewhere is known to the others, and refused by them.
            assert!(
                self.setting.replaces || elsewhere.is_none(),
                "{owner:?} founds, and there is data of the number elsewhere"
            );
        }
    }

    fn expect_lost(&self, id: u64, node: u32) {
        let own = format!("p{id}");
        let own = |it: &&(u32, String, u64)| it.0 == node && it.1 == own;
        let version = self.owners.iter().filter(own).map(|it| it.2).max();
        let by_another =
            |it: &&(u32, String, u64)| it.0 == node && !own(it) && Some(it.2) >= version;
        assert!(
            self.owners.iter().any(|it| by_another(&it)),
            "p{id} stops, and nobody has taken number {node}"
        );
    }

    fn expect_what_must_hold(&mut self) {
        let mut acting: BTreeMap<u32, u64> = BTreeMap::new();
        for process in self.processes.values() {
            // A joining process is another member of the cluster, or none.
            if let Some((node, false)) = process.acts {
                let other = acting.insert(node, process.id);
                assert!(
                    other.is_none() || self.setting.replaces,
                    "p{} and p{other:?} act as node {node}",
                    process.id
                );
            }
        }
        let outage = self.now < self.outage_until;
        let now = self.now;
        let clocks = self.processes.values().map(|it| (it.id, self.clock(it)));
        let clocks: BTreeMap<u64, Now> = clocks.collect();
        for process in self.processes.values_mut() {
            let since = now - std::mem::replace(&mut process.looked, now);
            let Some((node, _)) = process.acts else {
                continue;
            };
            let instance = format!("p{}", process.id);
            let object = self.store.get(&node);
            let robbed = object.is_some_and(|it| it.record.instance != instance);
            if !robbed {
                process.robbed_for = 0;
                let age = process.claimant.age(clocks[&process.id].clock);
                let shown = age.unwrap_or_default().as_millis() as u64 * 1000 / process.speed;
                let age = now - process.arrived;
                // A process that does not know yet that its last write arrived shows a greater age.
                assert!(
                    shown + 2 >= age,
                    "p{} shows {shown} ms of {age}",
                    process.id
                );
            } else if !outage && process.paused_until <= now {
                process.robbed_for += since;
                assert!(
                    process.robbed_for < NOTICED,
                    "p{} does not notice that its number was taken",
                    process.id
                );
            }
        }
    }
}
