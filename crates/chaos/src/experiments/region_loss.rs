//! All disks of three nodes are lost under load, and continuous backups bring back all but the last seconds of work.

use super::{Experiment, invariants, settings, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Until};

pub const EXPERIMENT: Experiment = Experiment {
    name: "region-loss",
    about: "three nodes lose all their disks under load and are restored from continuous backups",
    plan,
};

/// Instances per second.
const RATE: f64 = 50.0;
/// Invariants that do not hold here: work after the last marker is lost, and jobs completed in it come again.
const GIVEN_UP: [&str; 2] = ["ledger.lost", "ledger.repeated"];

fn plan(full: bool) -> Plan {
    let rounds = if full { 5 } else { 1 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for _ in 0..rounds {
        steps.extend([
            // Long enough for a backup and two markers, and not a multiple of their interval.
            step("loss", 27.0, Action::Erase),
            step("restore", 0.0, Action::Restore { limit_s: 120.0 }),
            wait("full", Until::CompletionIs(0.95), 60.0),
        ]);
    }
    steps.push(step("end", 5.0, Action::StopLoad));
    let held = invariants().into_iter();
    let held = held.filter(|it| !GIVEN_UP.contains(&it.measure.of.as_str()));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "With continuous backups, the loss of a region costs a few seconds of work, and another region takes over within \
                     seconds."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: 3,
            backups: true,
            settings: settings(&[
                ("camunda.data.primary-storage.backup.continuous", "true"),
                ("camunda.data.primary-storage.backup.checkpoint-interval", "10s"),
            ]),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(rounds).into_iter().chain(held).collect(),
    }
}

fn criteria(rounds: u32) -> Vec<Criterion> {
    let lost = Measure::of("ledger.lost").over(Measure::of("offered-per-s"));
    vec![
        Criterion::new(
            "work that is lost, all rounds together",
            lost,
            Limit::AtMost(20.0 * f64::from(rounds)),
            "s",
        ),
        Criterion::new(
            "an instance is completed again",
            Measure::of("restore.seconds"),
            Limit::AtMost(8.0),
            "s",
        )
        .timed(),
    ]
}
