//! All workers go away, a backlog grows, and they come back.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "worker-outage",
    about: "all workers are away, and come back to a backlog",
    plan,
};

fn plan(full: bool) -> Plan {
    let outage = if full { 600.0 } else { 30.0 };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "An outage of all workers costs nothing but time: creations are not affected, and the backlog is worked off, oldest \
                     first and each job once, as fast as the cluster works without an outage."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: vec![
            step("workers", 0.0, Action::Workers(true)),
            step("base", 0.0, Action::Load(Rate::OfMaximum(0.3))),
            step("outage", 15.0, Action::Workers(false)),
            step("return", outage, Action::Workers(true)),
            wait("drained", Until::OpenAtMost(100.0), outage * 4.0),
            step("end", 5.0, Action::StopLoad),
        ],
        drain_s: 60.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let p99 = |from, to| {
        Measure::of("create-p99-ms")
            .take(Take::Median)
            .between(from, to)
            .skip(2.0)
    };
    let mut criteria = vec![
        Criterion::new(
            "the backlog is worked off: time ÷ backlog ÷ (M − rate)",
            Measure::of("drained.seconds").over(Measure::of("drained.ideal-seconds")),
            Limit::AtMost(1.2),
            "×",
        )
        .timed(),
        Criterion::new(
            "creations without workers: p99 ÷ p99 before",
            p99("outage", "return").over(p99("base", "outage")),
            Limit::AtMost(2.0),
            "×",
        )
        .timed(),
        Criterion::new(
            "creations without workers: p99",
            p99("outage", "return"),
            Limit::AtMost(20.0),
            "ms",
        )
        .flushes(2.0)
        .timed(),
        Criterion::new(
            "jobs given out twice",
            Measure::of("jobs-twice"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "jobs given out after younger ones: share",
            Measure::of("jobs-overtaken").over(Measure::of("jobs-received")),
            Limit::AtMost(0.01),
            "",
        ),
        Criterion::new(
            "instances under way when the workers return",
            Measure::of("drained.backlog"),
            Limit::AtLeast(200.0),
            "",
        ),
        Criterion::new(
            "nodes that ended",
            Measure::of("nodes-died"),
            Limit::AtMost(0.0),
            "",
        )
        .post("a broker was lost"),
    ];
    criteria.extend(invariants());
    criteria
}
