//! Resource-intensive models: random structure, fan-out, nesting, recursion, mappings and timers.

use skep_model::builder::Bpmn;

use super::dice::Dice;
use super::expressions;

/// The type of all jobs in hostile models.
pub const JOB: &str = "hostile";
pub const MESSAGE: &str = "hostile-message";

/// The file of the `n`th attack. Its first process is `hostile-<n>`.
pub fn file(dice: &mut Dice, n: u64) -> String {
    let mut processes = vec![match dice.below(11) {
        0 => recursion(dice, n),
        1 => wide(dice, n),
        2 => deep(dice, n),
        3 => mapped(dice, n),
        4 => endless(dice, n),
        5 => terminated(dice, n),
        6 | 7 => repeated(dice, n),
        _ => mixed(dice, n, Bpmn::process(id(n)).start("start"), 3).end("end"),
    }];
    let other = Bpmn::process(child(n)).start("child-start");
    processes.push(mixed(dice, n, other, 1).end("child-end"));
    Bpmn::file(processes)
}

pub fn id(n: u64) -> String {
    format!("hostile-{n}")
}

/// A second process in the same file.
fn child(n: u64) -> String {
    format!("hostile-{n}-child")
}

/// A process that calls itself, once or several times per level.
fn recursion(dice: &mut Dice, n: u64) -> Bpmn {
    let calls = 1 + dice.below(3);
    let mut bpmn = Bpmn::process(id(n)).start("start").parallel("fork");
    for call in 0..calls {
        bpmn = bpmn
            .from("fork")
            .call_activity(format!("call{call}"), &id(n));
        if dice.one_in(2) {
            bpmn = bpmn.propagate_all_parent_variables(false);
        }
        if dice.one_in(2) {
            bpmn = mappings(dice, bpmn);
        }
        bpmn = bpmn.end(format!("end{call}"));
    }
    bpmn
}

/// A parallel gateway with many branches, possibly with another one behind each join.
fn wide(dice: &mut Dice, n: u64) -> Bpmn {
    let mut bpmn = Bpmn::process(id(n)).start("start");
    for stage in 0..1 + dice.below(3) {
        let (fork, join) = (format!("fork{stage}"), format!("join{stage}"));
        bpmn = bpmn.parallel(&fork);
        let kind = dice.below(4);
        let mapped = dice.one_in(2);
        for branch in 0..dice.size(1500) {
            let id = format!("s{stage}b{branch}");
            bpmn = bpmn.from(&fork);
            bpmn = match kind {
                0 => bpmn.service_task(&id, JOB),
                1 => bpmn.task(&id),
                2 => bpmn.catch_duration(&id, "PT0.2S"),
                _ => bpmn.call_activity(&id, &child(n)),
            };
            if mapped && kind != 2 {
                bpmn = bpmn.input("=big", &format!("copy{branch}"));
            }
            bpmn = match branch {
                0 => bpmn.parallel(&join),
                _ => bpmn.to(&join),
            };
        }
        bpmn = bpmn.from(&join);
    }
    bpmn.end("end")
}

/// A multi-instance of pass-through tasks or of jobs, over very many items, with its results in a list.
fn repeated(dice: &mut Dice, n: u64) -> Bpmn {
    let bpmn = Bpmn::process(id(n)).start("start");
    let bpmn = match dice.below(4) {
        0 => bpmn.service_task("each", JOB),
        1 => bpmn.sub_process("each", |sub| sub.start("s").end("e")),
        2 => bpmn.call_activity("each", &child(n)),
        _ => bpmn.task("each"),
    };
    let items = dice.size(300_000);
    let items = format!("=if many = null then for i in 1..{items} return i else many");
    let mut bpmn = bpmn.for_each(&items, "item");
    if dice.one_in(2) {
        bpmn = bpmn.sequential();
    }
    bpmn = match dice.below(4) {
        0 => bpmn,
        1 => bpmn.collect("=null", "results"),
        2 => bpmn.collect(&format!("={}", expressions::any(dice, 2)), "results"),
        _ => bpmn.collect("=item", "results"),
    };
    if dice.one_in(4) {
        bpmn = bpmn.until("=count(results[item = 3]) > 1");
    }
    bpmn.end("end")
}

