//! The leader of a partition is cut off from the other nodes: both ways, and each way alone.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Way, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "network-cut",
    about: "a leader is cut off from the other nodes, in both directions and in each alone",
    plan,
};

const LEADER: Who = Who::LeaderOf(1);
/// The ways to cut, each with the name of its step.
const CUTS: [(&str, Way); 3] = [
    ("both", Way::Around(LEADER)),
    ("out", Way::OutOf(LEADER)),
    ("into", Way::Into(LEADER)),
];
/// Seconds that the cut lasts once the others serve. A job in flight across the cut must arrive before its timeout: otherwise it is rightly
/// given to another worker and comes twice.
const AWAY: f64 = 5.0;
/// Instances per second.
const RATE: f64 = 60.0;

fn plan(full: bool) -> Plan {
    let rounds = if full { 10 } else { 1 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for (name, way) in CUTS.into_iter().cycle().take(CUTS.len() * rounds) {
        steps.push(step(name, 6.0, Action::Cut(way)));
        steps.push(wait("serves", Until::Created(SERVES), 60.0));
        steps.push(step("heal", AWAY, Action::Heal));
        steps.push(wait("rate", Until::RateIs(0.95), 60.0));
        steps.push(wait("even", Until::Even, 90.0));
    }
    steps.push(step("end", 3.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A leader that is cut off in one or both directions is replaced. The other nodes serve meanwhile; once the network is \
                     whole again, nothing is lost and leaders are evenly spread."
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

/// Number of creations that shows that the others serve: more than were under way when the network was cut.
const SERVES: u64 = 300;

fn criteria() -> Vec<Criterion> {
    let timed =
        |name: &str, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    let mut criteria = Vec::new();
    for (cut, _) in CUTS {
        let served = Measure::of("created-total").take(Take::Growth);
        criteria.push(Criterion::new(
            &format!("{cut}: instances created while the leader is cut off"),
            served.between(cut, "heal").across(Take::Min),
            Limit::AtLeast(100.0),
            "",
        ));
        let gap = Measure::of("create-gap-ms").between(cut, "heal");
        criteria.push(timed(
            &format!("{cut}: longest time without creations in a partition"),
            gap,
            Limit::AtMost(8000.0),
            "ms",
        ));
    }
    criteria.extend([
        timed(
            "full rate after the network is whole",
            Measure::of("rate.seconds"),
            Limit::AtMost(20.0),
            "s",
        ),
        timed(
            "leaders are even after the network is whole",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
    ]);
    criteria
}
