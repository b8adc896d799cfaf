//! How long until data can be searched, under increasing load: at the node that leads the partition, and at another one.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Through, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "data-availability",
    about: "instances are searched for once they are created, at the leader of three nodes and at a follower, at 0.3, 0.63 and 1.25 M",
    plan,
};

/// A place to search at, and the names of its steps: one at 0.3 M, one at 0.63 M, and the end.
struct Place {
    who: Who,
    low: &'static str,
    normal: &'static str,
    end: &'static str,
}

const LEADER: Place = Place {
    who: Who::LeaderOf(1),
    low: "low",
    normal: "normal",
    end: "normal-end",
};
const FOLLOWER: Place = Place {
    who: Who::Follower,
    low: "low-elsewhere",
    normal: "normal-elsewhere",
    end: "elsewhere-end",
};

/// Clients start and search instances through one node.
fn turn(place: &Place, long: f64) -> [Step; 4] {
    let load = |share| Action::Load(Rate::OfMaximum(share));
    [
        step("through", 1.0, Action::Through(Through::Who(place.who))),
        step(place.low, 0.0, load(0.3)),
        step(place.normal, long, load(0.63)),
        step(place.end, long, Action::StopLoad),
    ]
}

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 12.0 };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        wait("even", Until::Even, 90.0),
    ];
    steps.extend(turn(&LEADER, long));
    steps.extend(turn(&FOLLOWER, long));
    steps.extend([
        step("through", 1.0, Action::Through(Through::Who(LEADER.who))),
        step("over", 0.0, Action::Flood(Rate::OfMaximum(1.25))),
        step("end", long, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A change can be searched a moment later, at every node and by other callers too, and no load that the cluster can carry \
                     makes that moment long. The caller who made the change finds it at once."
            .into(),
        nodes: Nodes {
            count: 3,
            // One leader and two that lead nothing.
            partitions: 1,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 120.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let found = |from, to| {
        let p99 = Measure::of("found-p99-ms").take(Take::Median);
        p99.between(from, to).skip(2.0)
    };
    let timed = |name, measure, most| {
        Criterion::new(name, measure, Limit::AtMost(most), "ms")
            .flushes(2.0)
            .timed()
    };
    let mut criteria = vec![
        timed(
            "0.3 M, at the leader: found after, p99",
            found(LEADER.low, LEADER.normal),
            200.0,
        ),
        timed(
            "0.63 M, at the leader: found after, p99",
            found(LEADER.normal, LEADER.end),
            200.0,
        ),
        timed(
            "0.3 M, at a follower: found after, p99",
            found(FOLLOWER.low, FOLLOWER.normal),
            700.0,
        ),
        timed(
            "0.63 M, at a follower: found after, p99",
            found(FOLLOWER.normal, FOLLOWER.end),
            700.0,
        ),
        timed("1.25 M: found after, p99", found("over", "end"), 2000.0).post("60 s and more"),
        Criterion::new(
            "own instances that were looked for",
            Measure::of("own-writes"),
            Limit::AtLeast(30.0),
            "",
        ),
        Criterion::new(
            "own instances that were not found at once",
            Measure::of("own-writes-missed"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "instances that no search found in a minute",
            Measure::of("not-found"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "searches that failed",
            Measure::of("searches-failed"),
            Limit::AtMost(0.0),
            "",
        ),
    ];
    criteria.extend(agreement());
    criteria.extend(invariants());
    criteria
}

/// What searches find is what the metric of the leader says, so that an alert about the metric is one about searches.
fn agreement() -> [Criterion; 2] {
    let mean = |series: &str| {
        let mean = Measure::of(series).take(Take::Mean);
        mean.between(LEADER.normal, LEADER.end).skip(2.0)
    };
    let limits = [("least", Limit::AtLeast(0.8)), ("most", Limit::AtMost(1.2))];
    limits.map(|(which, limit)| {
        let name = format!("0.63 M, at the leader: found after ÷ what its metric says, {which}");
        let ratio = mean("found-mean-ms").over(mean("available-mean-ms"));
        Criterion::new(&name, ratio, limit, "×").timed()
    })
}
