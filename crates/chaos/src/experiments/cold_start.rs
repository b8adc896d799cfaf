//! A node starts while its database is unavailable, in several manners.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, Step, StoreKind, StoreState,
    Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "cold-start",
    about: "a node starts while its database is stopped, silent, slow, or refuses its password",
    plan,
};

/// Manners of being unavailable, each with the text that health reports.
const POSTGRES: &str = "PostgreSQL at 127.0.0.1:";
const AWAY: [(&str, StoreState, &str); 3] = [
    ("stopped", StoreState::Stopped, POSTGRES),
    ("silent", StoreState::Silent, POSTGRES),
    (
        "password",
        StoreState::WrongPassword,
        "password authentication failed",
    ),
];

/// Time until health names the fault: a database that accepts connections has 20 s to answer.
const NAMED_S: f64 = 25.0;

fn request(management: bool, method: &str, path: &str, status: u16, says: &str) -> Request {
    Request {
        node: 0,
        management,
        method: method.into(),
        path: path.into(),
        body: if management { "" } else { "{}" }.into(),
        status,
        says: says.into(),
    }
}

/// Restarts the node and waits until it is ready.
fn again() -> [Step; 3] {
    let ready = request(true, "GET", "/actuator/health/readiness", 200, "");
    [
        step("stop", 3.0, Action::Stop(Who::Node(0))),
        step("start", 0.0, Action::Start),
        wait("ready", Until::Answer(ready), 180.0),
    ]
}

fn plan(full: bool) -> Plan {
    let away = if full { 60.0 } else { 5.0 };
    let search = || request(false, "POST", "/v2/process-instances/search", 200, "");
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(20.0))),
    ];
    for (name, state, says) in AWAY {
        steps.push(step(name, 0.0, Action::Store(state)));
        steps.extend(again());
        let health = request(true, "GET", "/actuator/health", 503, says);
        let named = Until::Answer(health.clone());
        steps.push(wait("named", named, 60.0));
        steps.push(step("health", away, Action::Request(health)));
        steps.push(step("comes", 0.0, Action::Store(StoreState::Serves)));
        steps.push(wait("serves", Until::Answer(search()), 120.0));
    }
    let slow = StoreState::Slow { delay_ms: 300 };
    steps.push(step("slow", 0.0, Action::Store(slow)));
    steps.extend(again());
    steps.push(wait("searches", Until::Answer(search()), 120.0));
    steps.push(step("quick", 0.0, Action::Store(StoreState::Serves)));
    steps.push(step("end", 3.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node starts and accepts work at once, although its database is missing or refuses it. Health reports this; once the \
                     database is there, the node creates its tables and answers searches without help."
            .into(),
        nodes: Nodes {
            store: Some(StoreKind::Postgres),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let mut criteria = vec![
        Criterion::new(
            "ready after a start, whatever the database does",
            Measure::of("ready.seconds"),
            Limit::AtMost(1.0),
            "s",
        )
        .post("150 s")
        .timed(),
        Criterion::new(
            "health names it after",
            Measure::of("named.seconds"),
            Limit::AtMost(NAMED_S),
            "s",
        )
        .timed(),
        Criterion::new(
            "health names it while it lasts",
            Measure::of("health.right").take(Take::Min),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "searches are answered after the database comes",
            Measure::of("serves.seconds"),
            Limit::AtMost(5.0),
            "s",
        )
        .timed(),
        Criterion::new(
            "instances created while the database is away",
            Measure::of("created-total")
                .take(Take::Growth)
                .between("ready", "comes")
                .across(Take::Min),
            Limit::AtLeast(20.0),
            "",
        ),
        Criterion::new(
            "searches are answered by a slow database after",
            Measure::of("searches.seconds"),
            Limit::AtMost(30.0),
            "s",
        )
        .timed(),
    ];
    criteria.extend(invariants());
    criteria
}
