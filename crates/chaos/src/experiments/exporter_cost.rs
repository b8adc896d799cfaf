//! The cost of making everything searchable.

use super::{Experiment, invariants, ready, settings, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take};

pub const EXPERIMENT: Experiment = Experiment {
    name: "exporter-cost",
    about: "a node works with the embedded secondary storage and without any, in turn",
    plan,
};

const TYPE: &str = "camunda.data.secondary-storage.type";
const NORMAL: f64 = 0.63;

const EMBEDDED: &str = "embedded";
const NONE: &str = "none";

/// Load below and above the maximum, with this kind of secondary storage.
fn turn(kind: &str, long: f64) -> [Step; 3] {
    [
        step(kind, 0.0, Action::Load(Rate::OfMaximum(NORMAL))),
        step(&over(kind), long, Action::Flood(Rate::OfMaximum(1.25))),
        step("turn", long, Action::StopLoad),
    ]
}

fn over(kind: &str) -> String {
    format!("{kind}-over")
}

fn again(kind: &str) -> [Step; 2] {
    let settings = settings(&[(TYPE, kind)]);
    [
        step("again", 5.0, Action::Settings { node: 0, settings }),
        ready(),
    ]
}

fn plan(full: bool) -> Plan {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 10.0) };
    let mut steps = vec![step("workers", 0.0, Action::Workers(true))];
    let mut now = EMBEDDED;
    for pair in 0..pairs {
        // A B B A: what changes slowly is much the same in both turns of a pair.
        for kind in [now, if now == NONE { EMBEDDED } else { NONE }] {
            if pair > 0 || kind != EMBEDDED {
                steps.extend(again(kind));
            }
            steps.extend(turn(kind, long));
            now = kind;
        }
    }
    // So that the node can be queried at the end.
    steps.extend(again(EMBEDDED));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "Making everything searchable costs a part of the CPU, and nothing else: a node with CPU to spare does the same work \
                     as without secondary storage, in hardly more time."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps,
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let of = |series: &str, take, from: &str, to: &str| {
        Measure::of(series).take(take).between(from, to).skip(2.0)
    };
    let completed = |kind| of("completed-per-s", Take::Mean, kind, &over(kind));
    let flooded = |kind| of("completed-per-s", Take::Mean, &over(kind), "turn");
    let p99 = |kind| of("instance-p99-ms", Take::Median, kind, &over(kind));
    let mut criteria = vec![
        Criterion::new(
            "1.25 M: instances completed with ÷ without",
            flooded(EMBEDDED).paired_with(flooded(NONE)),
            Limit::AtLeast(0.8),
            "×",
        )
        .timed(),
        Criterion::new(
            "0.63 M: instances completed with ÷ without",
            completed(EMBEDDED).paired_with(completed(NONE)),
            Limit::AtLeast(0.99),
            "×",
        )
        .timed(),
        Criterion::new(
            "0.63 M: p99 of an instance with ÷ without",
            p99(EMBEDDED).paired_with(p99(NONE)),
            Limit::AtMost(1.2),
            "×",
        )
        .timed()
        .post("15 ×"),
        Criterion::new(
            "it is exported: records per instance",
            of(
                "zeebe_exporter_last_exported_position",
                Take::Growth,
                EMBEDDED,
                "turn",
            )
            .over(of("completed-total", Take::Growth, EMBEDDED, "turn")),
            Limit::AtLeast(5.0),
            "",
        ),
    ];
    // Instances that existed while nothing was exported cannot be queried.
    let invariants = invariants().into_iter();
    criteria.extend(invariants.filter(|it| it.measure.of != "ledger.lost"));
    criteria
}
