//! The settings that limit the concurrent requests of a gateway.

use super::{Experiment, invariants, ready, settings, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "executor-sweep",
    about: "the gateway in turn has few slots, has many, and refuses requests beyond them, each beside its default",
    plan,
};

const MULTIPLIER: &str = "camunda.api.rest.executor.max-pool-size-multiplier";
const CAPACITY: &str = "camunda.api.rest.executor.queue-capacity";
const PER_WORKER: &str = "skep.api.executor.requests-per-worker";
const POLICY: &str = "skep.api.executor.policy";

const DEFAULT: [(&str, &str); 2] = [(MULTIPLIER, "2"), (PER_WORKER, "128")];
/// Workers per processor, and requests per worker; those of the default are not among them.
const QUICK: [(&str, &str); 2] = [("1", "16"), ("16", "128")];
const FULL: [(&str, &str); 9] = [
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
/// Each setting is compared with the default so often.
const PAIRS: usize = 3;

/// Workers per processor.
const MULTIPLIERS: [&str; 5] = ["1", "2", "4", "8", "16"];
/// Requests that may wait for a worker; those beyond are refused.
const CAPACITIES: [&str; 3] = ["16", "64", "256"];

/// A setting, by the names of the steps that saturate a node with it and with the default.
struct Sweep {
    title: String,
    step: String,
    default: String,
    settings: Vec<(&'static str, &'static str)>,
}

/// Settings with which callers wait.
fn waiting(full: bool) -> Vec<Sweep> {
    let all: &[_] = if full { &FULL } else { &QUICK };
    let sweeps = all.iter().map(|(multiplier, per_worker)| Sweep {
        title: format!("{multiplier} × {per_worker}"),
        step: format!("other-{multiplier}-{per_worker}"),
        default: format!("default-{multiplier}-{per_worker}"),
        settings: vec![(MULTIPLIER, *multiplier), (PER_WORKER, *per_worker)],
    });
    sweeps.collect()
}

/// Settings with which callers are refused.
fn refusing(full: bool) -> Vec<Sweep> {
    let all = MULTIPLIERS.iter().flat_map(|multiplier| {
        CAPACITIES
            .iter()
            .map(move |capacity| (multiplier, capacity))
    });
    let sweeps = all.map(|(multiplier, capacity)| Sweep {
        title: format!("abort, {multiplier} × 16 and {capacity} waiting"),
        step: format!("abort-{multiplier}-{capacity}"),
        default: format!("default-abort-{multiplier}-{capacity}"),
        settings: vec![
            (MULTIPLIER, *multiplier),
            (PER_WORKER, "16"),
            (CAPACITY, *capacity),
            (POLICY, "abort"),
        ],
    });
    sweeps.take(if full { usize::MAX } else { 1 }).collect()
}

/// Slices in the order A B B A: the default, and a setting.
fn compared(sweep: &Sweep, long: f64) -> Vec<Step> {
    let default = (&sweep.default, [&DEFAULT[..], &WAITING].concat());
    let other = (&sweep.step, [&WAITING[..], &sweep.settings].concat());
    let mut steps = Vec::new();
    for number in 0..PAIRS {
        let (first, second) = if number % 2 == 0 {
            (&default, &other)
        } else {
            (&other, &default)
        };
        for (name, settings) in [first, second] {
            steps.extend(again(settings));
            steps.push(step(name, 0.0, Action::Saturate(Wire::Http2)));
            steps.push(step("turn", long, Action::StopLoad));
        }
    }
    steps
}

/// What takes back the settings with which callers are refused.
const WAITING: [(&str, &str); 2] = [(CAPACITY, "64"), (POLICY, "caller-runs")];

fn plan(full: bool) -> Plan {
    let long = if full { 20.0 } else { 6.0 };
    let mut steps = Vec::new();
    for sweep in waiting(full) {
        steps.extend(compared(&sweep, long));
        steps.extend(again(&sweep.settings));
        steps.extend([
            step("workers", 0.0, Action::Workers(true)),
            step("few", 2.0, Action::Load(Rate::PerSecond(FEW))),
            step("turn", long, Action::StopLoad),
            step("away", 1.0, Action::Workers(false)),
        ]);
    }
    for sweep in refusing(full) {
        steps.extend(compared(&sweep, long));
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
        criteria: criteria(full),
    }
}

/// Restarts the node with these settings.
fn again(with: &[(&str, &str)]) -> [Step; 2] {
    let settings = settings(with);
    [
        step("again", 2.0, Action::Settings { node: 0, settings }),
        ready(),
    ]
}

fn criteria(full: bool) -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(2.0)
    };
    let ratio = |sweep: &Sweep| completed(&sweep.step).paired_with(completed(&sweep.default));
    let refused = Measure::of("refused-total").take(Take::Growth);
    let mut criteria = vec![
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
    ];
    for sweep in waiting(full) {
        let name = format!("{} ÷ the default: instances completed", sweep.title);
        let limited = |words: &str, limit| {
            let name = format!("{name}, {words}");
            Criterion::new(&name, ratio(&sweep), limit, "×")
        };
        let least = limited("not less", Limit::AtLeast(0.9));
        let most = limited("not more", Limit::AtMost(1.1));
        criteria.extend([
            least.timed().post("0.16 ×"),
            most.timed(),
            Criterion::new(
                &format!("{}: refused, where callers wait", sweep.title),
                refused.clone().between(&sweep.step, "turn"),
                Limit::AtMost(0.0),
                "",
            ),
        ]);
    }
    for sweep in refusing(full) {
        let growth = |series: &str| {
            let growth = Measure::of(series).take(Take::Growth);
            growth.between(&sweep.step, "turn").across(Take::Mean)
        };
        let name = format!("{} ÷ the default: instances completed", sweep.title);
        criteria.extend([
            Criterion::new(&name, ratio(&sweep), Limit::AtLeast(0.9), "×").timed(),
            Criterion::new(
                &format!("{}: share of refusals with this reason", sweep.title),
                growth("refused-for.limit of concurrent requests").over(growth("refused-total")),
                Limit::AtLeast(1.0),
                "×",
            ),
        ]);
    }
    criteria.extend(invariants());
    criteria
}
