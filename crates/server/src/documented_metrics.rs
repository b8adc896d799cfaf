//! Checks docs/metrics.md against the metrics that the crates declare, and both against the reference: names, types and labels.

use std::collections::{BTreeMap, BTreeSet};

use skep_broker::metrics::BrokerMetrics;
use skep_gateway::GatewayMetrics;
use skep_metrics::{Declared, Kind};

use crate::node_metrics::NodeFamilies;
use crate::process::ProcessFamilies;

const PAGE: &str = include_str!("../../../docs/metrics.md");

/// Names in the tables of docs/metrics.md whose second column is `here`.
pub fn documented(here: &str) -> Vec<&'static str> {
    let rows = PAGE.lines().filter_map(|row| {
        let mut cells = row.strip_prefix("| `")?.split('|');
        let name = cells.next()?.trim().strip_suffix('`')?;
        (cells.next()?.trim() == here).then_some(name)
    });
    rows.collect()
}

fn declared() -> impl Iterator<Item = &'static Declared> {
    BrokerMetrics::declared()
        .chain(GatewayMetrics::declared())
        .chain(ProcessFamilies::DECLARED)
        .chain(NodeFamilies::DECLARED)
}

#[test]
fn exactly_the_declared_metrics_are_documented() {
    let (own, named): (BTreeSet<String>, BTreeSet<String>) = declared()
        .map(Declared::exposed_name)
        .partition(|name| name.starts_with("skep_"));
    let yes: BTreeSet<String> = documented("yes").into_iter().map(String::from).collect();
    assert_eq!(named, yes, "declared, and `yes` in docs/metrics.md");
    let quoted = PAGE.split('`').skip(1).step_by(2);
    let quoted = quoted.filter_map(|text| text.split(['{', ' ']).next());
    let documented: BTreeSet<String> = quoted
        .filter(|name| name.starts_with("skep_") && *name != "skep_")
        .map(String::from)
        .collect();
    assert_eq!(own, documented, "our own, and those of docs/metrics.md");
    for metric in declared().filter(|metric| metric.name.starts_with("skep_")) {
        let labels = metric.labels.join(",");
        let name = metric.exposed_name();
        let full = format!("`{name}{{{labels}}}`");
        let per_partition = metric.labels == ["partition"] && PAGE.contains(&format!("`{name}`"));
        assert!(PAGE.contains(&full) || per_partition, "{full}");
    }
}

#[test]
fn no_name_is_declared_twice() {
    let mut seen = BTreeSet::new();
    for metric in declared() {
        assert!(seen.insert(metric.name), "{}", metric.name);
        assert!(!metric.help.is_empty(), "{}", metric.name);
    }
}

/// The metrics in the reference: type and labels, by name.
fn reference(text: &str) -> BTreeMap<&str, (&str, Vec<&str>)> {
    let rows = text.lines().filter_map(|row| row.strip_prefix("| `"));
    let rows = rows.filter_map(|row| {
        let (name, rest) = row.split_once("` | ")?;
        let mut cells = rest.split(" | ");
        let (kind, labels) = (cells.next()?, cells.next()?);
        (!name.contains('`')).then(|| (name, (kind, labels_of(labels))))
    });
    rows.collect()
}

/// The label names in `partition, context (userCommand, scheduled)`.
fn labels_of(cell: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = cell.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    let names = outside.filter_map(|label| label.split_whitespace().next());
    names.filter(|name| *name != "–").collect()
}

#[test]
fn the_names_of_labels_are_read() {
    assert_eq!(labels_of("–"), [""; 0]);
    assert_eq!(
        labels_of("partition, context (a, b), outcome"),
        ["partition", "context", "outcome"]
    );
}

#[test]
fn every_metric_of_the_reference_is_accounted_for() {
    let facts = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/api/metrics.md"))
        .find(|file| file.is_file());
    let Some(facts) = facts else {
        // Bypasses the test harness, which hides the output of passing tests.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"NOT RUN (facts): shared/api/metrics.md is missing beside the repository\n",
        );
        return;
    };
    let text = std::fs::read_to_string(facts).unwrap();
    let reference = reference(&text);
    assert!(reference.len() > 100, "{}", reference.len());
    let accounted: Vec<&str> = ["yes", "not yet", "never"]
        .into_iter()
        .flat_map(documented)
        .collect();
    for name in reference.keys() {
        assert!(accounted.contains(name), "{name} is not in docs/metrics.md");
    }
    let mut wrong = Vec::new();
    for metric in declared() {
        let name = metric.exposed_name();
        let Some((kind, labels)) = reference.get(&*name) else {
            continue;
        };
        let ours = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let mut labels = labels.clone();
        let mut our_labels = metric.labels.to_vec();
        labels.sort_unstable();
        our_labels.sort_unstable();
        if !kind.starts_with(ours) || labels != our_labels {
            wrong.push(format!(
                "{name}: {kind} {labels:?}, here {ours} {our_labels:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
