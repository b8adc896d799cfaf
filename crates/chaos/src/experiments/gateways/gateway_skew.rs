//! Clients reach a cluster through one node, through an address that spreads connections, and beside a slow node.

use crate::experiments::{Experiment, invariants, settings, step, wait};
use crate::judge::FOREIGN_SETTINGS;
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Through, Until, Who, Wire,
};
use crate::probes::SHARES_OVER_S;

pub const EXPERIMENT: Experiment = Experiment {
    name: "gateway-skew",
    about: "clients use all of three nodes, one of them, or a service's address; then a node is slow, and killed",
    plan,
};

/// Length in seconds of a turn in which shares of nodes are compared.
const TURN: f64 = SHARES_OVER_S + 4.0;
/// Length in seconds of a slice in which throughput is compared.
const SLICE: f64 = 8.0;
/// Time for which clients may try a node that is gone.
const NOTICED: f64 = 5.0;

/// Slices in the order A B B A, which are compared pair by pair: clients use all nodes, and one of them.
fn pairs(full: bool) -> Vec<Step> {
    let pairs = if full { 10 } else { 3 };
    let all = ("all-slice", Through::All);
    let one = ("one-slice", Through::Nodes(vec![0]));
    let mut steps = Vec::new();
    for number in 0..pairs {
        let (first, second) = if number % 2 == 0 {
            (&all, &one)
        } else {
            (&one, &all)
        };
        for (name, through) in [first, second] {
            steps.extend([
                step("through", 1.0, Action::Through(through.clone())),
                step(name, 0.0, Action::Saturate(Wire::Http2)),
                step("slice-end", SLICE, Action::StopLoad),
            ]);
        }
    }
    steps
}

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 12.0 };
    let turn = |through, begin, end| {
        [
            step("through", 1.0, Action::Through(through)),
            step(begin, 0.0, Action::Saturate(Wire::Http2)),
            step(end, TURN, Action::StopLoad),
        ]
    };
    let mut steps = pairs(full);
    steps.extend(turn(Through::All, "all", "all-end"));
    steps.extend(turn(Through::Nodes(vec![0]), "one", "one-end"));
    steps.extend(turn(Through::Service, "service", "service-end"));
    let limit = |name, after, cores| {
        let who = Who::Follower;
        step(name, after, Action::Limit { who, cores })
    };
    steps.extend([
        step("through", 1.0, Action::Through(Through::All)),
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::OfMaximum(0.3))),
        limit("slow", 5.0, 0.1),
        limit("fast", long, 4.0),
        step("kill", 5.0, Action::Kill(Who::Follower)),
        step("start", NOTICED + long, Action::Start),
        wait("even", Until::Even, 90.0),
        step("end", 2.0, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "It hardly matters which nodes clients use: one node passes on the requests of all, clients with several addresses use \
                     all nodes alike, an address that spreads connections spreads requests as connections end with age, and a node that is \
                     slow or gone costs the others nothing."
            .into(),
        nodes: Nodes {
            count: 3,
            // When leaders are spread evenly, one node leads nothing.
            partitions: 2,
            // Ten ages in the time over which shares are compared.
            settings: settings(&[(
                "skep.api.max-connection-age",
                &format!("{}ms", SHARES_OVER_S * 100.0),
            )]),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> Vec<Criterion> {
    let completed = |from| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(from, "slice-end").skip(3.0)
    };
    let p99 = |from, to| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(3.0)
    };
    let share = |from, to| {
        let share = Measure::of("busiest-gateway").take(Take::Median);
        share.between(from, to).skip(SHARES_OVER_S)
    };
    let mut criteria = vec![
        Criterion::new(
            "through one node ÷ through all: instances",
            completed("one-slice").paired_with(completed("all-slice")),
            Limit::AtLeast(0.90),
            "×",
        )
        .timed()
        .post("collapse"),
        Criterion::new(
            "through one node ÷ through all: p99 of creations",
            p99("one-slice", "slice-end").paired_with(p99("all-slice", "slice-end")),
            Limit::AtMost(1.5),
            "×",
        )
        .timed(),
        Criterion::new(
            "through one node: its requests ÷ mean of the nodes",
            share("one", "one-end"),
            Limit::AtLeast(2.5),
            "×",
        ),
        Criterion::new(
            "clients with several addresses: requests of the busiest node ÷ mean",
            share("all", "all-end"),
            Limit::AtMost(1.1),
            "×",
        ),
        Criterion::new(
            "a service's address, ten connection ages: the same",
            share("service", "service-end"),
            Limit::AtMost(1.25),
            "×",
        )
        .provided(
            Measure::of(FOREIGN_SETTINGS),
            Limit::AtMost(0.0),
            "the cluster may keep connections for longer than the plan",
        ),
    ];
    criteria.extend(without_a_node());
    criteria
}

fn without_a_node() -> Vec<Criterion> {
    let created = |from, to, skip| {
        let created = Measure::of("created-per-s").take(Take::Mean);
        let created = created.between(from, to).skip(skip);
        created.over(Measure::of("offered-per-s"))
    };
    let failed = Measure::of("failed-per-s").between("kill", "start");
    vec![
        Criterion::new(
            "a node with 0.1 core: creations ÷ rate",
            created("slow", "fast", 3.0),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "a node is gone: creations ÷ rate",
            created("kill", "start", NOTICED),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "a node is gone: failed requests per second, later",
            failed.skip(NOTICED),
            Limit::AtMost(0.0),
            "",
        ),
    ]
}
