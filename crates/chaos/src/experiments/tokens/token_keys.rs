//! Tokens are signed with a key that the node cannot fetch.

use crate::experiments::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, IssuerState, Limit, Measure, Nodes, Plan, Rate, Request, Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "token-keys",
    about: "tokens have a new key while the identity provider is away, and metric, answer and `skep status` must name it",
    plan,
};

/// Lifetime of a token in seconds: the run has one with the new key after half of it.
const LIVES: u64 = 2;
/// Seconds within which the cause must be named.
const NAMED: f64 = 5.0;
/// Time to wait before a cause is given up as not named.
const PATIENCE: f64 = 30.0;
/// The cause in the answer of a server.
const SAID: &str = "the keys of its issuer are missing";

fn plan(full: bool) -> Plan {
    let long = if full { 60.0 } else { 5.0 };
    let issuer = |name, after, state| step(name, after, Action::Issuer(state));
    let (who, says) = (Who::Node(0), SAID.to_string());
    let refused = Request {
        node: 0,
        management: false,
        method: "GET".into(),
        path: "/v2/topology".into(),
        body: String::new(),
        status: 503,
        says: says.clone(),
    };
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "When tokens cannot be checked, a metric, the answer to each request and `skep status` say so within seconds, and work \
                     goes on as soon as they can."
            .into(),
        nodes: Nodes {
            tokens_s: Some(LIVES),
            ..Nodes::default()
        },
        words: vec![SAID.into()],
        steps: vec![
            step("workers", 0.0, Action::Workers(true)),
            step("base", 0.0, Action::Load(Rate::PerSecond(50.0))),
            issuer("away", 5.0, IssuerState::Away),
            issuer("key", 1.0, IssuerState::OtherKey),
            wait("answer", Until::Answer(refused), PATIENCE),
            wait("status", Until::Status { who, says }, PATIENCE),
            issuer("back", long, IssuerState::Serves),
            wait("well", Until::RateIs(0.95), PATIENCE),
            step("end", 3.0, Action::StopLoad),
        ],
        drain_s: 60.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn criteria() -> [Criterion; 5] {
    let within = |name: &str, series: &str| {
        let seconds = Measure::of(series);
        Criterion::new(name, seconds, Limit::AtMost(NAMED), "s").timed()
    };
    let refused = |series: &str| {
        let growth = Measure::of(series).take(Take::Growth);
        growth.between("key", "end")
    };
    let given = Measure::of("skep_identity_provider_up").take(Take::Min);
    [
        within("the answer to a request names it", "answer.seconds"),
        within("`skep status` names it", "status.seconds"),
        Criterion::new(
            "a metric shows it: the identity provider gives its keys",
            given.between("answer", "back"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "refusals that name it ÷ refusals",
            refused(&format!("refused-for.{SAID}")).over(refused("refused-total")),
            Limit::AtLeast(0.99),
            "×",
        ),
        within("the full rate is there again after", "well.seconds"),
    ]
}
