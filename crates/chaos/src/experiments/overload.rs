//! A node gets more work than it can do.

use super::{Experiment, invariants, ready, settings, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "overload",
    about: "a node gets 1.25, 2 and 5 times the load that it can carry, then less again; then its partition refuses what is too much",
    plan,
};

/// The rates as shares of M, each with the name of its step.
const FLOODS: [(f64, &str); 3] = [(1.25, "over-1.25"), (2.0, "over-2"), (5.0, "over-5")];
const NORMAL: f64 = 0.63;
/// The limit with which a partition refuses commands, instead of letting callers wait.
const REFUSING: [(&str, &str); 2] = [
    ("camunda.processing.flow-control.request.algorithm", "fixed"),
    ("camunda.processing.flow-control.request.fixed.limit", "4"),
];
/// What refusals must name.
const PARTITION: &str = "Partition 1";
const CAUSE: &str = "which is its limit";

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
        wait("ended", Until::OpenAtMost(0.0), 60.0),
        step(
            "again",
            0.0,
            Action::Settings {
                node: 0,
                settings: settings(&REFUSING),
            },
        ),
        ready(),
        step("refusing", 0.0, Action::Flood(Rate::OfMaximum(2.0))),
        step("refusing-end", long, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node that gets more work than it can do does as much as it can: callers wait for their turn and none is refused, \
                     work in progress is completed, and everything is as before once the load falls. Where a limit makes it refuse callers, \
                     they learn by whom and why."
            .into(),
        nodes: Nodes {
            cores: Some(1),
            ..Nodes::default()
        },
        steps,
        words: vec![PARTITION.into(), CAUSE.into()],
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let next = |number: usize| FLOODS.get(number + 1).map_or("normal", |(_, name)| name);
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
        let slots = |from, to| {
            let slots = Measure::of("skep_gateway_new_work_slots").take(Take::Median);
            slots.between(from, to).skip(5.0)
        };
        criteria.push(
            // Half of them belong to the front end that is not used.
            Criterion::new(
                &format!("{share} M: the cause is seen: slots of new work ÷ before"),
                slots(name, next(number)).over(slots("base", "over-1.25")),
                Limit::AtMost(0.75),
                "×",
            )
            .timed(),
        );
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        let p99 = p99.between(name, next(number)).skip(2.0);
        criteria.push(
            Criterion::new(
                &format!("{share} M: p99 of a creation ÷ the time of its queue at M"),
                p99.over(Measure::of("machine.queue-ms")),
                Limit::AtMost(1.5),
                "×",
            )
            .timed(),
        );
    }
    let refused = Measure::of("refused-total").take(Take::Growth);
    criteria.push(Criterion::new(
        "refused: back-pressure is enough",
        refused.between("over-1.25", "normal"),
        Limit::AtMost(0.0),
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
    criteria.push(passed_on());
    criteria.extend(refusals());
    criteria.extend(invariants());
    criteria
}

/// A gateway that sends commands again and again makes an overload worse.
fn passed_on() -> Criterion {
    let growth = |series: &str| {
        let growth = Measure::of(series).take(Take::Growth);
        // As many are under way at the end as after these seconds.
        growth.between("over-1.25", "normal").skip(3.0)
    };
    Criterion::new(
        "commands that reach the partition ÷ those of clients",
        growth("zeebe_received_request_count_total").over(growth("rest-commands")),
        Limit::AtMost(1.05),
        "×",
    )
}

fn refusals() -> Vec<Criterion> {
    let growth = |series: &str| {
        let growth = Measure::of(series).take(Take::Growth);
        growth.between("refusing", "refusing-end")
    };
    let naming = [("partition", PARTITION), ("cause", CAUSE)];
    let naming = naming.into_iter().map(|(what, word)| {
        Criterion::new(
            &format!("beyond a limit of the partition: refusals that name the {what} ÷ all"),
            growth(&format!("refused-for.{word}")).over(growth("refused-total")),
            Limit::AtLeast(0.99),
            "×",
        )
    });
    let some = Criterion::new(
        "beyond a limit of the partition: refusals",
        growth("refused-total"),
        Limit::AtLeast(100.0),
        "",
    );
    std::iter::once(some).chain(naming).collect()
}
