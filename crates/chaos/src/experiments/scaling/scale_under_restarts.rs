//! Partitions are added while nodes are killed, stopped and paused.

use crate::experiments::{Experiment, invariants, scale, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "scale-under-restarts",
    about: "partitions are added one by one while nodes are killed, stopped and paused, and one change is cancelled",
    plan,
};

const BEFORE: u32 = 3;
/// Instances per second.
const RATE: f64 = 50.0;
/// Maximum duration of a change, in seconds.
const LIMIT_S: f64 = 80.0;
/// Seconds: longer than an election takes.
const STANDS_STILL: f64 = 5.0;

fn plan(full: bool) -> Plan {
    let rounds = if full { 20 } else { 4 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for partitions in BEFORE + 1..=BEFORE + rounds {
        steps.extend(round(partitions));
    }
    steps.extend(cancelled_round(BEFORE + rounds));
    steps.extend(round(BEFORE + rounds + 1));
    steps.push(step("end", 5.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster whose nodes are killed, stopped and paused during a change of its partitions completes the change, or \
                     cancels it on request. It serves its clients meanwhile, and nothing is lost."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: BEFORE,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

/// A change during which two nodes restart and one stands still.
fn round(partitions: u32) -> [Step; 9] {
    [
        step("scale", 3.0, scale(partitions)),
        step("kill", 0.3, Action::Kill(Who::LeaderOf(1))),
        step("start", 4.0, Action::Start),
        step("term", 1.0, Action::Stop(Who::LeaderOf(2))),
        step("start", 1.0, Action::Start),
        step("pause", 1.0, Action::Pause(Who::LeaderOf(1))),
        step("resume", STANDS_STILL, Action::Resume),
        wait("grown", Until::Partitions(partitions), LIMIT_S),
        wait("even", Until::Even, 90.0),
    ]
}

/// A change that cannot proceed while a node is away, and is cancelled.
fn cancelled_round(partitions: u32) -> [Step; 5] {
    [
        step("away", 3.0, Action::Kill(Who::LeaderOf(1))),
        step("stuck", 5.0, scale(partitions + 1)),
        step("cancel", 2.0, Action::CancelChange),
        step("start", 1.0, Action::Start),
        wait("cancelled", Until::Partitions(partitions), LIMIT_S),
    ]
}

fn criteria() -> Vec<Criterion> {
    let timed = |name, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    vec![
        timed(
            "a change is complete after its last fault within",
            Measure::of("grown.seconds"),
            Limit::AtMost(LIMIT_S),
            "s",
        )
        .post("813 s"),
        timed(
            "time without creations in a partition, a leader killed",
            Measure::of("create-gap-ms").between("kill", "term"),
            Limit::AtMost(5000.0),
            "ms",
        ),
        timed(
            "time without creations in a partition, a leader stopped",
            Measure::of("create-gap-ms").between("term", "pause"),
            Limit::AtMost(5000.0),
            "ms",
        ),
        timed(
            "time without creations in a partition, a leader paused",
            Measure::of("create-gap-ms").between("pause", "grown"),
            Limit::AtMost(5000.0),
            "ms",
        ),
        timed(
            "a cancelled change is over after",
            Measure::of("cancelled.seconds"),
            Limit::AtMost(20.0),
            "s",
        ),
        timed(
            "leaders are even after a change",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
    ]
}
