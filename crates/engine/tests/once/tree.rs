//! A process as a tree of blocks, which determines how often each element completes.

use std::collections::BTreeMap;

use skep_model::builder::Bpmn;
use skep_random::Random;

/// Blocks nested deeper than this are leaves.
const MAX_DEPTH: usize = 4;

/// A block with one entry and one exit.
pub enum Block {
    Leaf { id: String, leaf: Leaf },
    Fork(Fork),
    Scope(Scope),
    Loop(Loop),
}

pub type Sequence = Vec<Block>;

/// A block without nested blocks.
#[derive(Clone, Copy)]
pub enum Leaf {
    Task,
    Manual,
    Throw,
    Service,
    /// A job for each of three items.
    ServiceForEach,
    Listened,
    /// The job fails with an error, which a boundary event catches.
    Caught,
    User,
    Receive,
    Timer,
    Call,
    /// Waits for a message and for a timer; the message comes.
    EventBased,
    /// Two compensated tasks, one of them in a sub-process of the same scope. The parameter says who throws compensation.
    Undone(Undo),
}

/// Thrower of compensation.
#[derive(Clone, Copy, PartialEq)]
pub enum Undo {
    InScope,
    ByEventSubProcess,
    ByInterruptingEventSubProcess,
}

const LEAVES: &[Leaf] = &[
    Leaf::Task,
    Leaf::Task,
    Leaf::Manual,
    Leaf::Throw,
    Leaf::Service,
    Leaf::Service,
    Leaf::Service,
    Leaf::ServiceForEach,
    Leaf::Listened,
    Leaf::Caught,
    Leaf::User,
    Leaf::Receive,
    Leaf::Timer,
    Leaf::Call,
    Leaf::EventBased,
    Leaf::Undone(Undo::InScope),
    Leaf::Undone(Undo::ByEventSubProcess),
    Leaf::Undone(Undo::ByInterruptingEventSubProcess),
];

#[derive(Clone, Copy, PartialEq)]
pub enum Gateway {
    Parallel,
    Inclusive,
    Exclusive,
}

pub struct Fork {
    fork: String,
    join: String,
    gateway: Gateway,
    /// The gateways have listeners, so that they wait for jobs.
    listened: bool,
    branches: Vec<Branch>,
}

pub struct Branch {
    /// Whether the condition holds; all flows of a parallel gateway are taken.
    taken: bool,
    is_default: bool,
    /// Empty: a flow straight to the join.
    blocks: Sequence,
}

pub struct Scope {
    id: String,
    /// Number of inner instances of a multi-instance; `None` for an embedded sub-process that runs once.
    for_each: Option<u32>,
    sequential: bool,
    /// Whether an event sub-process waits for an event that never comes.
    has_event_sub_process: bool,
    blocks: Sequence,
}

/// Blocks that are repeated, with a job in each round.
pub struct Loop {
    head: String,
    job: String,
    count: String,
    choice: String,
    reset: String,
    times: u32,
    blocks: Sequence,
}

/// A random tree of about `size` flow nodes.
pub fn random(random: &mut Random, size: usize) -> Sequence {
    let mut generator = Generator {
        random,
        left: size,
        count: 0,
    };
    generator.sequence(0, true)
}

struct Generator<'r> {
    random: &'r mut Random,
    left: usize,
    count: usize,
}

