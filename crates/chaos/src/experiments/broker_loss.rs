//! Nodes of a cluster are killed and stopped, leaders and followers.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "broker-loss",
    about: "leaders and followers of three nodes are killed and stopped",
    plan,
};

/// Seconds between a fault and the return of the node.
const AWAY: f64 = 6.0;

fn plan(full: bool) -> Plan {
    let kills = if full { 50 } else { 3 };
    let returns = |away| {
        [
            step("start", away, Action::Start),
            wait("rate", Until::RateIs(0.95), 60.0),
            wait("even", Until::Even, 90.0),
        ]
    };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::OfMaximum(0.3))),
    ];
    for _ in 0..kills {
        steps.push(step("kill", 8.0, Action::Kill(Who::LeaderOf(1))));
        steps.extend(returns(AWAY));
    }
    steps.push(step("term", 4.0, Action::Stop(Who::LeaderOf(1))));
    steps.extend(returns(AWAY));
    steps.push(step("follower", 4.0, Action::Kill(Who::Follower)));
    steps.extend(returns(10.0));
    steps.push(step("end", 3.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster of three nodes that loses one continues after a moment: at once if the node was stopped or led nothing, \
                     after an election if a leader was killed. Nothing is lost, and a node that returns takes its share."
            .into(),
        nodes: Nodes {
            count: 3,
            // When leaders are spread evenly, one node leads nothing.
            partitions: 2,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> Vec<Criterion> {
    let gap = |from| Measure::of("create-gap-ms").between(from, "start");
    let p99 = |from, to| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(2.0)
    };
    let created = Measure::of("created-per-s").take(Take::Mean);
    let created = created.between("follower", "start").skip(2.0);
    let in_doubt = Measure::of("in-doubt").take(Take::Growth);
    let timed = |name, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    vec![
        timed(
            "kill -9 of a leader: time without creations, median",
            gap("kill").across(Take::Median),
            Limit::AtMost(1500.0),
            "ms",
        ),
        timed(
            "the same, p99",
            gap("kill").across(Take::P99),
            Limit::AtMost(3000.0),
            "ms",
        ),
        timed(
            "SIGTERM to a leader: time without creations",
            gap("term"),
            Limit::AtMost(250.0),
            "ms",
        ),
        Criterion::new(
            "SIGTERM to a leader: creations in doubt",
            in_doubt.between("term", "start"),
            Limit::AtMost(0.0),
            "",
        ),
        timed(
            "a follower is lost: creations ÷ rate",
            created.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        ),
        timed(
            "a follower is lost: p99 of creations ÷ p99 before",
            p99("follower", "start").over(p99("base", "kill")),
            Limit::AtMost(2.0),
            "×",
        ),
        timed(
            "leaders are even after a return",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
        timed(
            "full rate after a return",
            Measure::of("rate.seconds"),
            Limit::AtMost(10.0),
            "s",
        ),
    ]
}
