//! The built-in experiments. Each is a plan, for a quick or a full run.

mod blind_spots;
mod broker_loss;
mod cold_start;
mod cpu_budget;
mod data_availability;
mod disks;
mod executor_sweep;
mod exporter_cost;
mod gateways;
mod job_streams;
mod lease_loss;
mod memory;
mod network_cut;
mod overload;
mod query_honesty;
mod region_loss;
mod rest_vs_grpc;
mod rto;
mod scaling;
mod search_outage;
mod second_exporter;
mod slow_completion;
mod soak;
mod tokens;
mod worker_outage;

use std::collections::BTreeMap;

use crate::plan::{Action, Criterion, Limit, Measure, Plan, Request, Step, Take, Until};

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    pub name: &'static str,
    /// A summary of the steps, in a few words.
    pub about: &'static str,
    /// The plan: `true` for a full run, `false` for a quick one.
    pub plan: fn(bool) -> Plan,
}

/// All experiments.
pub const ALL: [Experiment; 33] = [
    blind_spots::EXPERIMENT,
    broker_loss::EXPERIMENT,
    cold_start::EXPERIMENT,
    cpu_budget::EXPERIMENT,
    data_availability::EXPERIMENT,
    disks::disk_full::EXPERIMENT,
    disks::disks_full::EXPERIMENT,
    executor_sweep::EXPERIMENT,
    exporter_cost::EXPERIMENT,
    gateways::gateway_loss::EXPERIMENT,
    gateways::gateway_skew::EXPERIMENT,
    job_streams::EXPERIMENT,
    lease_loss::EXPERIMENT,
    memory::memory_ladder::EXPERIMENT,
    memory::million_live::EXPERIMENT,
    network_cut::EXPERIMENT,
    disks::network_disk::EXPERIMENT,
    overload::EXPERIMENT,
    query_honesty::EXPERIMENT,
    region_loss::EXPERIMENT,
    rest_vs_grpc::EXPERIMENT,
    rto::EXPERIMENT,
    scaling::scale_linear::EXPERIMENT,
    scaling::scale_under_restarts::EXPERIMENT,
    scaling::scale_up::EXPERIMENT,
    search_outage::EXPERIMENT,
    second_exporter::EXPERIMENT,
    slow_completion::EXPERIMENT,
    disks::slow_disk::EXPERIMENT,
    soak::EXPERIMENT,
    tokens::token_expiry::EXPERIMENT,
    tokens::token_keys::EXPERIMENT,
    worker_outage::EXPERIMENT,
];

/// The experiment with this name.
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

/// Requests this number of partitions on the same nodes.
fn scale(partitions: u32) -> Action {
    Action::Scale {
        partitions,
        nodes: None,
    }
}

fn settings(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let settings = settings.iter();
    settings
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

/// Settings for a disk of about 200 MiB that can be filled up.
fn small_disk() -> BTreeMap<String, String> {
    settings(&[
        (
            "camunda.data.primary-storage.disk.free-space.processing",
            "64MB",
        ),
        (
            "camunda.data.primary-storage.disk.free-space.replication",
            "24MB",
        ),
        (
            "camunda.data.primary-storage.disk.monitoring-interval",
            "50ms",
        ),
        (
            "camunda.data.primary-storage.log-stream.log-segment-size",
            "4MB",
        ),
        ("skep.data.snapshot-log-size", "8MB"),
    ])
}

/// Waits until a restarted node is ready.
fn ready() -> Step {
    let request = Request {
        node: 0,
        management: true,
        method: "GET".into(),
        path: "/actuator/health/readiness".into(),
        body: String::new(),
        status: 200,
        says: String::new(),
    };
    wait("ready", Until::Answer(request), 60.0)
}

/// Criteria that must hold in every experiment.
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
            "less than 0.9 of the load: time until a metric names the cause",
            Measure::of("unnamed-s").take(Take::Max),
            Limit::AtMost(5.0),
            "s",
        )
        .timed(),
        Criterion::new(
            "memory of a node",
            Measure::of("node-rss-mib").take(Take::Max),
            Limit::AtMost(650.0),
            "MiB",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_experiment_is_in_the_documentation_and_has_its_last_run_or_none() {
        let page = include_str!("../../../docs/chaos.md");
        let runs = include_str!("../../../docs/chaos/last-runs.md");
        for Experiment { name, .. } in ALL {
            let row = format!("\n| `{name}` |");
            assert!(page.contains(&row), "{name} is not in docs/chaos.md");
            let quoted = format!("`{name}`");
            assert!(runs.contains(&quoted), "{name} is not in last-runs.md");
        }
    }

    /// The leader of a single partition is always spread evenly, and a criterion about that could not be refuted.
    #[test]
    fn leaders_are_judged_to_be_even_only_where_there_are_several() {
        let mut judged = 0;
        for plan in ALL.iter().flat_map(|it| [false, true].map(it.plan)) {
            let waits = plan.steps.iter().filter(|step| {
                let Action::Wait { until, .. } = &step.action else {
                    return false;
                };
                *until == Until::Even
            });
            let waits: Vec<String> = waits.map(|step| format!("{}.seconds", step.name)).collect();
            let mut criteria = plan.criteria.iter();
            if criteria.any(|it| waits.contains(&it.measure.of)) {
                assert!(plan.nodes.partitions > 1, "{}", plan.name);
                judged += 1;
            }
        }
        assert!(judged > 0, "no plan judges it");
    }

    /// `.ci/chaos-keep` writes them; the table is written by hand.
    #[test]
    fn kept_reports_are_short_and_have_the_verdict_of_the_table() {
        /// Bytes of a report.
        const MOST: usize = 8 << 10;
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/chaos");
        let runs = include_str!("../../../docs/chaos/last-runs.md");
        let mut seen = 0;
        for entry in std::fs::read_dir(kept).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "txt") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(find(name).is_some(), "there is no experiment {name}");
            let report = std::fs::read_to_string(&path).unwrap();
            assert!(report.len() <= MOST, "{name}: {} bytes", report.len());
            let verdicts = ["HELD", "REFUTED", "NOT RUN"];
            let begins = |it: &&&str| report.starts_with(&format!("{name}: {it} ("));
            let verdict = verdicts.iter().find(begins);
            let verdict = verdict.unwrap_or_else(|| panic!("the report of {name} has no verdict"));
            let link = format!("\n| [`{name}`]({name}.txt) | ");
            let row = runs.split_once(&link).map(|(_, row)| row);
            let row = row.unwrap_or_else(|| panic!("no row of last-runs.md has {name}.txt"));
            let said = row.trim_start_matches('*');
            assert!(said.starts_with(verdict), "{name}: {verdict} in its report");
            seen += 1;
        }
        assert!(seen > 0, "no report is kept");
    }
}
