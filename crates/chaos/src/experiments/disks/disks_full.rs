//! The disk of one node of a cluster is full, then those of all nodes.

use crate::experiments::{Experiment, invariants, small_disk, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Who};

pub const EXPERIMENT: Experiment = Experiment {
    name: "disks-full",
    about: "the disk of a leader among three nodes fills up, then the disks of all nodes",
    plan,
};

const NODES: u32 = 3;
/// Seconds after which the others serve, and a full disk is noticed.
const NOTICED: f64 = 3.0;

fn fill(name: &str, after_s: f64, who: Who) -> Step {
    step(name, after_s, Action::Fill { who, leave_mib: 44 })
}

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 10.0 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(50.0))),
        fill("one", 8.0, Who::LeaderOf(1)),
        step("one-end", long, Action::Free),
        wait("even", Until::Even, 90.0),
        // So that there are jobs to complete while all disks are full.
        step("backlog", 2.0, Action::Workers(false)),
    ];
    for node in 0..NODES {
        // Where one disk is full another node leads: the last one stops new work.
        let name = if node + 1 == NODES { "all" } else { "more" };
        let after = if node == 0 { 4.0 } else { 0.0 };
        steps.push(fill(name, after, Who::Node(node)));
    }
    steps.extend([
        step("workers", 2.0, Action::Workers(true)),
        step("room", long, Action::Free),
        wait("serves", Until::Created(10), 60.0),
        wait("even", Until::Even, 90.0),
        step("end", 3.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node whose disk is full hands its partitions to the others, and clients notice hardly anything. Where all disks are \
                     full, new work is refused with the reason, jobs are completed, and new work is accepted as soon as there is space."
            .into(),
        nodes: Nodes {
            count: NODES,
            partitions: NODES,
            disk_mib: Some(192),
            settings: small_disk(),
            ..Nodes::default()
        },
        words: vec!["disk".into()],
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> Vec<Criterion> {
    let one = |of: &str| Measure::of(of).between("one", "one-end");
    let created = one("created-per-s").take(Take::Mean).skip(NOTICED);
    let growth = |of: &str| {
        let growth = Measure::of(of).take(Take::Growth);
        growth.between("all", "room")
    };
    let timed = |name, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    vec![
        timed(
            "one full disk: longest time without creations in a partition",
            one("create-gap-ms"),
            Limit::AtMost(3000.0),
            "ms",
        ),
        timed(
            "one full disk: creations ÷ rate",
            created.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        ),
        Criterion::new(
            "all full: creations taken",
            growth("created-total").skip(NOTICED),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "all full: refusals that name the disk",
            growth("refused-for.disk"),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "all full: jobs completed",
            growth("completed-total"),
            Limit::AtLeast(1.0),
            "",
        ),
        timed(
            "new work is taken once there is room: after",
            Measure::of("serves.seconds"),
            Limit::AtMost(2.0),
            "s",
        ),
        timed(
            "leaders are even after that",
            Measure::of("even.seconds"),
            Limit::AtMost(40.0),
            "s",
        ),
    ]
}
