//! Another program fills the disk of a node.

use crate::experiments::{Experiment, invariants, small_disk, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "disk-full",
    about: "the disk of the node fills up, and has space again later",
    plan,
};

/// Seconds to build a backlog that still exists when the disk is full.
const BACKLOG_S: f64 = 10.0;

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 10.0 };
    let ask = |name, method: &str, path: &str, body: &str, status| {
        let request = Request {
            node: 0,
            // The other requests go to the REST API.
            management: name == "health",
            method: method.into(),
            path: path.into(),
            body: body.into(),
            status,
            says: String::new(),
        };
        step(name, 0.0, Action::Request(request))
    };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A full disk stops new work and nothing else: creations are refused with the reason, jobs are completed and searches \
                     answered, and new work is accepted again as soon as there is space."
            .into(),
        nodes: Nodes {
            disk_mib: Some(192),
            settings: small_disk(),
            ..Nodes::default()
        },
        words: vec!["disk".into()],
        steps: vec![
            step("base", 0.0, Action::Load(Rate::PerSecond(50.0))),
            step("full", BACKLOG_S, Action::Fill { who: Who::Node(0), leave_mib: 44 }),
            step("workers", 2.0, Action::Workers(true)),
            ask("search", "POST", "/v2/process-instances/search", "{}", 200),
            ask("topology", "GET", "/v2/topology", "", 200),
            ask("health", "GET", "/actuator/health", "", 503),
            step("room", long, Action::Free),
            wait("serves", Until::Created(10), 30.0),
            step("end", 5.0, Action::StopLoad),
        ],
        drain_s: 60.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let while_full = |of| Measure::of(of).between("full", "room");
    let right = |name: &str, step: &str| {
        let right = Measure::of(&format!("{step}.right"));
        Criterion::new(name, right, Limit::AtLeast(1.0), "")
    };
    let mut criteria = vec![
        Criterion::new(
            "jobs completed while the disk is full",
            while_full("completed-total").take(Take::Growth),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "creations taken while the disk is full",
            Measure::of("created-total")
                .take(Take::Growth)
                .between("full", "room")
                .skip(3.0),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "refusals that name the disk",
            while_full("refused-for.disk").take(Take::Growth),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "refusals in the metric of back-pressure",
            while_full("zeebe_dropped_request_count_total").take(Take::Growth),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "new work is taken once there is room: after",
            Measure::of("serves.seconds"),
            Limit::AtMost(2.0),
            "s",
        )
        .timed(),
        right("a search is answered", "search"),
        right("the topology is answered", "topology"),
        right("health is 503", "health"),
    ];
    criteria.extend(invariants());
    criteria
}
