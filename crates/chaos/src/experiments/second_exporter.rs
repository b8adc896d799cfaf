//! The cost of exporting to a second place.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Request, Step, Take, Until, Wire,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "second-exporter",
    about: "a saturated node exports to its secondary storage alone and to another server too, in turn",
    plan,
};

/// The exporter that is there with `sink`.
const SECOND: &str = "sink";
const ONE: &str = "one";
const TWO: &str = "two";

/// Lets the node export to the other server, or not.
fn switch(how: &str) -> Step {
    let request = Request {
        node: 0,
        management: true,
        method: "POST".into(),
        path: format!("/actuator/exporters/{SECOND}/{how}"),
        body: String::new(),
        status: 202,
        says: String::new(),
    };
    wait(how, Until::Answer(request), 30.0)
}

fn slice(name: &str, long: f64) -> [Step; 3] {
    let how = if name == TWO { "enable" } else { "disable" };
    [
        switch(how),
        // What was exported before is not of this slice.
        step(name, 2.0, Action::Saturate(Wire::Http2)),
        step("turn", long, Action::StopLoad),
    ]
}

fn plan(full: bool) -> Plan {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 9.0) };
    // A B B A: what changes slowly is much the same in both slices of a pair.
    let order = (0..pairs).flat_map(|pair| {
        if pair % 2 == 0 {
            [ONE, TWO]
        } else {
            [TWO, ONE]
        }
    });
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "Exporters work beside each other: with a second one a node completes nearly as much as with the secondary storage \
                     alone."
            .into(),
        nodes: Nodes {
            sink: true,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps: order.flat_map(|name| slice(name, long)).collect(),
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> [Criterion; 2] {
    let of = |series: &str, take, slice: &str| {
        let of = Measure::of(series).take(take);
        of.between(slice, "turn").skip(2.0)
    };
    let completed = |slice| of("completed-per-s", Take::Mean, slice);
    let exported = |slice| {
        let exported = of("exported-by-sink", Take::Growth, slice);
        exported.over(of("completed-total", Take::Growth, slice))
    };
    [
        Criterion::new(
            "with two exporters ÷ with one: instances completed",
            completed(TWO).paired_with(completed(ONE)),
            Limit::AtLeast(0.90),
            "×",
        )
        .timed(),
        Criterion::new(
            "the second one exports: records per instance",
            exported(TWO),
            Limit::AtLeast(5.0),
            "",
        ),
    ]
}
