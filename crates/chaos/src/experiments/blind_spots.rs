//! Causes of trouble, each of which metrics, answers and `skep status` must name.

use super::{Experiment, invariants, small_disk, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, Step, StoreKind, StoreState,
    Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "blind-spots",
    about: "storage, CPU, disk, workers, a node and a partition fail in turn, and each must be named by metric, answer and `skep status`",
    plan,
};

const NODES: u32 = 3;
/// Seconds within which a cause must be named.
const NAMED: f64 = 5.0;
/// Time to wait before a cause is given up as not named.
const PATIENCE: f64 = 30.0;
/// Creations per second that are refused, and for how many seconds.
const REFUSED: f64 = 1000.0;
const REFUSED_S: f64 = 10.0;
/// Permitted lines of log per second meanwhile.
const LINES: f64 = 10.0;

/// What `skep status` says about each cause.
const SAID: [(&str, &str); 6] = [
    ("storage", "Connection refused"),
    ("cpu", "Slowed by a CPU limit"),
    ("disk", ", low"),
    ("workers", "Jobs waiting for a worker"),
    ("node", "node 1 does not answer"),
    ("partition", "partition 1 has no leader"),
];

fn plan(full: bool) -> Plan {
    let steps = steps(if full { 30.0 } else { 4.0 });
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "Whatever goes wrong, a metric, the answer to a refused request and `skep status` name it within seconds, and the log \
                     does not drown it."
            .into(),
        nodes: Nodes {
            count: NODES,
            store: Some(StoreKind::Postgres),
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

/// `pause`: seconds between two causes.
fn steps(pause: f64) -> Vec<Step> {
    let leader = Who::LeaderOf(1);
    let mut steps = vec![
        step("store", 0.0, Action::Store(StoreState::Serves)),
        wait("ready", Until::Answer(search(200, "")), 60.0),
        step("work", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(50.0))),
        step("storage", 5.0, Action::Store(StoreState::Stopped)),
        named("storage", leader),
        wait(
            "storage-answer",
            Until::Answer(search(503, "storage")),
            PATIENCE,
        ),
        step("storage-end", 2.0, Action::Store(StoreState::Serves)),
        step(
            "cpu",
            pause,
            Action::Limit {
                who: leader,
                cores: 0.1,
            },
        ),
        named("cpu", leader),
        step(
            "cpu-end",
            // A node with so little CPU does not answer each second, and the metric is a sum of all.
            6.0,
            Action::Limit {
                who: leader,
                cores: 4.0,
            },
        ),
        step("workers", pause, Action::Workers(false)),
        named("workers", leader),
        step("workers-end", 2.0, Action::Workers(true)),
    ];
    // Where one disk is full another node leads, and nothing is refused.
    for node in 0..NODES {
        let (who, leave_mib) = (Who::Node(node), 44);
        let after = if node == 0 { pause } else { 0.0 };
        steps.push(step("disk", after, Action::Fill { who, leave_mib }));
    }
    // Node 0 remains, alone in the end.
    let alone = Who::Node(0);
    steps.extend([
        named("disk", alone),
        step("flood", 0.0, Action::Flood(Rate::PerSecond(REFUSED))),
        step("flood-end", REFUSED_S, Action::StopLoad),
        step("disk-end", 0.0, Action::Free),
    ]);
    steps.extend([
        step("node", pause, Action::Pause(Who::Node(1))),
        named("node", alone),
        step("partition", 0.0, Action::Pause(Who::Node(2))),
        named("partition", alone),
        wait("partition-answer", Until::Answer(creation()), PATIENCE),
        step("resume", 0.0, Action::Resume),
        wait("even", Until::Even, 90.0),
    ]);
    steps
}

/// Waits until `skep status` names the cause.
fn named(cause: &str, who: Who) -> Step {
    let said = SAID.iter().find(|(name, _)| *name == cause);
    let says = said.map_or("", |(_, says)| says).to_string();
    let name = format!("{cause}-status");
    wait(&name, Until::Status { who, says }, PATIENCE)
}

fn search(status: u16, says: &str) -> Request {
    Request {
        node: 0,
        management: false,
        method: "POST".into(),
        path: "/v2/process-instances/search".into(),
        body: r#"{"page": {"limit": 1}}"#.into(),
        status,
        says: says.into(),
    }
}

/// A message, which some partition would have to keep.
fn creation() -> Request {
    Request {
        node: 0,
        management: false,
        method: "POST".into(),
        path: "/v2/messages/publication".into(),
        body: r#"{"name": "blind-spots", "correlationKey": "1"}"#.into(),
        status: 503,
        says: "no leader".into(),
    }
}

fn criteria() -> Vec<Criterion> {
    let said = SAID.into_iter().map(|(cause, _)| {
        let seconds = Measure::of(&format!("{cause}-status.seconds"));
        let name = format!("`skep status` names it: {cause}");
        Criterion::new(&name, seconds, Limit::AtMost(NAMED), "s").timed()
    });
    let answered = ["storage", "partition"].into_iter().map(|cause| {
        let seconds = Measure::of(&format!("{cause}-answer.seconds"));
        let name = format!("the answer to a request names it: {cause}");
        Criterion::new(&name, seconds, Limit::AtMost(NAMED), "s").timed()
    });
    let shown = |name: &str, series: &str, from: &str, take| {
        let shown = Measure::of(series).take(take);
        let shown = shown.between(from, &format!("{from}-end"));
        let name = format!("a metric shows it: {name}");
        Criterion::new(&name, shown, Limit::AtLeast(1.0), "")
    };
    let during = |series: &str| {
        let growth = Measure::of(series).take(Take::Growth);
        growth.between("flood", "flood-end")
    };
    let criteria = [
        shown("storage", "skep_exporter_failing", "storage", Take::Max),
        shown(
            "cpu",
            "skep_cpu_throttled_periods_total",
            "cpu",
            Take::Growth,
        ),
        shown("workers", "skep_jobs_activatable", "workers", Take::Max),
        shown(
            "disk",
            "zeebe_dropped_request_count_total",
            "disk",
            Take::Growth,
        ),
        Criterion::new(
            "refusals that name the disk ÷ refusals",
            during("refused-for.disk").over(during("refused-total")),
            Limit::AtLeast(0.99),
            "×",
        ),
        Criterion::new(
            "refused creations",
            during("refused-total"),
            Limit::AtLeast(REFUSED * REFUSED_S / 4.0),
            "",
        ),
        Criterion::new(
            "lines of log while creations are refused",
            during("log-lines"),
            Limit::AtMost(LINES * REFUSED_S),
            "",
        ),
    ];
    said.chain(answered).chain(criteria).collect()
}
