//! A node gets less and less memory.

use super::{Experiment, invariants, ready, settings, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "memory-ladder",
    about: "a saturated node gets 1024, 512 and 256 MiB, then 128 MiB without secondary storage",
    plan,
};

const MOST: u64 = 1024;
const WITH_SEARCH: [(u64, &str); 3] = [(MOST, "mib-1024"), (512, "mib-512"), (256, "mib-256")];
const WITHOUT_SEARCH: (u64, &str) = (128, "mib-128");
const STORAGE: &str = "camunda.data.secondary-storage.type";

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 15.0 };
    let rung = |mib, name: &str| {
        [
            step("again", 2.0, Action::Memory { node: 0, mib }),
            ready(),
            step(name, 0.0, Action::Saturate(Wire::Grpc)),
            step("turn", long, Action::StopLoad),
        ]
    };
    let mut steps = Vec::new();
    for (mib, name) in WITH_SEARCH {
        steps.extend(rung(mib, name));
    }
    let settings = settings(&[(STORAGE, "none")]);
    steps.push(step("without", 2.0, Action::Settings { node: 0, settings }));
    steps.push(ready());
    let (mib, name) = WITHOUT_SEARCH;
    steps.extend(rung(mib, name));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node with little memory works as fast as one with much: 256 MiB suffice for everything, 128 MiB without secondary \
                     storage."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(3.0)
    };
    let [(_, most), others @ ..] = WITH_SEARCH;
    let mut criteria: Vec<Criterion> = others
        .iter()
        .map(|(mib, name)| {
            Criterion::new(
                &format!("{mib} ÷ {MOST} MiB: instances completed"),
                completed(name).over(completed(most)),
                Limit::AtLeast(0.95),
                "×",
            )
            .timed()
        })
        .collect();
    let (mib, name) = WITHOUT_SEARCH;
    criteria.push(
        Criterion::new(
            &format!("{mib} MiB without secondary storage ÷ {MOST} with: instances completed"),
            completed(name).over(completed(most)),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
        .post("2 GiB are needed"),
    );
    criteria.extend(invariants());
    criteria
}
