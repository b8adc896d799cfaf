//! Random valid processes, for property tests over engine and model.

use skep_random::Random;

use super::Bpmn;

/// A random process with this id: valid, block-structured and of about `size` flow nodes; the same for the same seed.
///
/// It reads the variables `a` and `b` in conditions (numbers from 0 to 3) and writes them in mappings: start it with both. To
/// complete, it needs all of these: jobs of the type `job` are completed, at some time with `b` = 3 (smaller values repeat
/// loops); messages named `message` arrive with the correlation key `key`; timers of one minute pass; a process with the id
/// `called` can be called; a decision `decided` is deployed; user tasks are completed; and jobs of the type `listener` are
/// completed without variables. Events wait for the error `error` and the escalation `escalation` (which end and throw events
/// throw too, caught or not), for the signal `signal` (thrown too), for one minute, for messages named `other-message`, and
/// for `b` to be 3.
pub fn random(id: impl Into<String>, seed: u64, size: usize) -> Bpmn {
    let mut generator = Generator {
        random: Random(seed),
        left: size,
        count: 0,
    };
    let bpmn = Bpmn::process(id).start("start");
    let bpmn = generator.sequence(bpmn, 0).end("end");
    generator.event_sub_process(bpmn)
}

/// Blocks nested deeper than this are plain tasks.
const MAX_DEPTH: usize = 4;

/// Blocks without inner blocks. An entry that is listed twice is chosen twice as often.
const LEAVES: &[fn(&mut Generator, Bpmn) -> Bpmn] = &[
    |g, bpmn| bpmn.task(g.id("task")),
    |g, bpmn| bpmn.manual_task(g.id("manual")),
    |g, bpmn| bpmn.catch_duration(g.id("timer"), "PT1M"),
    |g, bpmn| bpmn.catch_message(g.id("catch"), "message", "=\"key\""),
    |g, bpmn| bpmn.receive_task(g.id("receive"), "message", "=\"key\""),
    |g, bpmn| bpmn.send_task(g.id("send"), "job"),
    |g, bpmn| bpmn.throw(g.id("throw")),
    |g, bpmn| bpmn.throw_message(g.id("throw"), "job"),
    Generator::call_activity,
    Generator::service_task,
    Generator::service_task,
    Generator::user_task,
    Generator::script,
    Generator::business_rule_task,
    Generator::link,
    Generator::compensable,
    |g, bpmn| bpmn.throw_compensation(g.id("compensate"), None),
    Generator::exit,
    Generator::event_based,
    |g, bpmn| bpmn.catch_signal(g.id("catch"), "signal"),
    |g, bpmn| bpmn.throw_signal(g.id("throw"), "signal"),
    |g, bpmn| bpmn.throw_escalation(g.id("throw"), "escalation"),
    |g, bpmn| bpmn.catch_condition(g.id("catch"), "=b = 3"),
];

/// Blocks with others inside.
const SCOPES: &[fn(&mut Generator, Bpmn, usize) -> Bpmn] = &[
    |g, bpmn, depth| g.branches(bpmn, depth, Branches::Parallel),
    |g, bpmn, depth| g.branches(bpmn, depth, Branches::Exclusive),
    |g, bpmn, depth| g.branches(bpmn, depth, Branches::Inclusive),
    Generator::repetition,
    Generator::ad_hoc,
    Generator::sub_process,
    Generator::sub_process,
];

#[derive(Clone, Copy)]
enum Branches {
    Parallel,
    Exclusive,
    Inclusive,
}

struct Generator {
    random: Random,
    /// Flow nodes still to spend.
    left: usize,
    /// Of elements so far, for their ids.
    count: usize,
}

