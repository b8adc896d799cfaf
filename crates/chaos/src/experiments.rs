//! The experiments that come with the program. Each is a plan, made for a quick or a full run.

mod broker_loss;
mod cold_start;
mod data_availability;
mod disk_full;
mod network_cut;
mod overload;
mod scale_up;
mod slow_completion;
mod worker_outage;

use std::collections::BTreeMap;

use crate::plan::{Action, Criterion, Limit, Measure, Plan, Step, Take, Until};

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    pub name: &'static str,
    /// A summary of the steps, in a few words.
    pub about: &'static str,
    /// For a full run, or a quick one.
    pub plan: fn(bool) -> Plan,
}

/// All of them.
pub const ALL: [Experiment; 9] = [
    broker_loss::EXPERIMENT,
    cold_start::EXPERIMENT,
    data_availability::EXPERIMENT,
    disk_full::EXPERIMENT,
    network_cut::EXPERIMENT,
    overload::EXPERIMENT,
    scale_up::EXPERIMENT,
    slow_completion::EXPERIMENT,
    worker_outage::EXPERIMENT,
];

/// The one of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

fn step(name: &str, after_s: f64, action: Action) -> Step {
    Step {
        name: name.into(),
        after_s,
        action,
    }
}

fn wait(name: &str, until: Until, limit_s: f64) -> Step {
    step(name, 0.0, Action::Wait { until, limit_s })
}

fn settings(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let settings = settings.iter();
    settings
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

/// What must hold in every experiment.
fn invariants() -> Vec<Criterion> {
    let none = |name, series| Criterion::new(name, Measure::of(series), Limit::AtMost(0.0), "");
    vec![
        none("nothing that was acknowledged is lost", "ledger.lost"),
        none("nothing is created twice, or by nobody", "ledger.surplus"),
        none("no job comes again after its completion", "ledger.repeated"),
        none("every instance ends", "ledger.unfinished"),
        none("no node ends that nobody ended", "nodes-died"),
        none("every refusal says why", "refusals-without-cause"),
        none("no refusal is a fault of the server", "refusals-odd"),
        Criterion::new(
            "memory of a node",
            Measure::of("node-rss-mib").take(Take::Max),
            Limit::AtMost(650.0),
            "MiB",
        ),
    ]
}