impl Generator<'_> {
    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        self.left = self.left.saturating_sub(1);
        format!("{kind}{}", self.count)
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.random.below(number) == 0
    }

    fn sequence(&mut self, depth: usize, may_loop: bool) -> Sequence {
        let mut blocks = Vec::new();
        loop {
            blocks.push(self.block(depth, may_loop));
            if self.left == 0 || (depth > 0 && self.one_in(2)) {
                return blocks;
            }
        }
    }

    fn block(&mut self, depth: usize, may_loop: bool) -> Block {
        let choices = if depth < MAX_DEPTH { 12 } else { 4 };
        match self.random.below(choices) {
            0..4 => self.leaf(),
            4 | 5 => self.fork(Gateway::Parallel, depth, may_loop),
            6 | 7 => self.fork(Gateway::Inclusive, depth, may_loop),
            8 => self.fork(Gateway::Exclusive, depth, may_loop),
            9 | 10 => self.scope(depth, may_loop),
            // The round counter is a process variable, shared by all instances of a multi-instance: no loops there.
            _ if may_loop => self.repetition(depth),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> Block {
        let leaf = LEAVES[self.random.below(LEAVES.len() as u64) as usize];
        let id = self.id("leaf");
        Block::Leaf { id, leaf }
    }

    fn fork(&mut self, gateway: Gateway, depth: usize, may_loop: bool) -> Block {
        let (fork, join) = (self.id("fork"), self.id("join"));
        let listened = self.one_in(6);
        let mut branches = Vec::new();
        for _ in 0..2 + self.random.below(3) {
            let blocks = if self.one_in(4) {
                Vec::new()
            } else {
                self.sequence(depth + 1, may_loop)
            };
            let taken = gateway == Gateway::Parallel || self.one_in(2);
            branches.push(Branch {
                taken,
                is_default: false,
                blocks,
            });
        }
        self.choose(gateway, &mut branches);
        Block::Fork(Fork {
            fork,
            join,
            gateway,
            listened,
            branches,
        })
    }

    /// Takes at least one flow; of an exclusive gateway exactly one: the default flow, where no condition holds.
    fn choose(&mut self, gateway: Gateway, branches: &mut [Branch]) {
        if gateway == Gateway::Parallel {
            return;
        }
        let default = self.random.below(branches.len() as u64) as usize;
        if gateway == Gateway::Exclusive {
            let taken = self.random.below(branches.len() as u64) as usize;
            for (at, branch) in branches.iter_mut().enumerate() {
                branch.taken = at == taken;
            }
        }
        branches[default].is_default = true;
        let others = branches.iter().filter(|b| b.taken && !b.is_default).count();
        branches[default].taken = others == 0;
    }

    fn scope(&mut self, depth: usize, may_loop: bool) -> Block {
        let id = self.id("sub");
        let for_each = self.one_in(3).then(|| self.random.below(4) as u32);
        let blocks = self.sequence(depth + 1, may_loop && for_each.is_none());
        Block::Scope(Scope {
            id,
            for_each,
            sequential: self.one_in(2),
            has_event_sub_process: self.one_in(3),
            blocks,
        })
    }

    fn repetition(&mut self, depth: usize) -> Block {
        let blocks = self.sequence(depth + 1, true);
        Block::Loop(Loop {
            reset: self.id("reset"),
            head: self.id("again"),
            job: self.id("work"),
            count: self.id("count"),
            choice: self.id("choice"),
            times: 1 + self.random.below(2) as u32,
            blocks,
        })
    }
}

/// The process of these blocks, with its flows in the order given by this seed.
pub fn process(blocks: &[Block], seed: u64) -> Bpmn {
    let bpmn = write(Bpmn::process("once").start("start"), blocks);
    bpmn.end("end").shuffle_flows(seed)
}

/// The process that call activities call.
pub fn called() -> Bpmn {
    Bpmn::process("called")
        .start("called_start")
        .service_task("called-task", "job")
        .end("called_end")
}

const NEVER: &str = "P9999D";

fn write(bpmn: Bpmn, blocks: &[Block]) -> Bpmn {
    blocks.iter().fold(bpmn, |bpmn, block| match block {
        Block::Leaf { id, leaf } => write_leaf(bpmn, id, *leaf),
        Block::Fork(fork) => write_fork(bpmn, fork),
        Block::Scope(scope) => write_scope(bpmn, scope),
        Block::Loop(again) => write_loop(bpmn, again),
    })
}

fn write_leaf(bpmn: Bpmn, id: &str, leaf: Leaf) -> Bpmn {
    let merge = format!("{id}_merge");
    match leaf {
        Leaf::Task => bpmn.task(id),
        Leaf::Manual => bpmn.manual_task(id),
        Leaf::Throw => bpmn.throw(id),
        Leaf::Service => bpmn.service_task(id, "job"),
        Leaf::ServiceForEach => bpmn.service_task(id, "job").for_each("=[1,2,3]", "item"),
        Leaf::Listened => {
            let task = bpmn.service_task(id, "job");
            task.listener("start", "job").listener("end", "job")
        }
        Leaf::Caught => bpmn
            .service_task(id, "error")
            .exclusive(&merge)
            .boundary_error(format!("{id}_caught"), id, "error")
            .to(&merge)
            .from(&merge),
        Leaf::User => bpmn.user_task(id),
        Leaf::Receive => bpmn.receive_task(id, "message", "=\"key\""),
        Leaf::Timer => bpmn.catch_duration(id, "PT1M"),
        // Propagation would return the variables passed in as well, and would reset loop counters.
        Leaf::Call => bpmn
            .call_activity(id, "called")
            .propagate_all_child_variables(false),
        Leaf::EventBased => bpmn
            .event_based(id)
            .catch_message(format!("{id}_message"), "message", "=\"key\"")
            .exclusive(&merge)
            .from(id)
            .catch_duration(format!("{id}_timer"), NEVER)
            .to(&merge)
            .from(&merge),
        Leaf::Undone(undo) => bpmn.sub_process(id, |sub| write_undone(sub, id, undo)),
    }
}

fn write_undone(sub: Bpmn, id: &str, undo: Undo) -> Bpmn {
    let throw = |bpmn: Bpmn| bpmn.throw_compensation(format!("{id}_throw"), None);
    let end = format!("{id}_end");
    let sub = sub
        .start(format!("{id}_start"))
        .sub_process(format!("{id}_inner"), |inner| {
            let inner = inner.start(format!("{id}_inner_start"));
            write_compensable(inner, &format!("{id}_b")).end(format!("{id}_inner_end"))
        });
    let sub = write_compensable(sub, &format!("{id}_a"));
    if undo == Undo::InScope {
        return throw(sub).end(end);
    }
    sub.end_escalation(end, "undo")
        .event_sub_process(format!("{id}_event"), |event| {
            let event = event.start_escalation(format!("{id}_event_start"), "undo");
            let event = match undo {
                Undo::ByEventSubProcess => event.non_interrupting(),
                _ => event,
            };
            throw(event).end(format!("{id}_event_end"))
        })
}

fn write_compensable(bpmn: Bpmn, id: &str) -> Bpmn {
    let undo = format!("{id}_undo");
    bpmn.service_task(id, "job")
        .boundary_compensation(format!("{id}_boundary"), id, &undo)
        .service_task(&undo, "job")
        .for_compensation()
        .from(id)
}

fn write_fork(bpmn: Bpmn, fork: &Fork) -> Bpmn {
    let gateway = |bpmn: Bpmn, id: &str| {
        let bpmn = match fork.gateway {
            Gateway::Parallel => bpmn.parallel(id),
            Gateway::Inclusive => bpmn.inclusive(id),
            Gateway::Exclusive => bpmn.exclusive(id),
        };
        if fork.listened {
            bpmn.listener("start", "job")
        } else {
            bpmn
        }
    };
    let mut bpmn = gateway(bpmn, &fork.fork);
    for (at, branch) in fork.branches.iter().enumerate() {
        bpmn = bpmn.from(&fork.fork);
        bpmn = match fork.gateway {
            Gateway::Parallel => bpmn,
            _ if branch.is_default => bpmn.otherwise(),
            _ => bpmn.when(&format!("={}", branch.taken)),
        };
        bpmn = write(bpmn, &branch.blocks);
        bpmn = match at {
            0 => gateway(bpmn, &fork.join),
            _ => bpmn.to(&fork.join),
        };
    }
    bpmn.from(&fork.join)
}

fn write_scope(bpmn: Bpmn, scope: &Scope) -> Bpmn {
    let id = &scope.id;
    let bpmn = bpmn.sub_process(id, |sub| {
        let sub = write(sub.start(format!("{id}_start")), &scope.blocks);
        let sub = sub.end(format!("{id}_end"));
        if scope.has_event_sub_process {
            sub.event_sub_process(format!("{id}_event"), |event| {
                let event = event.start_duration(format!("{id}_event_start"), NEVER);
                event.non_interrupting().end(format!("{id}_event_end"))
            })
        } else {
            sub
        }
    });
    let bpmn = match scope.for_each {
        Some(count) => {
            let items: Vec<String> = (0..count).map(|item| item.to_string()).collect();
            bpmn.for_each(&format!("=[{}]", items.join(",")), "item")
        }
        None => bpmn,
    };
    if scope.sequential && scope.for_each.is_some() {
        bpmn.sequential()
    } else {
        bpmn
    }
}

fn write_loop(bpmn: Bpmn, again: &Loop) -> Bpmn {
    let (count, times) = (&again.count, again.times);
    let bpmn = bpmn
        .script(&again.reset, "=0", count)
        .exclusive(&again.head);
    write(bpmn, &again.blocks)
        .service_task(&again.job, "job")
        .script(&again.count, &format!("={count} + 1"), count)
        .exclusive(&again.choice)
        .when(&format!("={count} < {times}"))
        .to(&again.head)
        .from(&again.choice)
        .otherwise()
}

/// Expected number of completions of each element. Elements that are missing here never complete.
pub fn expected(blocks: &[Block]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    count(&mut counts, blocks, 1);
    for once in ["once", "start", "end"] {
        add(&mut counts, once, 1);
    }
    counts.retain(|_, count| *count > 0);
    counts
}

fn add(counts: &mut BTreeMap<String, u32>, id: &str, times: u32) {
    *counts.entry(id.to_string()).or_default() += times;
}

fn count(counts: &mut BTreeMap<String, u32>, blocks: &[Block], times: u32) {
    for block in blocks {
        match block {
            Block::Leaf { id, leaf } => count_leaf(counts, id, *leaf, times),
            Block::Fork(fork) => {
                add(counts, &fork.fork, times);
                add(counts, &fork.join, times);
                for branch in fork.branches.iter().filter(|branch| branch.taken) {
                    count(counts, &branch.blocks, times);
                }
            }
            Block::Scope(scope) => {
                let inner = times * scope.for_each.unwrap_or(1);
                // The body of a multi-instance has the id of its inner instances.
                let bodies = scope.for_each.map_or(0, |_| times);
                add(counts, &scope.id, inner + bodies);
                add(counts, &format!("{}_start", scope.id), inner);
                add(counts, &format!("{}_end", scope.id), inner);
                count(counts, &scope.blocks, inner);
            }
            Block::Loop(again) => {
                add(counts, &again.reset, times);
                let rounds = times * again.times;
                for id in [&again.head, &again.job, &again.count, &again.choice] {
                    add(counts, id, rounds);
                }
                count(counts, &again.blocks, rounds);
            }
        }
    }
}

fn count_leaf(counts: &mut BTreeMap<String, u32>, id: &str, leaf: Leaf, times: u32) {
    match leaf {
        Leaf::ServiceForEach => add(counts, id, 4 * times),
        // The boundary event terminates the task.
        Leaf::Caught => {
            add(counts, &format!("{id}_caught"), times);
            add(counts, &format!("{id}_merge"), times);
        }
        Leaf::EventBased => {
            for id in [id, &format!("{id}_message"), &format!("{id}_merge")] {
                add(counts, id, times);
            }
        }
        Leaf::Undone(undo) => {
            let by_event = ["_event", "_event_start", "_event_end"];
            let by_event = by_event.iter().filter(|_| undo != Undo::InScope);
            let always = [
                "",
                "_start",
                "_inner",
                "_inner_start",
                "_inner_end",
                "_throw",
            ];
            let undone = [
                "_a",
                "_a_boundary",
                "_a_undo",
                "_b",
                "_b_boundary",
                "_b_undo",
            ];
            // In the interrupting case the event sub-process interrupts the end event that triggered it.
            let end = ["_end"];
            let end = end
                .iter()
                .filter(|_| undo != Undo::ByInterruptingEventSubProcess);
            for of_it in always.iter().chain(&undone).chain(by_event).chain(end) {
                add(counts, &format!("{id}{of_it}"), times);
            }
        }
        _ => add(counts, id, times),
    }
}