impl Generator {
    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        self.left = self.left.saturating_sub(1);
        format!("{kind}{}", self.count)
    }

    fn sequence(&mut self, mut bpmn: Bpmn, depth: usize) -> Bpmn {
        loop {
            bpmn = self.block(bpmn, depth);
            if self.left == 0 || (depth > 0 && self.random.below(3) == 0) {
                return bpmn;
            }
        }
    }

    fn block(&mut self, bpmn: Bpmn, depth: usize) -> Bpmn {
        let scopes = if depth < MAX_DEPTH { SCOPES } else { &[] };
        let choice = self.random.below((LEAVES.len() + scopes.len()) as u64) as usize;
        match LEAVES.get(choice) {
            Some(leaf) => leaf(self, bpmn),
            None => {
                let scope = scopes.get(choice - LEAVES.len());
                scope.expect("a number below the count of both")(self, bpmn, depth)
            }
        }
    }

    fn service_task(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("service");
        let mut bpmn = bpmn.service_task(&id, "job");
        if self.random.below(3) == 0 {
            let number = self.random.below(4);
            bpmn = bpmn.input(&format!("={number}"), "a").output("=a", "b");
        }
        bpmn = self.markers(bpmn);
        self.boundary(bpmn, &id)
    }

    fn script(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("script");
        let bpmn = bpmn.script(&id, "=if a < 3 then a + 1 else 0", "a");
        self.boundary(bpmn, &id)
    }

    fn business_rule_task(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("decide");
        let bpmn = match self.random.below(3) {
            0 => bpmn.job_task("businessRuleTask", &id, "job"),
            _ => bpmn.decision(&id, "decided", "a"),
        };
        self.boundary(bpmn, &id)
    }

    fn compensable(&mut self, bpmn: Bpmn) -> Bpmn {
        let (task, event, undo) = (self.id("service"), self.id("boundary"), self.id("undo"));
        let bpmn = bpmn
            .service_task(&task, "job")
            .boundary_compensation(event, &task, &undo);
        bpmn.service_task(&undo, "job")
            .for_compensation()
            .from(&task)
    }

    fn link(&mut self, bpmn: Bpmn) -> Bpmn {
        let (throw, catch) = (self.id("throw"), self.id("catch"));
        bpmn.throw_link(throw, &catch).catch_link(&catch, &catch)
    }

    /// Perhaps with an assignee, and with listeners of some of its events.
    fn user_task(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("user");
        let mut bpmn = bpmn.user_task(&id);
        if self.random.below(2) == 0 {
            bpmn = bpmn.extension(r#"<zeebe:assignmentDefinition assignee="anna"/>"#);
        }
        let mut listeners = String::new();
        for event in [
            "creating",
            "assigning",
            "updating",
            "completing",
            "canceling",
        ] {
            for _ in 0..self.random.below(6).saturating_sub(3) {
                let listener =
                    format!(r#"<zeebe:taskListener eventType="{event}" type="listener"/>"#);
                listeners.push_str(&listener);
            }
        }
        bpmn = bpmn.extension(&format!(
            "<zeebe:taskListeners>{listeners}</zeebe:taskListeners>"
        ));
        self.boundary(bpmn, &id)
    }

    fn call_activity(&mut self, bpmn: Bpmn) -> Bpmn {
        let id = self.id("call");
        let bpmn = bpmn.call_activity(&id, "called");
        let bpmn = self.markers(bpmn);
        self.boundary(bpmn, &id)
    }

    /// A gateway that may leave the scope by an end event of any kind.
    fn exit(&mut self, bpmn: Bpmn) -> Bpmn {
        let (choice, end) = (self.id("choice"), self.id("end"));
        let value = self.random.below(4);
        let bpmn = bpmn.exclusive(&choice).when(&format!("=a = {value}"));
        let bpmn = match self.random.below(7) {
            0 => bpmn.end_error(end, "error"),
            1 => bpmn.end_terminate(end),
            2 => bpmn.end_escalation(end, "escalation"),
            3 => bpmn.end_signal(end, "signal"),
            4 => bpmn.end_message(end, "job"),
            5 => bpmn.end_compensation(end, None),
            _ => bpmn.end(end),
        };
        let (id, job) = (self.id("task"), "job");
        bpmn.from(&choice).otherwise().service_task(id, job)
    }

    fn sub_process(&mut self, bpmn: Bpmn, depth: usize) -> Bpmn {
        let (id, start, end) = (self.id("sub"), self.id("start"), self.id("end"));
        let terminates = self.random.below(4) == 0;
        let bpmn = bpmn.sub_process(&id, |sub| {
            let sub = self.sequence(sub.start(start), depth + 1);
            let sub = if terminates {
                sub.end_terminate(end)
            } else {
                sub.end(end)
            };
            self.event_sub_process(sub)
        });
        let bpmn = self.markers(bpmn);
        self.boundary(bpmn, &id)
    }

    /// Perhaps an event sub-process in the scope that was filled, of any kind.
    fn event_sub_process(&mut self, bpmn: Bpmn) -> Bpmn {
        let (kind, interrupting) = (self.random.below(14), self.random.below(2) == 0);
        if kind > 6 {
            return bpmn;
        }
        let (id, start) = (self.id("events"), self.id("start"));
        let (task, end) = (self.id("service"), self.id("end"));
        bpmn.event_sub_process(id, |sub| {
            let sub = match kind {
                0 => sub.start_error(start, "error"),
                1 => sub.start_escalation(start, "escalation"),
                2 => sub.start_signal(start, "signal"),
                3 => sub.start_condition(start, "=b = 3"),
                4 => sub.start_message_for(start, "other-message", "=\"key\""),
                5 => sub.start_duration(start, "PT1M"),
                _ => sub.start_cycle(start, "R3/PT1M"),
            };
            // Errors always interrupt, and cycles never do.
            let sub = if kind == 0 || (interrupting && kind != 6) {
                sub
            } else {
                sub.non_interrupting()
            };
            sub.service_task(task, "job").end(end)
        })
    }

    /// The first of several events, and then the path continues.
    fn event_based(&mut self, bpmn: Bpmn) -> Bpmn {
        let (choice, join) = (self.id("events"), self.id("join"));
        let events = [(); 4].map(|()| self.id("catch"));
        let [message, timer, signal, condition] = &events;
        let bpmn = bpmn.event_based(&choice);
        let bpmn = bpmn
            .catch_message(message, "message", "=\"key\"")
            .exclusive(&join);
        let bpmn = bpmn
            .from(&choice)
            .catch_duration(timer, "PT1M")
            .to(&join)
            .from(&choice);
        let bpmn = bpmn.catch_signal(signal, "signal").to(&join).from(&choice);
        bpmn.catch_condition(condition, "=b = 3").to(&join)
    }

    /// Perhaps a multi-instance marker and listeners for the activity before.
    fn markers(&mut self, mut bpmn: Bpmn) -> Bpmn {
        if self.random.below(6) == 0 {
            let items = ["=[1,2,3]", "=for i in 1..b return i", "=[]"];
            let items = *self.random.pick(&items);
            bpmn = bpmn.for_each(items, "item");
            if self.random.below(2) == 0 {
                bpmn = bpmn.sequential();
            }
            if self.random.below(2) == 0 {
                bpmn = bpmn.collect("=a", "collected");
            }
            if self.random.below(3) == 0 {
                bpmn = bpmn.until("=numberOfCompletedInstances >= b");
            }
        }
        for event in ["start", "end"] {
            if self.random.below(8) == 0 {
                bpmn = bpmn.listener(event, "job");
            }
        }
        bpmn
    }

    /// Two activities, of which the one that `a` chooses is activated first, or both are, or those that a job chooses.
    fn ad_hoc(&mut self, bpmn: Bpmn, depth: usize) -> Bpmn {
        let (id, first, second) = (self.id("hoc"), self.id("service"), self.id("task"));
        let active = [
            format!(r#"=if a = 1 then ["{first}"] else ["{second}"]"#),
            format!(r#"=["{first}","{second}","{first}"]"#),
        ];
        let active = self.random.pick(&active);
        let bpmn = bpmn.ad_hoc(&id, |inside| {
            let inside = inside.service_task(first, "job").apart().task(second);
            // End events are not allowed directly inside.
            let (sub, start, end) = (self.id("sub"), self.id("start"), self.id("end"));
            inside.sub_process(sub, |sub| {
                self.sequence(sub.start(start), depth + 1).end(end)
            })
        });
        let bpmn = match self.random.below(4) {
            0 => bpmn.extension(r#"<zeebe:taskDefinition type="job"/>"#),
            1 => bpmn.active_elements(active).until("=b >= 1"),
            _ => bpmn.active_elements(active),
        };
        self.boundary(bpmn, &id)
    }

    /// Perhaps a boundary event at the activity before, with a path of its own to an end.
    fn boundary(&mut self, bpmn: Bpmn, activity: &str) -> Bpmn {
        let kind = self.random.below(14);
        if kind > 6 {
            return bpmn;
        }
        let (id, task, end) = (self.id("boundary"), self.id("task"), self.id("end"));
        let bpmn = match kind {
            0 => bpmn.boundary_error(id, activity, "error"),
            1 => bpmn.boundary_duration(id, activity, "PT1M"),
            2 => bpmn.boundary_cycle(id, activity, "R3/PT1M"),
            3 => bpmn.boundary_signal(id, activity, "signal"),
            // An activity without content cannot escalate.
            4 if activity.starts_with("sub") || activity.starts_with("call") => {
                bpmn.boundary_escalation(id, activity, "escalation")
            }
            4 | 5 => bpmn.boundary_condition(id, activity, "=b = 3"),
            _ => bpmn.boundary_message(id, activity, "other-message", "=\"key\""),
        };
        let bpmn = if kind > 2 && self.random.below(2) == 0 {
            bpmn.non_interrupting()
        } else {
            bpmn
        };
        bpmn.service_task(task, "job").end(end).from(activity)
    }

    /// Two to four branches between a fork and a join.
    fn branches(&mut self, bpmn: Bpmn, depth: usize, kind: Branches) -> Bpmn {
        let (fork, join) = (self.id("fork"), self.id("join"));
        let branches = 2 + self.random.below(3);
        let gateway = |bpmn: Bpmn, id: &str| match kind {
            Branches::Parallel => bpmn.parallel(id),
            Branches::Exclusive => bpmn.exclusive(id),
            Branches::Inclusive => bpmn.inclusive(id),
        };
        let mut bpmn = gateway(bpmn, &fork);
        for branch in 0..branches {
            bpmn = bpmn.from(&fork);
            bpmn = match kind {
                Branches::Parallel => bpmn,
                _ if branch + 1 == branches => bpmn.otherwise(),
                Branches::Exclusive => bpmn.when(&format!("=a = {branch}")),
                Branches::Inclusive => bpmn.when(&format!("=a > {branch}")),
            };
            bpmn = self.sequence(bpmn, depth + 1);
            bpmn = match branch {
                0 => gateway(bpmn, &join),
                _ => bpmn.to(&join),
            };
        }
        bpmn.from(&join)
    }

    /// A block that is repeated as long as a condition holds.
    fn repetition(&mut self, bpmn: Bpmn, depth: usize) -> Bpmn {
        let (head, job, choice) = (self.id("again"), self.id("service"), self.id("choice"));
        let bpmn = self.sequence(bpmn.exclusive(&head), depth + 1);
        let bpmn = bpmn.service_task(job, "job").exclusive(&choice);
        let limit = self.random.below(3);
        bpmn.when(&format!("=b < {limit}"))
            .to(&head)
            .from(&choice)
            .otherwise()
    }
}
