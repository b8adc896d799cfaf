//! The database of secondary storage fails under load, in two manners, and returns to a backlog.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Request, StoreKind, StoreState, Take,
    Until, Window,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "search-outage",
    about: "the database of secondary storage stops, then accepts connections but never answers, under load",
    plan,
};

/// Instances per second.
const RATE: f64 = 100.0;

/// Each outage, with the step at which it ends.
const AWAY: [(&str, StoreState, &str); 2] = [
    ("stopped", StoreState::Stopped, "back-1"),
    ("silent", StoreState::Silent, "back-2"),
];

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
    steps.push(step("end", long, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "While the database of secondary storage is away, work continues as before, and the log keeps what is not searchable \
                     yet. Once the database is back, searches are answered at once, and the backlog is exported alongside new work."
            .into(),
        nodes: Nodes {
            store: Some(StoreKind::Postgres),
            ..Nodes::default()
        },
        words: Vec::new(),
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
            "refused",
            Measure::of("refused-total").take(Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
    ]);
    criteria.extend(invariants());
    criteria
}

/// Criteria of one outage, and of an equally long time afterwards.
fn during(name: &str, back: &str, long: f64) -> [Criterion; 4] {
    const EXPORTED: &str = "zeebe_exporter_last_exported_position";
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
            &format!("{name}: exported ÷ written, once the database is back"),
            afterwards(EXPORTED).over(afterwards(WRITTEN)),
            Limit::AtLeast(1.8),
            "×",
        )
        .timed(),
    ]
}
