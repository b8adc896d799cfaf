//! A cluster with twice the nodes, cores and partitions does twice as much.

use crate::experiments::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Through, Until, Who, Wire,
};
use crate::probes::SHARES_OVER_S;

pub const EXPERIMENT: Experiment = Experiment {
    name: "scale-linear",
    about: "three nodes with a quarter of a core each become six, and three again; each size is saturated",
    plan,
};

const BEFORE: u32 = 3;
const AFTER: u32 = 6;
/// Cores of each node.
const QUOTA: f64 = 0.25;
/// Instances under way for each node while the cluster is saturated: with as many for six nodes as for three, each would have half the work
/// at a time, in batches that cost more.
const OF_NODE: u32 = 96;
/// Instances per second while the cluster changes.
const RATE: f64 = 150.0;
/// Seconds for which clients go on once the cluster has grown.
const GROWN: f64 = 12.0;
/// Seconds at the beginning of a load that do not count.
const WARM_UP: f64 = 5.0;
/// Share of their CPU time that saturated nodes use. If they use less, the clients are the limit.
const SATURATED: f64 = 0.9;

fn plan(full: bool) -> Plan {
    // Long enough to compare the shares of partitions.
    let long = SHARES_OVER_S + if full { 60.0 } else { 8.0 };
    let first = (0..BEFORE).collect();
    let mut steps = vec![step("first", 0.0, Action::Through(Through::Nodes(first)))];
    steps.extend(saturated(BEFORE, ("three", "three-end"), long));
    steps.extend([
        step("workers", 1.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
        // The spare nodes wait until they are made members.
        step("nodes", 12.0, Action::Start),
        step("grow", 3.0, resized(AFTER)),
        wait("grown", Until::Partitions(AFTER), 300.0),
        wait("even", Until::Even, 90.0),
        step("away", GROWN, Action::StopLoad),
        step("stop", 1.0, Action::Workers(false)),
        step("all", 0.0, Action::Through(Through::All)),
    ]);
    steps.extend(saturated(AFTER, ("six", "six-end"), long));
    steps.extend([
        step("back-load", 1.0, Action::Load(Rate::PerSecond(RATE))),
        step("back-workers", 0.0, Action::Workers(true)),
        step("shrink", 5.0, resized(BEFORE)),
        wait("shrunk", Until::Partitions(BEFORE), 300.0),
    ]);
    let removed = (BEFORE..AFTER).map(|node| step("remove", 1.0, Action::Stop(Who::Node(node))));
    steps.extend(removed);
    steps.extend([
        wait("rate", Until::RateIs(0.95), 60.0),
        step("end", 5.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster with twice the nodes and partitions does twice as much, at the same cost per instance. It grows and shrinks \
                     within a minute while clients work, and they notice next to nothing."
            .into(),
        nodes: Nodes {
            count: BEFORE,
            partitions: BEFORE,
            spare: AFTER - BEFORE,
            quota: Some(QUOTA),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 120.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

/// As many partitions as nodes.
fn resized(size: u32) -> Action {
    Action::Scale {
        partitions: size,
        nodes: Some(size),
    }
}

fn saturated(nodes: u32, (begin, end): (&str, &str), long: f64) -> [Step; 2] {
    let saturate = Action::SaturateWith {
        wire: Wire::Http2,
        instances: nodes * OF_NODE,
    };
    [
        step(begin, 1.0, saturate),
        step(end, long, Action::StopLoad),
    ]
}

fn mean(of: &str, from: &str, to: &str) -> Measure {
    let mean = Measure::of(of).take(Take::Mean);
    mean.between(from, to).skip(WARM_UP)
}

fn at_three(of: &str) -> Measure {
    mean(of, "three", "three-end")
}

fn at_six(of: &str) -> Measure {
    mean(of, "six", "six-end")
}

/// A criterion about saturated nodes.
fn of_saturated(name: &str, measure: Measure, limit: Limit) -> Criterion {
    let used = Limit::AtLeast(SATURATED);
    Criterion::new(name, measure, limit, "×")
        .timed()
        .provided(
            at_three("quota-used"),
            used,
            "three nodes were not saturated, so their clients were the limit",
        )
        .provided(
            at_six("quota-used"),
            used,
            "six nodes were not saturated, so their clients were the limit",
        )
}

fn criteria() -> Vec<Criterion> {
    let share = |of: &str| {
        let share = Measure::of(of).take(Take::Median);
        share.between("six", "six-end").skip(SHARES_OVER_S)
    };
    // CPU of an instance at six nodes ÷ that at three.
    let per_core = at_three("completed-per-s").over(at_three("nodes-cores"));
    let cost = at_six("nodes-cores").over(at_six("completed-per-s").over(per_core));
    let mut criteria = vec![
        of_saturated(
            "six nodes ÷ three: instances at the maximum",
            at_six("completed-per-s").over(at_three("completed-per-s")),
            Limit::AtLeast(1.9),
        )
        .post("2.0"),
        of_saturated(
            "six nodes ÷ three: CPU of an instance",
            cost,
            Limit::AtMost(1.05),
        )
        .post("1.08"),
        Criterion::new(
            "the busiest of six partitions ÷ the mean",
            share("busiest-partition"),
            Limit::AtMost(1.05),
            "×",
        ),
        Criterion::new(
            "the idlest of six partitions ÷ the mean",
            share("idlest-partition"),
            Limit::AtLeast(0.95),
            "×",
        ),
    ];
    criteria.extend(while_it_changes());
    criteria
}

fn while_it_changes() -> Vec<Criterion> {
    let timed = |name, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    let created = |from, to| {
        let created = Measure::of("created-per-s").take(Take::Mean);
        let created = created.between(from, to);
        created.over(Measure::of("offered-per-s"))
    };
    let p99 = |from, to, skip| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(skip)
    };
    vec![
        timed(
            "six nodes and partitions take part after",
            Measure::of("grown.seconds"),
            Limit::AtMost(60.0),
            "s",
        )
        .post("15 min"),
        timed(
            "creations ÷ rate while the cluster grows",
            created("grow", "away"),
            Limit::AtLeast(0.9),
            "×",
        ),
        timed(
            "p99 of creations while the cluster grows ÷ p99 before",
            p99("grow", "away", 0.0).over(p99("base", "nodes", 2.0)),
            Limit::AtMost(3.0),
            "×",
        ),
        completions_of_new_partitions(),
        timed(
            "three nodes and partitions remain after",
            Measure::of("shrunk.seconds"),
            Limit::AtMost(60.0),
            "s",
        ),
        timed(
            "creations ÷ rate while the cluster shrinks",
            created("shrink", "remove"),
            Limit::AtLeast(0.9),
            "×",
        ),
    ]
}

/// Workers were there before the nodes that lead the new partitions, and must get their jobs all the same.
fn completions_of_new_partitions() -> Criterion {
    let completed = Measure::of("completed-per-s").take(Take::Mean);
    let completed = completed.between("even", "away").skip(2.0);
    Criterion::new(
        "completions ÷ rate once the cluster has grown",
        completed.over(Measure::of("offered-per-s")),
        Limit::AtLeast(0.95),
        "×",
    )
}