/// Nested sub-processes.
fn deep(dice: &mut Dice, n: u64) -> Bpmn {
    fn inner(bpmn: Bpmn, dice: &mut Dice, level: u64) -> Bpmn {
        let bpmn = bpmn.start(format!("start{level}"));
        let bpmn = match level {
            0 => bpmn.service_task("work", JOB),
            _ => bpmn.sub_process(format!("sub{level}"), |sub| inner(sub, dice, level - 1)),
        };
        let bpmn = match dice.below(6) {
            0 => mappings(dice, bpmn),
            _ => bpmn,
        };
        bpmn.end(format!("end{level}"))
    }
    let levels = dice.size(100);
    inner(Bpmn::process(id(n)), dice, levels)
}

/// A large variable, a task with many mappings, or targets with many segments.
fn mapped(dice: &mut Dice, n: u64) -> Bpmn {
    let mut bpmn = Bpmn::process(id(n))
        .start("start")
        .service_task("work", JOB);
    for i in 0..dice.size(60) {
        let source = format!("={}", expressions::heavy(dice));
        bpmn = match dice.below(3) {
            0 => bpmn.input(&source, &format!("v{i}")),
            1 => bpmn.output(&source, &format!("v{i}.w")),
            _ => bpmn.input("=big", &path(dice)),
        };
    }
    bpmn.end("end")
}

/// A target of a mapping with many segments.
fn path(dice: &mut Dice) -> String {
    let mut path = "a".to_string();
    for _ in 0..dice.size(30_000) {
        path.push_str(".a");
    }
    path
}

/// Endless loops and cycles.
fn endless(dice: &mut Dice, n: u64) -> Bpmn {
    let bpmn = Bpmn::process(id(n)).start("start").exclusive("again");
    let bpmn = match dice.below(4) {
        0 => bpmn.catch_duration("pause", "PT0.01S"),
        1 => bpmn.task("pause"),
        2 => bpmn.call_activity("pause", &child(n)),
        _ => bpmn.sub_process("pause", |sub| sub.start("s").task("t").end("e")),
    };
    let bpmn = bpmn
        .exclusive("choice")
        .when("=1 = 1")
        .to("again")
        .from("choice")
        .otherwise()
        .service_task("work", JOB)
        .end("end");
    let cycle = dice.pick(&[
        "R200/PT0.01S",
        "R/PT0.1S",
        "=cycle(50, duration(\"PT0.02S\"))",
    ]);
    bpmn.boundary_cycle("often", "work", cycle)
        .service_task("more", JOB)
        .end("end-more")
}

/// One branch terminates everything while others wait, call or finish.
fn terminated(dice: &mut Dice, n: u64) -> Bpmn {
    let mut bpmn = Bpmn::process(id(n)).start("start").parallel("fork");
    for i in 0..dice.below(6) {
        bpmn = bpmn.task(format!("step{i}"));
    }
    bpmn = bpmn.end_terminate("stop");
    for branch in 0..1 + dice.size(300) {
        bpmn = bpmn
            .from("fork")
            .call_activity(format!("call{branch}"), &child(n));
        bpmn = bpmn.end(format!("end{branch}"));
    }
    bpmn
}

/// Random blocks behind the start event of a process. The numbers in the ids depend on the depth, as ids must be unique in a file.
fn mixed(dice: &mut Dice, n: u64, start: Bpmn, depth: u64) -> Bpmn {
    let mut blocks = Blocks {
        dice,
        n,
        count: depth * 1_000_000,
        left: 40,
    };
    blocks.sequence(start, depth)
}

struct Blocks<'d> {
    dice: &'d mut Dice,
    n: u64,
    /// Number of elements so far, for their ids.
    count: u64,
    /// Remaining budget of elements.
    left: u64,
}

