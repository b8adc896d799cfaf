//! Partitions are added while clients work.

use crate::experiments::{Experiment, invariants, scale, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "scale-up",
    about: "the partitions of three nodes are doubled, in the full form while leaders are killed",
    plan,
};

const BEFORE: u32 = 3;
const AFTER: u32 = 6;
/// Instances per second.
const RATE: f64 = 150.0;

fn plan(full: bool) -> Plan {
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
        step("scale", 12.0, scale(AFTER)),
    ];
    for _ in 0..if full { 4 } else { 0 } {
        steps.push(step("kill", 1.0, Action::Kill(Who::LeaderOf(1))));
        steps.push(step("start", 4.0, Action::Start));
    }
    steps.extend([
        wait("grown", Until::Partitions(AFTER), 180.0),
        wait("even", Until::Even, 90.0),
        step("end", 10.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster doubles its partitions while clients work. They notice next to nothing, and nothing is lost."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: BEFORE,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria(full).into_iter().chain(invariants()).collect(),
    }
}

fn criteria(full: bool) -> Vec<Criterion> {
    let timed = |name, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    let mut criteria = vec![timed(
        "the new partitions take part after",
        Measure::of("grown.seconds"),
        Limit::AtMost(60.0),
        "s",
    )];
    if full {
        return criteria;
    }
    let created = Measure::of("created-per-s").take(Take::Mean);
    let completed = Measure::of("completed-per-s").take(Take::Mean);
    let p99 = |from, to| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(2.0)
    };
    criteria.extend([
        timed(
            "creations ÷ rate from the request on",
            created
                .between("scale", "end")
                .over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.9),
            "×",
        ),
        timed(
            "p99 of creations from the request on ÷ p99 before",
            p99("scale", "end").over(p99("base", "scale")),
            Limit::AtMost(3.0),
            "×",
        ),
        timed(
            "leaders are even afterwards",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
        // Workers were there before the new partitions.
        Criterion::new(
            "completions ÷ rate afterwards",
            completed
                .between("even", "end")
                .skip(2.0)
                .over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        ),
    ]);
    criteria
}
