//! The cost of making everything searchable.

use super::{Experiment, invariants, ready, settings, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take};

pub const EXPERIMENT: Experiment = Experiment {
    name: "exporter-cost",
    about: "a node works with the embedded secondary storage, then without any",
    plan,
};

const TYPE: &str = "camunda.data.secondary-storage.type";
const NORMAL: f64 = 0.63;

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 12.0 };
    let turn = |normal: &str, over: &str| {
        [
            step(normal, 0.0, Action::Load(Rate::OfMaximum(NORMAL))),
            step(over, long, Action::Flood(Rate::OfMaximum(1.25))),
            step("turn", long, Action::StopLoad),
        ]
    };
    let again = |kind| {
        let settings = settings(&[(TYPE, kind)]);
        [
            step("again", 5.0, Action::Settings { node: 0, settings }),
            ready(),
        ]
    };
    let mut steps = vec![step("workers", 0.0, Action::Workers(true))];
    steps.extend(turn("embedded", "embedded-over"));
    steps.extend(again("none"));
    steps.extend(turn("none", "none-over"));
    // So that the node can be queried at the end.
    steps.extend(again("embedded"));
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
    let completed = |from, to| of("completed-per-s", Take::Mean, from, to);
    let p99 = |from, to| of("instance-p99-ms", Take::Median, from, to);
    let mut criteria = vec![
        Criterion::new(
            "1.25 M: instances completed with ÷ without",
            completed("embedded-over", "turn").over(completed("none-over", "turn")),
            Limit::AtLeast(0.8),
            "×",
        )
        .timed(),
        Criterion::new(
            "0.63 M: instances completed with ÷ without",
            completed("embedded", "embedded-over").over(completed("none", "none-over")),
            Limit::AtLeast(0.99),
            "×",
        )
        .timed(),
        Criterion::new(
            "0.63 M: p99 of an instance with ÷ without",
            p99("embedded", "embedded-over").over(p99("none", "none-over")),
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
                "embedded",
                "turn",
            )
            .over(of("completed-total", Take::Growth, "embedded", "turn")),
            Limit::AtLeast(5.0),
            "",
        ),
    ];
    // Instances that existed while nothing was exported cannot be queried.
    let invariants = invariants().into_iter();
    criteria.extend(invariants.filter(|it| it.measure.of != "ledger.lost"));
    criteria
}
