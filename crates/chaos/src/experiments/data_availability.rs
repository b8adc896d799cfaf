//! How long until data can be searched, under increasing load.

use super::{Experiment, invariants, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take};

pub const EXPERIMENT: Experiment = Experiment {
    name: "data-availability",
    about: "instances are searched for once they are created, at 0.3, 0.63 and 1.25 M",
    plan,
};

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 12.0 };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A change can be searched a moment later, by other callers too, and no load that the node can carry makes that moment \
                     long. The caller who made the change finds it at once."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: vec![
            step("workers", 0.0, Action::Workers(true)),
            step("low", 0.0, Action::Load(Rate::OfMaximum(0.3))),
            step("normal", long, Action::Load(Rate::OfMaximum(0.63))),
            step("over", long, Action::Flood(Rate::OfMaximum(1.25))),
            step("end", long, Action::StopLoad),
        ],
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let found = |from, to| {
        let p99 = Measure::of("found-p99-ms").take(Take::Median);
        p99.between(from, to).skip(2.0)
    };
    let timed = |name, measure, most| {
        Criterion::new(name, measure, Limit::AtMost(most), "ms")
            .flushes(2.0)
            .timed()
    };
    let mut criteria = vec![
        timed("0.3 M: found after, p99", found("low", "normal"), 200.0),
        timed("0.63 M: found after, p99", found("normal", "over"), 200.0),
        timed("1.25 M: found after, p99", found("over", "end"), 2000.0).post("60 s and more"),
        Criterion::new(
            "own instances that were looked for",
            Measure::of("own-writes"),
            Limit::AtLeast(30.0),
            "",
        ),
        Criterion::new(
            "own instances that were not found at once",
            Measure::of("own-writes-missed"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "instances that no search found in a minute",
            Measure::of("not-found"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "searches that failed",
            Measure::of("searches-failed"),
            Limit::AtMost(0.0),
            "",
        ),
    ];
    criteria.extend(invariants());
    criteria
}
