//! Hours of load during which workers come and go and nodes are killed.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Delivery, Limit, Measure, Nodes, Plan, Rate, Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "soak",
    about: "workers restart, another program takes CPU and leaders are killed for 4 minutes, or for 24 hours",
    plan,
};

/// How the time is filled, in seconds.
struct Rounds {
    /// Number of rounds; in each, a leader is killed.
    count: u32,
    /// Restarts of the workers in each round.
    restarts: u32,
    /// Pause between two of them.
    pause: f64,
    /// How long another program uses CPU: a third of the round.
    hog: f64,
}

fn rounds(full: bool) -> Rounds {
    if full {
        Rounds {
            count: 24,
            restarts: 7,
            pause: 300.0,
            hog: 1_080.0,
        }
    } else {
        Rounds {
            count: 3,
            restarts: 1,
            pause: 20.0,
            hog: 20.0,
        }
    }
}

fn plan(full: bool) -> Plan {
    let rounds = rounds(full);
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::OfMaximum(0.3))),
    ];
    for round in 0..rounds.count {
        for restart in 0..rounds.restarts {
            // Their streams are other ones after each restart, and every second time they poll.
            let delivery = match (round + restart) % 2 {
                0 => Delivery::Poll,
                _ => Delivery::Push,
            };
            steps.extend([
                step("calm", 3.0, Action::Workers(true)),
                step("away", rounds.pause, Action::Workers(false)),
                step("delivery", 0.0, Action::Delivery(delivery)),
                step("return", 2.0, Action::Workers(true)),
                wait("worked", Until::OpenAtMost(100.0), 60.0),
            ]);
        }
        steps.extend([
            step("hog", 1.0, Action::Hog(1)),
            step("relief", rounds.hog, Action::Hog(0)),
            wait("worked", Until::OpenAtMost(100.0), 60.0),
        ]);
        let leader = Who::LeaderOf(round % PARTITIONS + 1);
        steps.extend([
            step("kill", 3.0, Action::Kill(leader)),
            step("start", 5.0, Action::Start),
            wait("rate", Until::RateIs(0.95), 60.0),
            wait("even", Until::Even, 90.0),
        ]);
    }
    steps.extend([
        step("calm", 3.0, Action::Workers(true)),
        step("end", rounds.pause, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster in long use stays as it is: although workers and nodes come and go and others use its CPU, it carries \
                     its load at all times, and nothing in it grows without limit."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: PARTITIONS,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria(full),
    }
}

const PARTITIONS: u32 = 3;

fn criteria(full: bool) -> Vec<Criterion> {
    let quiet = |series: &str| {
        let mean = Measure::of(series).take(Take::Mean);
        mean.between("calm", "away").skip(2.0)
    };
    let growth = |series: &str| Measure::of(series).take(Take::Growth);
    let mut criteria = vec![
        Criterion::new(
            "creations ÷ those asked for, at worst between two faults",
            quiet("created-per-s")
                .across(Take::Min)
                .over(quiet("offered-per-s").across(Take::Median)),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "refused ÷ created",
            growth("refused-total").over(growth("created-total")),
            Limit::AtMost(0.001),
            "×",
        ),
        Criterion::new(
            "a killed leader: time without creations, median",
            Measure::of("create-gap-ms")
                .between("kill", "start")
                .across(Take::Median),
            Limit::AtMost(1500.0),
            "ms",
        )
        .timed(),
        Criterion::new(
            "while another program uses CPU: creations ÷ those asked for",
            Measure::of("created-per-s")
                .take(Take::Mean)
                .between("hog", "relief")
                .across(Take::Min)
                .over(quiet("offered-per-s").across(Take::Median)),
            Limit::AtLeast(0.5),
            "×",
        )
        .timed(),
        memory(full),
    ];
    if full {
        criteria.extend([
            steady("log", "log-kib-per-live", 1.0),
            steady("state in memory", "state-kib-per-live", 0.05),
        ]);
    }
    criteria.extend(invariants());
    criteria
}

fn memory(full: bool) -> Criterion {
    let memory = Measure::of("node-rss-mib");
    if full {
        // The caches are full after the first two hours.
        Criterion::new(
            "memory of a node: slope in an hour",
            memory
                .take(Take::Slope)
                .between("base", "end")
                .skip(7_200.0),
            Limit::AtMost(1.0),
            "MiB",
        )
    } else {
        Criterion::new(
            "memory of a node: the most ÷ that of the first calm",
            memory.between("base", "end").over(
                Measure::of("node-rss-mib")
                    .between("calm", "away")
                    .across(Take::Min),
            ),
            Limit::AtMost(2.0),
            "×",
        )
    }
}

/// Log and state per live element instance do not grow once caches are full.
fn steady(what: &str, series: &str, most_kib: f64) -> Criterion {
    let slope = Measure::of(series).take(Take::Slope);
    Criterion::new(
        &format!("{what} ÷ live element instances: slope in an hour"),
        slope.between("base", "end").skip(7_200.0),
        Limit::AtMost(most_kib),
        "KiB",
    )
}
