//! Clients use gateways without partitions, one of which is slow, then gone, then replaced.

use crate::experiments::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, Take, Through, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "gateway-loss",
    about: "clients use two gateways without partitions; one is slow, then killed, then replaced",
    plan,
};

const BROKERS: u32 = 3;
/// The gateway that is hit; the other one has the next number.
const HIT: u32 = BROKERS;
/// Time for which clients may try a gateway that is gone.
const NOTICED: f64 = 5.0;
/// Requests of a gateway that is used again.
const SOME: f64 = 100.0;

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 12.0 };
    let who = Who::Node(HIT);
    let limit = |name, after, cores| step(name, after, Action::Limit { who, cores });
    let is_ready = Request {
        node: HIT,
        management: true,
        method: "GET".into(),
        path: "/actuator/health/readiness".into(),
        body: String::new(),
        status: 200,
        says: String::new(),
    };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A gateway that is slow or gone costs clients of others nothing: they leave it within seconds, and use it again once it \
                     is replaced."
            .into(),
        nodes: Nodes {
            count: BROKERS,
            partitions: BROKERS,
            gateways: 2,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps: vec![
            step("through", 0.0, Action::Through(Through::Nodes(vec![HIT, HIT + 1]))),
            step("workers", 0.0, Action::Workers(true)),
            step("base", 0.0, Action::Load(Rate::OfMaximum(0.3))),
            limit("slow", 5.0, 0.1),
            limit("fast", long, 4.0),
            step("kill", 5.0, Action::Kill(who)),
            step("start", NOTICED + long, Action::Start),
            step("replace", 3.0, Action::Replace(who)),
            wait("ready", Until::Answer(is_ready), 30.0),
            step("again", NOTICED, Action::Workers(true)),
            step("end", long, Action::StopLoad),
        ],
        drain_s: 60.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> [Criterion; 5] {
    let created = |name: &str, (from, to): (&str, &str), skip| {
        let created = Measure::of("created-per-s").take(Take::Mean);
        let created = created.between(from, to).skip(skip);
        Criterion::new(
            &format!("{name}: creations ÷ rate"),
            created.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
    };
    let failed = Measure::of("failed-per-s").between("kill", "start");
    let requests = Measure::of(&format!("node{HIT}.requests")).take(Take::Growth);
    [
        created("a gateway with 0.1 core", ("slow", "fast"), 3.0),
        created("a gateway is gone", ("kill", "start"), NOTICED),
        Criterion::new(
            "a gateway is gone: failed requests per second, later",
            failed.skip(NOTICED),
            Limit::AtMost(0.0),
            "",
        ),
        created("a gateway was replaced", ("again", "end"), 0.0),
        Criterion::new(
            "a gateway was replaced: its requests",
            requests.between("again", "end"),
            Limit::AtLeast(SOME),
            "",
        ),
    ]
}
