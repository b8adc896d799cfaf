//! A node gets less and less memory.

use super::{Experiment, invariants, ready, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Step, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "memory-ladder",
    about: "a saturated node with secondary storage gets 512, 256 and 128 MiB of memory, each beside 1024",
    plan,
};

const MOST: u64 = 1024;
const LESS: [(u64, &str); 3] = [(512, "mib-512"), (256, "mib-256"), (128, "mib-128")];

/// The step with most memory beside one with less.
fn beside(name: &str) -> String {
    format!("most-beside-{name}")
}

/// Slices in the order A B B A: most memory, and less.
fn compared((less, name): (u64, &str), (pairs, long): (u32, f64)) -> Vec<Step> {
    let rung = |mib: u64, name: &str| {
        [
            step("again", 2.0, Action::Memory { node: 0, mib }),
            ready(),
            step(name, 0.0, Action::Saturate(Wire::Grpc)),
            step("turn", long, Action::StopLoad),
        ]
    };
    let mut steps = Vec::new();
    for pair in 0..pairs {
        let most_first = pair % 2 == 0;
        for is_most in [most_first, !most_first] {
            steps.extend(if is_most {
                rung(MOST, &beside(name))
            } else {
                rung(less, name)
            });
        }
    }
    steps
}

fn plan(full: bool) -> Plan {
    let size = if full { (10, 30.0) } else { (3, 9.0) };
    let rungs = LESS.into_iter();
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node with little memory works as fast as one with much: 128 MiB suffice, secondary storage included."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: rungs.flat_map(|less| compared(less, size)).collect(),
        drain_s: 90.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(3.0)
    };
    let less = LESS.into_iter().map(|(mib, name)| {
        Criterion::new(
            &format!("{mib} ÷ {MOST} MiB: instances completed"),
            completed(name).paired_with(completed(&beside(name))),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
        .post("2 GiB are needed")
    });
    less.chain(invariants()).collect()
}
