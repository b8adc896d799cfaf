//! The database of secondary storage fails under load, in two manners, and returns to a backlog; then for so long that the backlog reaches
//! its bound.

use super::{Experiment, invariants, ready, settings, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, Step, StoreKind, StoreState,
    Take, Until, Window,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "search-outage",
    about: "the database of secondary storage stops, then accepts connections but never answers, then stops with a bound of the backlog, under load",
    plan,
};

/// Instances per second.
const RATE: f64 = 100.0;

/// Each outage, with the step at which it ends.
const AWAY: [(&str, StoreState, &str); 2] = [
    ("stopped", StoreState::Stopped, "back-1"),
    ("silent", StoreState::Silent, "back-2"),
];

/// The node's name of the exporter that fills the database; refusals at the bound contain it.
const STORAGE: &str = "secondary-storage";

/// Records that may wait for an exporter, and how many are written per second beyond.
const BOUND: [(&str, &str); 4] = [
    ("enabled", "true"),
    ("acceptable-backlog", "2000"),
    ("minimum-limit", "100"),
    ("resolution", "1s"),
];

/// Seconds until the backlog is at its bound.
const REACHED: f64 = 10.0;

/// The database is away until the backlog has reached its bound.
fn at_the_bound(long: f64) -> Vec<Step> {
    let named = BOUND.map(|(name, value)| {
        let name = format!("camunda.processing.flow-control.write.throttle.{name}");
        (name, value)
    });
    let named = named
        .each_ref()
        .map(|(name, value)| (name.as_str(), *value));
    let settings = settings(&named);
    vec![
        step("stop", long, Action::StopLoad),
        step("bound", 2.0, Action::Settings { node: 0, settings }),
        ready(),
        step("again", 0.0, Action::Load(Rate::PerSecond(RATE))),
        step("full", 5.0, Action::Store(StoreState::Stopped)),
        step("back-3", long, Action::Store(StoreState::Serves)),
        wait("released", Until::RateIs(0.95), 120.0),
    ]
}

fn long(full: bool) -> f64 {
    if full { 300.0 } else { 20.0 }
}

fn plan(full: bool) -> Plan {
    let long = long(full);
    let found = Request {
        node: 0,
        management: false,
        method: "POST".into(),
        path: "/v2/process-instances/search".into(),
        body: r#"{"page": {"limit": 1}}"#.into(),
        status: 200,
        says: String::new(),
    };
    let mut steps = vec![
        step("store", 0.0, Action::Store(StoreState::Serves)),
        wait("ready", Until::Answer(found.clone()), 60.0),
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for (name, state, back) in AWAY {
        steps.push(step(name, long, Action::Store(state)));
        steps.push(step(back, long, Action::Store(StoreState::Serves)));
        steps.push(wait("searched", Until::Answer(found.clone()), 60.0));
    }
    steps.extend(at_the_bound(long));
    steps.push(wait("searched", Until::Answer(found), 60.0));
    steps.push(step("end", 5.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "While the database of secondary storage is away, work continues as before, and the log keeps what is not searchable \
                     yet; other exporters do not notice. Once the database is back, searches are answered at once, and the backlog is exported \
                     alongside new work. Where the backlog has a bound, new work is slowed down there, and refusals name the exporter."
            .into(),
        nodes: Nodes {
            store: Some(StoreKind::Postgres),
            sink: true,
            ..Nodes::default()
        },
        words: vec![STORAGE.into()],
        steps,
        drain_s: 60.0,
        criteria: criteria(long),
    }
}

fn criteria(long: f64) -> Vec<Criterion> {
    let outages = AWAY.into_iter();
    let mut criteria: Vec<Criterion> = outages
        .flat_map(|(name, _, back)| during(name, back, long))
        .collect();
    criteria.extend([
        Criterion::new(
            "searches are answered again after",
            Measure::of("searched.seconds"),
            Limit::AtMost(5.0),
            "s",
        ),
        Criterion::new(
            "refused below the bound",
            Measure::of("refused-total")
                .take(Take::Growth)
                .between("base", "stop"),
            Limit::AtMost(0.0),
            "",
        ),
    ]);
    criteria.extend(bounded());
    criteria.extend(invariants());
    criteria
}

/// Criteria of the outage in which the backlog reaches its bound.
fn bounded() -> [Criterion; 4] {
    let full = |series: &str, take| Measure::of(series).take(take).between("full", "back-3");
    [
        Criterion::new(
            "at the bound: creations ÷ those asked for",
            full("created-per-s", Take::Mean)
                .skip(REACHED)
                .over(full("offered-per-s", Take::Mean)),
            Limit::AtMost(0.5),
            "×",
        ),
        Criterion::new(
            "at the bound: refusals that name the exporter",
            full(&format!("refused-for.{STORAGE}"), Take::Growth),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "at the bound: free space ÷ its reserve",
            full("skep_disk_free_bytes", Take::Min).over(full("skep_disk_needed_bytes", Take::Max)),
            Limit::AtLeast(1.0),
            "×",
        ),
        Criterion::new(
            "at the bound: full rate after the database is back",
            Measure::of("released.seconds"),
            Limit::AtMost(5.0),
            "s",
        )
        .timed(),
    ]
}

/// Criteria of one outage, and of an equally long time afterwards.
fn during(name: &str, back: &str, long: f64) -> [Criterion; 5] {
    const EXPORTED: &str = "exported-by-storage";
    const WRITTEN: &str = "zeebe_log_appender_last_committed_position";
    let here = |series: &str, take| Measure::of(series).take(take).between(name, back);
    let before = Measure::of("create-p99-ms").take(Take::Median);
    let before = before.between("base", "stopped").skip(3.0);
    let afterwards = |series: &str| {
        let mut measure = Measure::of(series).take(Take::Growth);
        measure.window = Some(Window {
            from: back.into(),
            to: None,
            skip_s: 0.0,
            for_s: Some(long),
        });
        measure
    };
    [
        Criterion::new(
            &format!("{name}: creations ÷ those asked for"),
            here("created-per-s", Take::Mean).over(here("offered-per-s", Take::Mean)),
            Limit::AtLeast(0.97),
            "×",
        )
        .timed()
        .post("drop at once"),
        Criterion::new(
            &format!("{name}: p99 of a creation ÷ that before"),
            here("create-p99-ms", Take::Median).over(before),
            Limit::AtMost(1.3),
            "×",
        )
        .timed(),
        // The database is indeed unavailable.
        Criterion::new(
            &format!("{name}: records that were exported meanwhile"),
            here(EXPORTED, Take::Growth).over(here("completed-total", Take::Growth)),
            Limit::AtMost(5.0),
            "per instance",
        ),
        Criterion::new(
            &format!("{name}: exported to another server ÷ written"),
            here("exported-by-sink", Take::Growth).over(here(WRITTEN, Take::Growth)),
            Limit::AtLeast(0.9),
            "×",
        )
        .timed(),
        Criterion::new(
            &format!("{name}: exported ÷ written, once the database is back"),
            afterwards(EXPORTED).over(afterwards(WRITTEN)),
            Limit::AtLeast(1.8),
            "×",
        )
        .timed(),
    ]
}