impl Blocks<'_> {
    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        self.left = self.left.saturating_sub(1);
        format!("{kind}{}", self.count)
    }

    fn sequence(&mut self, mut bpmn: Bpmn, depth: u64) -> Bpmn {
        for _ in 0..=self.dice.below(4) {
            bpmn = self.block(bpmn, depth);
        }
        bpmn
    }

    fn block(&mut self, bpmn: Bpmn, depth: u64) -> Bpmn {
        let kinds = if depth > 0 && self.left > 0 { 11 } else { 8 };
        match self.dice.below(kinds) {
            0 => bpmn.task(self.id("task")),
            1 => bpmn.catch_duration(self.id("timer"), "PT0.05S"),
            2 => {
                let duration = format!("={}", expressions::any(self.dice, 1));
                bpmn.catch_duration(self.id("timer"), &duration)
            }
            3 => {
                let key = format!("={}", expressions::any(self.dice, 1));
                bpmn.catch_message(self.id("catch"), MESSAGE, &key)
            }
            4 => bpmn.receive_task(self.id("receive"), MESSAGE, "=\"key\""),
            5 => {
                let called = child(self.n);
                let bpmn = bpmn.call_activity(self.id("call"), &called);
                mappings(self.dice, bpmn)
            }
            6 | 7 => self.service_task(bpmn),
            8 => self.branches(bpmn, depth, true),
            9 => self.branches(bpmn, depth, false),
            _ => self.sub_process(bpmn, depth),
        }
    }

    fn service_task(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("service");
        let bpmn = mappings(self.dice, bpmn.service_task(&id, JOB));
        self.boundary(bpmn, &id)
    }

    fn sub_process(&mut self, bpmn: Bpmn, depth: u64) -> Bpmn {
        let (id, start, end) = (self.id("sub"), self.id("start"), self.id("end"));
        let bpmn = bpmn.sub_process(&id, |sub| {
            let sub = self.sequence(sub.start(start), depth - 1);
            match self.dice.below(3) {
                0 => sub.end_terminate(end),
                1 => sub.end_error(end, "hostile-error"),
                _ => sub.end(end),
            }
        });
        let bpmn = mappings(self.dice, bpmn);
        self.boundary(bpmn, &id)
    }

    fn boundary(&mut self, bpmn: Bpmn, activity: &str) -> Bpmn {
        let kind = self.dice.below(8);
        if kind > 3 {
            return bpmn;
        }
        let (id, task, end) = (self.id("boundary"), self.id("task"), self.id("end"));
        let bpmn = match kind {
            0 => bpmn.boundary_error(id, activity, None),
            1 => bpmn.boundary_duration(id, activity, "PT0.1S"),
            2 => bpmn.boundary_cycle(id, activity, "R50/PT0.02S"),
            _ => bpmn
                .boundary_message(id, activity, MESSAGE, "=\"key\"")
                .non_interrupting(),
        };
        bpmn.service_task(task, JOB).end(end).from(activity)
    }

    fn branches(&mut self, bpmn: Bpmn, depth: u64, parallel: bool) -> Bpmn {
        let (fork, join) = (self.id("fork"), self.id("join"));
        let mut bpmn = if parallel {
            bpmn.parallel(&fork)
        } else {
            bpmn.exclusive(&fork)
        };
        let branches = 2 + self.dice.below(3);
        for branch in 0..branches {
            bpmn = bpmn.from(&fork);
            if !parallel && branch + 1 == branches {
                bpmn = bpmn.otherwise();
            } else if !parallel {
                bpmn = bpmn.when(&expressions::condition(self.dice));
            }
            bpmn = self.sequence(bpmn, depth - 1);
            bpmn = match branch {
                0 if parallel => bpmn.parallel(&join),
                0 => bpmn.exclusive(&join),
                _ => bpmn.to(&join),
            };
        }
        bpmn.from(&join)
    }
}

/// A few mappings for the last element.
fn mappings(dice: &mut Dice, mut bpmn: Bpmn) -> Bpmn {
    for i in 0..dice.below(4) {
        let source = format!("={}", expressions::any(dice, 2));
        bpmn = match dice.below(3) {
            0 => bpmn.output(&source, &format!("out{i}")),
            1 => bpmn.input("=big", &format!("in{i}.x.y")),
            _ => bpmn.input(&source, &format!("in{i}")),
        };
    }
    bpmn
}

/// Variables of a start: often few, sometimes many, large or deep.
pub fn variables(dice: &mut Dice) -> String {
    let mut fields = vec![format!("\"a\":{},\"b\":{}", dice.below(5), dice.below(5))];
    if dice.one_in(2) {
        let bytes = dice.size(3_000_000) as usize;
        fields.push(format!("\"big\":\"{}\"", "x".repeat(bytes)));
    }
    if dice.one_in(6) {
        let many = (0..dice.size(60_000)).map(|i| format!("\"v{i}\":{i}"));
        fields.push(many.collect::<Vec<_>>().join(","));
    }
    if dice.one_in(6) {
        let numbers = (0..dice.size(300_000)).map(|i| i.to_string());
        let numbers: Vec<_> = numbers.collect();
        fields.push(format!("\"many\":[{}]", numbers.join(",")));
    }
    if dice.one_in(6) {
        let depth = dice.size(195) as usize;
        fields.push(format!(
            "\"deep\":{}1{}",
            "[".repeat(depth),
            "]".repeat(depth)
        ));
    }
    format!("{{{}}}", fields.join(","))
}
