//! The settings that limit the concurrent requests of a gateway.

use super::{Experiment, invariants, ready, settings, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "executor-sweep",
    about: "the gateway in turn has few slots, has many, and refuses requests beyond them",
    plan,
};

const MULTIPLIER: &str = "camunda.api.rest.executor.max-pool-size-multiplier";
const CAPACITY: &str = "camunda.api.rest.executor.queue-capacity";
const PER_WORKER: &str = "skep.api.executor.requests-per-worker";
const POLICY: &str = "skep.api.executor.policy";

/// Workers per processor, and requests per worker.
const QUICK: [(&str, &str); 3] = [DEFAULT, ("1", "16"), ("16", "128")];
const DEFAULT: (&str, &str) = ("2", "128");
const FULL: [(&str, &str); 10] = [
    DEFAULT,
    ("1", "16"),
    ("2", "16"),
    ("4", "16"),
    ("8", "16"),
    ("16", "16"),
    ("1", "128"),
    ("4", "128"),
    ("8", "128"),
    ("16", "128"),
];
const FEW: f64 = 150.0;

/// Workers per processor, and requests that may wait for one; those beyond are refused.
const QUICK_REFUSING: [(&str, &str); 1] = [("1", "16")];
const FULL_REFUSING: [(&str, &str); 15] = [
    ("1", "16"),
    ("1", "64"),
    ("1", "256"),
    ("2", "16"),
    ("2", "64"),
    ("2", "256"),
    ("4", "16"),
    ("4", "64"),
    ("4", "256"),
    ("8", "16"),
    ("8", "64"),
    ("8", "256"),
    ("16", "16"),
    ("16", "64"),
    ("16", "256"),
];

fn plan(full: bool) -> Plan {
    let (waiting, long): (&[_], f64) = if full { (&FULL, 20.0) } else { (&QUICK, 8.0) };
    let mut steps = Vec::new();
    for slots in waiting {
        let (multiplier, per_worker) = *slots;
        let name = if *slots == DEFAULT {
            "default"
        } else {
            "other"
        };
        let slots = [(MULTIPLIER, multiplier), (PER_WORKER, per_worker)];
        steps.extend(again(&slots));
        steps.extend([
            step(name, 0.0, Action::Saturate(Wire::Http2)),
            step("turn", long, Action::StopLoad),
            step("workers", 0.0, Action::Workers(true)),
            step("few", 2.0, Action::Load(Rate::PerSecond(FEW))),
            step("turn", long, Action::StopLoad),
            step("away", 1.0, Action::Workers(false)),
        ]);
    }
    let refusing: &[_] = if full {
        &FULL_REFUSING
    } else {
        &QUICK_REFUSING
    };
    for (multiplier, capacity) in refusing {
        steps.extend(again(&[
            (MULTIPLIER, *multiplier),
            (PER_WORKER, "16"),
            (CAPACITY, *capacity),
            (POLICY, "abort"),
        ]));
        steps.extend([
            step("abort", 0.0, Action::Saturate(Wire::Http2)),
            step("turn", long, Action::StopLoad),
        ]);
    }
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "No setting of the gateway's slots makes a node much slower than another one, so nobody has to tune them: callers \
                     wait, or are refused with a reason if the setting says so."
            .into(),
        nodes: Nodes::default(),
        words: vec!["limit of concurrent requests".into()],
        steps,
        drain_s: 60.0,
        criteria: criteria(),
    }
}

/// Restarts the node with these settings.
fn again(with: &[(&str, &str)]) -> [crate::plan::Step; 2] {
    let settings = settings(with);
    [
        step("again", 2.0, Action::Settings { node: 0, settings }),
        ready(),
    ]
}

fn criteria() -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(2.0)
    };
    let refused = Measure::of("refused-total").take(Take::Growth);
    let mut criteria = vec![
        Criterion::new(
            "the worst ÷ the default: instances completed",
            completed("other")
                .across(Take::Min)
                .over(completed("default")),
            Limit::AtLeast(0.9),
            "×",
        )
        .timed()
        .post("0.16 ×"),
        Criterion::new(
            "the best ÷ the default: instances completed",
            completed("other").over(completed("default")),
            Limit::AtMost(1.1),
            "×",
        )
        .timed(),
        Criterion::new(
            "150/s: p50 of a creation, at its worst",
            Measure::of("create-p50-ms")
                .take(Take::Median)
                .between("few", "turn")
                .skip(2.0),
            Limit::AtMost(2.0),
            "ms",
        )
        .flushes(1.0)
        .timed()
        .post("21 to 40 ms"),
        Criterion::new(
            "refused where callers wait",
            refused.clone().between("other", "turn"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "refused where that was asked for: share with this reason",
            Measure::of("refused-for.limit of concurrent requests")
                .take(Take::Growth)
                .between("abort", "turn")
                .across(Take::Mean)
                .over(refused.between("abort", "turn").across(Take::Mean)),
            Limit::AtLeast(1.0),
            "×",
        ),
        Criterion::new(
            "abort ÷ the default: instances completed, at its worst",
            completed("abort")
                .across(Take::Min)
                .over(completed("default")),
            Limit::AtLeast(0.9),
            "×",
        )
        .timed(),
    ];
    criteria.extend(invariants());
    criteria
}
