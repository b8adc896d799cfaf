//! Tokens live for ten seconds, and some expire while their requests wait.

use crate::experiments::{Experiment, invariants, ready, settings, step, wait};
use crate::plan::{
    Action, Criterion, IssuerState, Limit, Measure, Nodes, Plan, Rate, Request, Step, Take, Until,
    Wire,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "token-expiry",
    about: "tokens live for ten seconds, while keys change, the identity provider is away, and requests wait until they have expired",
    plan,
};

/// Instances per second, as in the post.
const RATE: f64 = 300.0;
/// Lifetime of a token in seconds.
const LIVES: u64 = 10;
/// Seconds for which requests wait. Their tokens have at least half a lifetime left, so many expire meanwhile; less than the ten seconds
/// after which a node gives a request up.
const WAIT: f64 = 8.0;
/// Seconds after which everything is as before once the identity provider is back.
const WELL: f64 = 5.0;
/// Length in seconds of a window for which the rate is measured.
const WINDOW: f64 = 10.0;

fn plan(full: bool) -> Plan {
    let issuer = |name, after, state| step(name, after, Action::Issuer(state));
    // Only begins a window: workers are running already.
    let window = |after| step("window", after, Action::Workers(true));
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
        window(2.0),
    ];
    for _ in 0..if full { 50 } else { 2 } {
        steps.push(window(WINDOW));
    }
    steps.push(issuer("other-key", 2.0, IssuerState::OtherKey));
    steps.push(window(WINDOW));
    steps.push(issuer("away", 1.0, IssuerState::Away));
    for _ in 0..if full { 6 } else { 2 } {
        steps.push(window(WINDOW));
    }
    steps.extend([
        issuer("back", 0.0, IssuerState::Serves),
        wait("well", Until::CompletionIs(0.95), 30.0),
        window(WELL),
        processing("wait", 0.0, "pauseProcessing"),
        processing("go-on", WAIT, "resumeProcessing"),
        wait("full", Until::CompletionIs(0.95), 30.0),
        step("quiet", 5.0, Action::StopLoad),
        wait("ended", Until::OpenAtMost(0.0), 60.0),
    ]);
    steps.extend(pairs(full));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A token is checked once, when its request arrives, so it may expire while the request waits. Nobody notices when keys \
                     change or the identity provider is away, and requiring tokens costs next to nothing."
            .into(),
        nodes: Nodes {
            tokens_s: Some(LIVES),
            ..Nodes::default()
        },
        words: vec!["token".into()],
        steps,
        drain_s: 60.0,
        criteria: criteria().into_iter().chain(invariants()).collect(),
    }
}

fn processing(name: &str, after_s: f64, what: &str) -> Step {
    let request = Request {
        node: 0,
        management: true,
        method: "POST".into(),
        path: format!("/actuator/partitions/{what}"),
        body: String::new(),
        status: 200,
        says: String::new(),
    };
    step(name, after_s, Action::Request(request))
}

/// Turns with tokens and without, in the order A B B A.
fn pairs(full: bool) -> Vec<Step> {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 8.0) };
    let mut steps = Vec::new();
    let mut with = true;
    for _ in 0..pairs {
        steps.extend(turn(if with { "with" } else { "without" }, long));
        with = !with;
        steps.extend(asked(with));
        steps.extend(turn(if with { "with" } else { "without" }, long));
    }
    if !with {
        steps.extend(asked(true));
    }
    steps
}

/// Saturates the node for a while.
fn turn(name: &str, long: f64) -> [Step; 2] {
    [
        step(name, 2.0, Action::Saturate(Wire::Http2)),
        step("turn", long, Action::StopLoad),
    ]
}

/// Switches the requirement of tokens on or off.
fn asked(is: bool) -> [Step; 2] {
    let open = if is { "false" } else { "true" };
    let settings = settings(&[("camunda.security.authentication.unprotected-api", open)]);
    [
        step("again", 2.0, Action::Settings { node: 0, settings }),
        ready(),
    ]
}

fn criteria() -> Vec<Criterion> {
    let of = |series: &str, from: &str, to: &str| {
        let measure = Measure::of(series).take(Take::Mean);
        measure.between(from, to)
    };
    let created = of("created-per-s", "window", "window").across(Take::Min);
    let completed = |from| of("completed-per-s", from, "turn").skip(2.0);
    let waited = Measure::of("create-p99-ms").between("go-on", "quiet");
    vec![
        Criterion::new(
            "requests that are refused for their token",
            Measure::of("refused-for.token"),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "requests have waited while their tokens expired",
            waited,
            Limit::AtLeast(WAIT * 1e3 - 500.0),
            "ms",
        ),
        Criterion::new(
            "creations ÷ rate in ten seconds, the least",
            created.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
        .post("0.47"),
        Criterion::new(
            "completions at the rate again after the identity provider is back",
            Measure::of("well.seconds"),
            Limit::AtMost(WELL),
            "s",
        )
        .timed(),
        Criterion::new(
            "instances at full load, with tokens ÷ without",
            completed("with").paired_with(completed("without")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
    ]
}
