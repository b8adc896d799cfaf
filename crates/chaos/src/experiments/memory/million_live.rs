//! A million instances wait for workers at once.

use crate::experiments::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "million-live",
    about: "no worker comes until a million instances wait for one, then they are worked off",
    plan,
};

const MANY: u32 = 1_000_000;

fn plan(full: bool) -> Plan {
    // What a node creates in this time, it also completes in it.
    let (limit_s, long) = if full {
        (3_600.0, 120.0)
    } else {
        (150.0, 10.0)
    };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node keeps a million live instances in little memory, and works them off once workers come.".into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: vec![
            step("base", 0.0, Action::Load(Rate::OfMaximum(0.9))),
            wait("created", Until::Created(MANY.into()), limit_s),
            step("live", 0.0, Action::StopLoad),
            step("workers", long, Action::Workers(true)),
            wait("ended", Until::OpenAtMost(0.0), limit_s * 2.0),
        ],
        drain_s: limit_s * 2.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> [Criterion; 2] {
    let live = |series: &str| Measure::of(series).between("live", "workers");
    [
        Criterion::new(
            "a million live instances: memory of the node",
            live("node-rss-mib"),
            Limit::AtMost(650.0),
            "MiB",
        )
        .provided(
            live("open"),
            Limit::AtLeast(f64::from(MANY)),
            "there were fewer instances",
        ),
        Criterion::new(
            "time in which they are completed ÷ that time at M",
            Measure::of("ended.seconds").over(Measure::of("ended.ideal-seconds")),
            Limit::AtMost(1.2),
            "×",
        )
        .timed(),
    ]
}
