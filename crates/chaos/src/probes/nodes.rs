//! Metrics of the nodes and of their processes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use skep_load::server::usage;

use super::float;
use crate::drivers::Node;
use crate::http;

/// Metric families to record; those that begin with `zeebe_` exist in this engine and in the reference.
const FAMILIES: [&str; 10] = [
    "skep_disk_free_bytes",
    "skep_disk_needed_bytes",
    "skep_gateway_new_work_slots",
    "zeebe_backpressure_inflight_requests_count",
    "zeebe_backpressure_requests_limit",
    "zeebe_broker_jobs_push_fail_count_total",
    "zeebe_dropped_request_count_total",
    "zeebe_exporter_last_exported_position",
    "zeebe_log_appender_last_committed_position",
    "zeebe_pending_incidents",
];

/// Series that count a single label of a family.
const LABELLED: [(&str, &str, &str); 1] =
    [("jobs-failed", "zeebe_job_events_total", "action=\"failed\"")];

/// A node that does not answer within this time has no values for this second.
const LIMIT: Duration = Duration::from_millis(800);

/// A node in its current state.
#[derive(Clone, Debug)]
pub struct Seen {
    pub number: u32,
    pub pid: Option<i32>,
    pub management: String,
}

impl Seen {
    pub fn of(node: &Node) -> Self {
        Self {
            number: node.number,
            pid: node.process().map(|process| process.pid),
            management: node.management.clone(),
        }
    }
}

/// The previous look at the nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Process, time and CPU seconds, by node.
    before: BTreeMap<u32, (Option<i32>, Instant, f64)>,
}

impl Nodes {
    /// Samples all series. Blocks until the nodes have answered, each for a moment at most.
    pub fn look(&mut self, nodes: &[Seen], values: &mut BTreeMap<String, f64>) {
        let texts: Vec<Option<String>> = std::thread::scope(|scope| {
            let asked: Vec<_> = nodes
                .iter()
                .map(|node| scope.spawn(|| metrics(&node.management)))
                .collect();
            let answers = asked.into_iter().map(|it| it.join().ok().flatten());
            answers.collect()
        });
        for (node, text) in nodes.iter().zip(texts) {
            let own = |name: &str| format!("node{}.{name}", node.number);
            for (name, value) in text.iter().flat_map(|text| families(text)) {
                *values.entry(name.to_string()).or_default() += value;
                values.insert(own(name), value);
            }
            self.process(node, values, own);
        }
    }

    fn process(
        &mut self,
        node: &Seen,
        values: &mut BTreeMap<String, f64>,
        own: impl Fn(&str) -> String,
    ) {
        let Some(usage) = node.pid.and_then(|pid| usage(&pid.to_string())) else {
            return;
        };
        let rss = float(usage.rss_bytes) / float(1 << 20);
        values.insert(own("rss-mib"), rss);
        let most = values.entry("node-rss-mib".into()).or_default();
        *most = most.max(rss);
        let now = (node.pid, Instant::now(), usage.cpu_seconds);
        if let Some((pid, at, cpu)) = self.before.insert(node.number, now)
            && pid == node.pid
        {
            let seconds = now.1.saturating_duration_since(at).as_secs_f64().max(1e-9);
            let cores = (usage.cpu_seconds - cpu) / seconds;
            values.insert(own("cores"), cores);
        }
    }
}

fn metrics(address: &str) -> Option<String> {
    let answer = http::ask(address, "GET", "/actuator/prometheus", "", LIMIT);
    let (status, text) = answer.ok()?;
    (status == 200).then_some(text)
}

/// The recorded families, each summed over its labels, and the labels that are series of their own.
fn families(text: &str) -> BTreeMap<&'static str, f64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let whole = FAMILIES.iter().find(|known| **known == name);
        let part = LABELLED.iter().find(|(_, family, _)| *family == name);
        let (series, counts) = match (whole, part) {
            (Some(family), _) => (*family, true),
            // An event that never happened has no line; it counts as zero if its family is present.
            (None, Some((series, _, label))) => (*series, line.contains(label)),
            (None, None) => continue,
        };
        let value = line.rsplit('}').next().unwrap_or(line);
        let value = value.strip_prefix(name).unwrap_or(value);
        let number = value.split_whitespace().next();
        if let Some(number) = number.and_then(|number| number.parse::<f64>().ok()) {
            *found.entry(series).or_default() += if counts { number } else { 0.0 };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_summed_over_their_labels() {
        let text = "# HELP zeebe_pending_incidents x\nzeebe_pending_incidents{partition=\"1\"} 2\n\
            zeebe_pending_incidents{partition=\"2\"} 3 1700000000\nskep_disk_free_bytes 7e6\nzeebe_other 1\n\
            zeebe_job_events_total{action=\"failed\"} 4\nzeebe_job_events_total{action=\"completed\"} 9\n";
        let none = families("zeebe_job_events_total{action=\"completed\"} 9\n");
        assert_eq!(none.get("jobs-failed"), Some(&0.0));
        let found = families(text);
        assert_eq!(found.get("zeebe_pending_incidents"), Some(&5.0));
        assert_eq!(found.get("skep_disk_free_bytes"), Some(&7e6));
        assert_eq!(found.get("jobs-failed"), Some(&4.0));
        assert_eq!(found.len(), 3);
    }
}
