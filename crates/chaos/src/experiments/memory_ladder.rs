//! A node gets less and less memory.

use super::{Experiment, invariants, ready, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "memory-ladder",
    about: "a saturated node with secondary storage gets 1024, 512, 256 and 128 MiB of memory",
    plan,
};

const MOST: (u64, &str) = (1024, "mib-1024");
const LESS: [(u64, &str); 3] = [(512, "mib-512"), (256, "mib-256"), (128, "mib-128")];

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 15.0 };
    let rung = |(mib, name): (u64, &str)| {
        [
            step("again", 2.0, Action::Memory { node: 0, mib }),
            ready(),
            step(name, 0.0, Action::Saturate(Wire::Grpc)),
            step("turn", long, Action::StopLoad),
        ]
    };
    let rungs = [MOST].into_iter().chain(LESS);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node with little memory works as fast as one with much: 128 MiB suffice, secondary storage included."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: rungs.flat_map(rung).collect(),
        drain_s: 90.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(3.0)
    };
    let (most, first) = MOST;
    let less = LESS.into_iter().map(|(mib, name)| {
        Criterion::new(
            &format!("{mib} ÷ {most} MiB: instances completed"),
            completed(name).over(completed(first)),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
        .post("2 GiB are needed")
    });
    less.chain(invariants()).collect()
}
