//! The disk of a leader fails as one on the network does: it hangs, refuses writes, and does not tell how much space is free.

use crate::experiments::{Experiment, invariants, ready, step, wait};
use crate::plan::{
    Action, Criterion, DiskFault, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "network-disk",
    about: "the disk of a leader does not tell its free space, then hangs, then refuses each write",
    plan,
};

/// Leaders are even before each fault, so the node leads one of three partitions.
const NODE: Who = Who::Node(0);
/// Instances per second.
const RATE: f64 = 60.0;
/// Creations that show that the others serve: more than were under way.
const SERVES: u64 = 300;
/// Seconds for which the free space is unknown.
const UNKNOWN: f64 = 8.0;

fn plan(full: bool) -> Plan {
    let rounds = if full { 10 } else { 1 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for _ in 0..rounds {
        steps.extend([
            step("unknown", 6.0, fails(DiskFault::SpaceUnknown)),
            step("known", UNKNOWN, Action::MendDisks),
            wait("even", Until::Even, 120.0),
        ]);
        steps.extend(led_by_others("hangs", DiskFault::Hangs));
        steps.extend([ready(), wait("even", Until::Even, 120.0)]);
        steps.extend(led_by_others("errors", DiskFault::Errors));
        steps.extend([
            // A partition that could not write stops for good: whoever watches the node starts it again.
            step("kill", 0.0, Action::Kill(NODE)),
            step("start", 0.0, Action::Start),
            ready(),
            wait("even", Until::Even, 120.0),
        ]);
    }
    steps.push(step("end", 3.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node whose disk hangs or fails hands over to the others at once and does not crash, and is back soon after its disk \
                     is. A disk that does not tell its free space is not taken for a full one."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: 3,
            ..Nodes::default()
        },
        words: vec!["disk".into()],
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn fails(how: DiskFault) -> Action {
    Action::FailDisk { who: NODE, how }
}

/// The fault, until the others serve.
fn led_by_others(name: &str, fault: DiskFault) -> [Step; 4] {
    let of = |what: &str| format!("{name}-{what}");
    [
        step(name, 4.0, fails(fault)),
        wait(&of("relieved"), Until::Relieved, 60.0),
        wait(&of("serves"), Until::Created(SERVES), 60.0),
        step(&of("mended"), 0.0, Action::MendDisks),
    ]
}

fn criteria() -> Vec<Criterion> {
    let timed =
        |name: &str, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    let mut criteria = Vec::new();
    // That a disk hangs, and is not just slow, shows only after the timeout of an election, which is a second.
    for (fault, relieved) in [("hangs", 2.0), ("errors", 1.0)] {
        criteria.push(timed(
            &format!("{fault}: the node leads nothing after"),
            Measure::of(&format!("{fault}-relieved.seconds")),
            Limit::AtMost(relieved),
            "s",
        ));
        let gap = Measure::of("create-gap-ms").between(fault, &format!("{fault}-mended"));
        criteria.push(timed(
            &format!("{fault}: longest time without creations in a partition"),
            gap,
            Limit::AtMost(3000.0),
            "ms",
        ));
    }
    criteria.extend([
        timed(
            "the node is ready after its disk is back",
            Measure::of("ready.seconds"),
            Limit::AtMost(10.0),
            "s",
        ),
        timed(
            "leaders are even after that",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
        Criterion::new(
            "nodes that ended by SIGBUS",
            Measure::of("nodes-died-by-sigbus"),
            Limit::AtMost(0.0),
            "",
        ),
    ]);
    criteria.extend(with_unknown_space());
    criteria
}

fn with_unknown_space() -> [Criterion; 4] {
    let during = |of: &str, take| Measure::of(of).take(take).between("unknown", "known");
    [
        Criterion::new(
            "free space is unknown: lines of log about it",
            during("log-lines", Take::Growth).across(Take::Min),
            Limit::AtLeast(UNKNOWN / 2.0),
            "",
        ),
        Criterion::new(
            "free space is unknown: the last known is shown, not 0",
            during("node0.skep_disk_free_bytes", Take::Min).across(Take::Min),
            Limit::AtLeast(1.0),
            "bytes",
        ),
        Criterion::new(
            "free space is unknown: refusals that name the disk",
            during("refused-for.disk", Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "free space is unknown: creations ÷ rate",
            during("created-per-s", Take::Mean)
                .across(Take::Min)
                .over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
    ]
}
