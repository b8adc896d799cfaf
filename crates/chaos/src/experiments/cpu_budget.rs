//! A node gets half a core, three quarters of one, and one and a half.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "cpu-budget",
    about: "a node gets half a core beside 0.75 and 1.5 cores, in turn, then more load than half a core can carry",
    plan,
};

const LEAST: f64 = 0.5;
/// The load, as a share of the maximum with the least budget.
const NORMAL: f64 = 0.6;
const MORE: [(f64, &str); 2] = [(0.75, "cores-0.75"), (1.5, "cores-1.5")];

/// The step with half a core beside one with more.
fn beside(name: &str) -> String {
    format!("least-beside-{name}")
}

fn limit(name: &str, cores: f64) -> Step {
    let who = Who::Node(0);
    step(name, 0.0, Action::Limit { who, cores })
}

/// Slices in the order A B B A under the same load: half a core, and more.
fn pairs(full: bool) -> Vec<Step> {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 8.0) };
    let mut steps = Vec::new();
    for (cores, name) in MORE {
        for pair in 0..pairs {
            let mut both = [(LEAST, beside(name)), (cores, name.to_string())];
            if pair % 2 == 1 {
                both.reverse();
            }
            for (cores, name) in both {
                steps.push(limit(&name, cores));
                // Only ends a slice: workers are running already.
                steps.push(step("slice", long, Action::Workers(true)));
            }
        }
    }
    steps
}

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 12.0 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::OfMaximum(NORMAL))),
    ];
    steps.extend(pairs(full));
    steps.extend([
        limit("again", LEAST),
        step("over", 0.0, Action::Flood(Rate::OfMaximum(1.25))),
        step("normal", long, Action::Load(Rate::OfMaximum(NORMAL))),
        wait("back", Until::RateIs(0.95), 60.0),
        step("end", 8.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node with little CPU is slower in proportion, no more: the same load costs the same CPU and hardly more time, and \
                     beyond its maximum the node does as much as it can."
            .into(),
        nodes: Nodes {
            quota: Some(LEAST),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let of = |series: &str, take, from: &str, to: &str| {
        Measure::of(series).take(take).between(from, to).skip(3.0)
    };
    let mut criteria = Vec::new();
    for (cores, name) in MORE {
        let here = |series: &str, take| of(series, take, name, "slice");
        let least = |series: &str, take| of(series, take, &beside(name), "slice");
        criteria.push(
            Criterion::new(
                &format!("0.5 ÷ {cores} cores: p50 of a creation"),
                least("create-p50-ms", Take::Median)
                    .paired_with(here("create-p50-ms", Take::Median)),
                Limit::AtMost(1.5),
                "×",
            )
            .timed()
            .post("5 ×"),
        );
        // CPU per instance here ÷ that with half a core.
        let of_least = least("completed-per-s", Take::Mean).over(least("node0.cores", Take::Mean));
        let instances = here("completed-per-s", Take::Mean).over(of_least);
        let cost = here("node0.cores", Take::Mean).paired_with(instances);
        for (limit, than) in [(Limit::AtMost(1.1), "more"), (Limit::AtLeast(0.9), "less")] {
            let name = format!("{cores} ÷ 0.5 cores: CPU of an instance, not {than}");
            criteria.push(Criterion::new(&name, cost.clone(), limit, "×").timed());
        }
    }
    let completed = of("completed-per-s", Take::Mean, "over", "normal");
    criteria.extend([
        Criterion::new(
            "1.25 M with half a core: instances completed ÷ M",
            completed.over(Measure::of("machine.maximum-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        // The quota is what limits the node.
        Criterion::new(
            "1.25 M with half a core: cores that the node used",
            of("node0.cores", Take::Max, "over", "normal"),
            Limit::AtMost(LEAST * 1.1),
            "",
        ),
        Criterion::new(
            "the full rate is there again after",
            Measure::of("back.seconds"),
            Limit::AtMost(2.0),
            "s",
        )
        .timed(),
    ]);
    criteria.extend(invariants());
    criteria
}
