//! Nodes are killed, stopped and paused while a reader searches at each of them.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "query-honesty",
    about: "leaders of three nodes are killed, stopped and paused while searches run at every node",
    plan,
};

/// Instances per second: no total reaches 10,000, above which counts are no longer exact.
const RATE: f64 = 40.0;

fn plan(full: bool) -> Plan {
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for round in 0..if full { 5 } else { 1 } {
        let leader = Who::LeaderOf(round % 3 + 1);
        steps.extend([
            step("kill", 10.0, Action::Kill(leader)),
            step("start", 6.0, Action::Start),
            wait("even", Until::Even, 90.0),
            step("pause", 2.0, Action::Pause(leader)),
            step("resume", 6.0, Action::Resume),
            wait("even", Until::Even, 90.0),
            step("stop", 2.0, Action::Stop(leader)),
            step("start", 4.0, Action::Start),
            wait("even", Until::Even, 90.0),
        ]);
    }
    steps.push(step("end", 3.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A search shows everything that its node has shown before, or says what is missing: whichever node is away, no total \
                     falls and no instance vanishes."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: 3,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> Vec<Criterion> {
    let none = |name, series| Criterion::new(name, Measure::of(series), Limit::AtMost(0.0), "");
    let p99 = |from, to| {
        let p99 = Measure::of("search-p99-ms").take(Take::Median);
        p99.between(from, to)
    };
    vec![
        none("totals that fell at a node", "totals-fell"),
        none("instances that vanished at a node", "keys-vanished"),
        none(
            "searches that failed, or were refused without a reason",
            "searches-odd",
        ),
        Criterion::new(
            "searches that were answered",
            Measure::of("searches-answered"),
            Limit::AtLeast(500.0),
            "",
        ),
        Criterion::new(
            "p99 of a search while a node is killed ÷ before",
            p99("kill", "start")
                .skip(2.0)
                .over(p99("base", "kill").skip(2.0)),
            Limit::AtMost(2.0),
            "×",
        )
        .timed(),
    ]
}
