//! The flushes of a node's disk take longer and longer.

use crate::experiments::{Experiment, invariants, ready, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "slow-disk",
    about: "each flush of the disk takes 1, 10 and 300 ms longer",
    plan,
};

/// Share of M: more than the node can do.
const FLOOD: f64 = 1.25;
/// Instances per second while each flush takes 300 ms.
const FEW: f64 = 20.0;
/// Delayed flushes under a flood: milliseconds, the step, and the share of M that must be completed.
const LATE: [(f64, &str, f64); 2] = [(1.0, "late-1", 0.8), (10.0, "late-10", 0.3)];
const LATEST_MS: f64 = 300.0;

/// Restarts the node on such a disk and waits until it is ready.
fn on_disk(late_ms: f64) -> [Step; 3] {
    [
        // The last instances end before the node stops.
        step("stop-load", 0.0, Action::StopLoad),
        step("disk", 3.0, Action::Disk { node: 0, late_ms }),
        ready(),
    ]
}

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 10.0 };
    let mut steps = vec![step("workers", 0.0, Action::Workers(true))];
    for (late_ms, name, _) in LATE {
        steps.extend(on_disk(late_ms));
        steps.push(step(name, 0.0, Action::Flood(Rate::OfMaximum(FLOOD))));
        steps.push(step("long", long, Action::StopLoad));
    }
    steps.extend(on_disk(LATEST_MS));
    steps.extend([
        step("late-300", 0.0, Action::Load(Rate::PerSecond(FEW))),
        step("end-300", long, Action::StopLoad),
    ]);
    steps.extend(on_disk(0.0));
    steps.extend([
        step("normal", 0.0, Action::Load(Rate::OfMaximum(0.3))),
        wait("back", Until::CompletionIs(0.95), 60.0),
        step("end", 5.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A slow disk delays answers and does little else: writes that arrive meanwhile are flushed together, hardly any caller \
                     is refused, and no request times out."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps,
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let mut criteria = Vec::new();
    for (late_ms, name, share) in LATE {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        let completed = completed.between(name, "long").skip(2.0);
        criteria.push(
            Criterion::new(
                &format!("flush + {late_ms} ms: instances completed ÷ M"),
                completed.over(Measure::of("machine.maximum-per-s")),
                Limit::AtLeast(share),
                "×",
            )
            .timed(),
        );
    }
    criteria.extend(at_300_ms());
    criteria.extend([
        // A partition that has just started accepts 100 commands at a time, and a flood may bring more.
        Criterion::new(
            "refused ÷ created, the floods included",
            Measure::of("refused-total")
                .take(Take::Growth)
                .over(Measure::of("created-total").take(Take::Growth)),
            Limit::AtMost(0.01),
            "×",
        ),
        Criterion::new(
            "neither acknowledged nor refused",
            Measure::of("in-doubt"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "the full rate is there again after",
            Measure::of("back.seconds"),
            Limit::AtMost(5.0),
            "s",
        )
        .timed(),
    ]);
    criteria.extend(invariants());
    criteria
}

fn at_300_ms() -> [Criterion; 4] {
    let of = |series: &str, take| {
        let measure = Measure::of(series).take(take);
        measure.between("late-300", "end-300").skip(2.0)
    };
    [
        Criterion::new(
            "flush + 300 ms: creations ÷ those asked for",
            of("created-per-s", Take::Mean).over(of("offered-per-s", Take::Mean)),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "flush + 300 ms: p99 of a creation",
            of("create-p99-ms", Take::Median),
            // A creation may arrive during a flush, and then waits for its own as well.
            Limit::AtMost(1_000.0),
            "ms",
        )
        .flushes(2.0)
        .timed(),
        // A disk without delay would hold all of these.
        Criterion::new(
            "flush + 300 ms: the flushes are late: p50 of a creation",
            of("create-p50-ms", Take::Median),
            Limit::AtLeast(200.0),
            "ms",
        ),
        Criterion::new(
            "flush + 300 ms: refused",
            of("refused-total", Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
    ]
}
