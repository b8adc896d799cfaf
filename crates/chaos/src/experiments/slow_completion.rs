//! Answers to workers are delayed for a while, so that workers are full.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Way};

pub const EXPERIMENT: Experiment = Experiment {
    name: "slow-completion",
    about: "jobs and answers reach the workers half a second late for a while",
    plan,
};

/// Instances per second: more than one worker with 128 jobs completes while each answer takes half a second.
const RATE: f64 = 300.0;
const DELAY_MS: f64 = 500.0;

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 20.0 };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "Workers whose completions are answered late get no more jobs than they can hold: they need no more memory, no job \
                     comes twice or fails because they are full, and the full rate returns at once."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps: vec![
            step("workers", 0.0, Action::Workers(true)),
            step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
            step(
                "slow",
                8.0,
                Action::Slow {
                    way: Way::ToWorkers,
                    delay_ms: DELAY_MS,
                    kib_per_s: None,
                    stall: None,
                },
            ),
            step("heal", long, Action::Heal),
            wait("rate", Until::CompletionIs(0.95), 60.0),
            wait("drained", Until::OpenAtMost(100.0), 120.0),
            step("end", 5.0, Action::StopLoad),
        ],
        drain_s: 60.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let slow = |of| Measure::of(of).between("slow", "heal");
    let completed = |from, to| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(from, to).skip(2.0)
    };
    let mut criteria = vec![
        Criterion::new(
            "memory of workers, starters and ledger together",
            Measure::of("tool-memory-mib"),
            Limit::AtMost(64.0),
            "MiB",
        )
        .post("256 MiB, and killed"),
        Criterion::new(
            "jobs that failed",
            Measure::of("jobs-failed").take(Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "jobs whose stream was gone",
            Measure::of("zeebe_broker_jobs_push_fail_count_total").take(Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "jobs given out twice",
            Measure::of("jobs-twice"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "the answers are late: completions ÷ those before",
            completed("slow", "heal").over(completed("base", "slow")),
            Limit::AtMost(0.95),
            "×",
        ),
        Criterion::new(
            "instances under way meanwhile",
            slow("open"),
            Limit::AtLeast(200.0),
            "",
        ),
        Criterion::new(
            "the full rate is there again after",
            Measure::of("rate.seconds"),
            Limit::AtMost(2.0),
            "s",
        )
        .post("never")
        .timed(),
    ];
    criteria.extend(invariants());
    criteria
}
