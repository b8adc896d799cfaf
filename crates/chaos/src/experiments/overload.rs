//! More is asked of a node than it can do.

use super::{Experiment, invariants, settings, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "overload",
    about: "1.25, 2 and 5 times as much is asked of a node as it can do, then less again",
    plan,
};

/// The rates as shares of M, each with the name of its step.
const FLOODS: [(f64, &str); 3] = [(1.25, "over-1.25"), (2.0, "over-2"), (5.0, "over-5")];
const NORMAL: f64 = 0.63;

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 10.0 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::OfMaximum(NORMAL))),
    ];
    for (share, name) in FLOODS {
        steps.push(step(name, long, Action::Flood(Rate::OfMaximum(share))));
    }
    steps.extend([
        step("normal", long, Action::Load(Rate::OfMaximum(NORMAL))),
        wait("back", Until::RateIs(0.95), 60.0),
        step("end", 8.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node that is asked for more than it can do does as much as it can and refuses the rest at once, with the partition \
                     and the cause; who is taken waits no longer than before, and all is as before once it is asked for less."
            .into(),
        nodes: Nodes {
            cores: Some(1),
            // The partition refuses what it cannot do; otherwise requests wait at the gateway, completions among them.
            settings: settings(&[("skep.api.executor.requests-per-worker", "100000")]),
            ..Nodes::default()
        },
        words: vec!["Partition ".into(), "in flight".into()],
        steps,
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let next = |number: usize| FLOODS.get(number + 1).map_or("normal", |(_, name)| name);
    let p99 = |from, to| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(2.0)
    };
    let of = |series: &str, from, to| Measure::of(series).take(Take::Growth).between(from, to);
    let mut criteria = Vec::new();
    for (number, (share, name)) in FLOODS.into_iter().enumerate() {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        let completed = completed.between(name, next(number)).skip(2.0);
        criteria.push(
            Criterion::new(
                &format!("{share} M: instances completed ÷ M"),
                completed.over(Measure::of("machine.maximum-per-s")),
                Limit::AtLeast(0.95),
                "×",
            )
            .timed(),
        );
        criteria.push(
            Criterion::new(
                &format!("{share} M: p99 of what is taken ÷ p99 at {NORMAL} M"),
                p99(name, next(number)).over(p99("base", "over-1.25")),
                Limit::AtMost(10.0),
                "×",
            )
            .timed(),
        );
    }
    // Where nothing is refused, these are NOT RUN.
    let refused = || of("refused-total", "over-1.25", "normal");
    for (word, what) in [("Partition ", "partition"), ("in flight", "cause")] {
        let named = of(&format!("refused-for.{word}"), "over-1.25", "normal");
        criteria.push(Criterion::new(
            &format!("refusals that say the {what}: share"),
            named.over(refused()),
            Limit::AtLeast(1.0),
            "",
        ));
    }
    let dropped = of("zeebe_dropped_request_count_total", "over-1.25", "normal");
    criteria.push(Criterion::new(
        "refusals in the metric of back-pressure: share",
        dropped.over(refused()),
        Limit::AtLeast(1.0),
        "",
    ));
    criteria.push(
        Criterion::new(
            "the full rate is there again after",
            Measure::of("back.seconds"),
            Limit::AtMost(2.0),
            "s",
        )
        .timed(),
    );
    criteria.extend(invariants());
    criteria
}
