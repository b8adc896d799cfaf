//! Metrics of the nodes and of their processes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use skep_load::server::usage;

use super::availability::Availability;
use super::commits::Commits;
use super::metric::{label, value};
use super::shares::Shares;
use super::{exports, float, leases, sizes};
use crate::drivers::{Cluster, Node};
use crate::http::{Kept, Rest};

/// Metric families to record; those that begin with `zeebe_` exist in this engine and in the reference.
const FAMILIES: [&str; 26] = [
    CPU_SECONDS,
    PERIODS,
    RESIDENT,
    THROTTLED,
    "atomix_heartbeat_miss_count_total",
    "atomix_journal_flush_time_seconds_count",
    "atomix_journal_flush_time_seconds_sum",
    "process_cpu_usage",
    "skep_disk_free_bytes",
    "skep_disk_needed_bytes",
    "skep_element_instances",
    "skep_exporter_failing",
    "skep_gateway_new_work_slots",
    PROVIDER,
    "skep_jobs_activatable",
    "skep_state_resident_bytes",
    "zeebe_backpressure_inflight_append_count",
    "zeebe_backpressure_inflight_requests_count",
    "zeebe_backpressure_requests_limit",
    "zeebe_broker_jobs_push_fail_count_total",
    "zeebe_broker_jobs_pushed_count_total",
    "zeebe_dropped_request_count_total",
    "zeebe_exporter_last_exported_position",
    "zeebe_log_appender_last_committed_position",
    "zeebe_pending_incidents",
    "zeebe_received_request_count_total",
];

/// Series that count the lines of a family which contain a text; an empty text is in all of them.
const LABELLED: [(&str, &str, &str); 13] = [
    ("exported-by-sink", EXPORTED, "exporter=\"sink\""),
    (
        "exported-by-storage",
        EXPORTED,
        "exporter=\"secondary-storage\"",
    ),
    ("jobs-created", JOBS, "action=\"created\""),
    ("jobs-completed", JOBS, "action=\"completed\""),
    ("jobs-failed", JOBS, "action=\"failed\""),
    ("jobs-timed-out", JOBS, "action=\"timed out\""),
    ("job-polls", REQUESTS, "uri=\"/v2/jobs/activation\""),
    ("requests", REQUESTS, ""),
    ("rest-commands", REQUESTS, CREATION),
    ("rest-commands", REQUESTS, COMPLETION),
    ("rest-seconds", REQUEST_SECONDS, CREATION),
    ("rest-seconds", REQUEST_SECONDS, COMPLETION),
    ("rest-stage-seconds", STAGES, "protocol=\"rest\""),
];
/// What nodes say of their processes, for those that are not on this machine.
pub(super) const CPU_SECONDS: &str = "process_cpu_seconds_total";
pub(super) const PROVIDER: &str = "skep_identity_provider_up";
pub(super) const RESIDENT: &str = "process_resident_memory_bytes";
const PERIODS: &str = "skep_cpu_periods_total";
pub(super) const THROTTLED: &str = "skep_cpu_throttled_periods_total";
const EXPORTED: &str = "zeebe_exporter_last_exported_position";
const JOBS: &str = "zeebe_job_events_total";
const REQUESTS: &str = "http_server_requests_seconds_count";
const REQUEST_SECONDS: &str = "http_server_requests_seconds_sum";
const STAGES: &str = "skep_request_stage_seconds_sum";
/// What a run sends to partitions: creations of instances and completions of jobs.
const CREATION: &str = "uri=\"/v2/process-instances\"";
const COMPLETION: &str = "uri=\"/v2/jobs/{jobKey}/completion\"";

/// A node that does not answer within this time has no values in this sample; its answer is in the sample during which it comes.
const LIMIT: Duration = Duration::from_millis(800);
/// The same for nodes that are not on this machine: samples come further apart rather than without one of them.
const ELSEWHERE: Duration = Duration::from_millis(2_500);

/// A node in its current state.
#[derive(Clone, Debug)]
pub struct Seen {
    pub number: u32,
    pub pid: Option<i32>,
    pub management: Rest,
    /// The number of cores that it may use, if that is limited.
    pub quota: Option<f64>,
    /// Its log.
    pub log: PathBuf,
    /// Its data directory, if it is on this machine.
    pub data: Option<PathBuf>,
}

impl Seen {
    /// Time limit for its metrics.
    fn limit(&self) -> Duration {
        self.pid.map_or(ELSEWHERE, |_| LIMIT)
    }

    pub fn of(cluster: &Cluster, node: &Node) -> Self {
        Self {
            number: node.number,
            pid: node.process().map(|process| process.pid),
            management: cluster.management(node),
            quota: node.quota(),
            log: node.log.clone(),
            data: node.data(),
        }
    }
}

/// The previous look at the nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Process, time and CPU seconds, by node.
    before: BTreeMap<u32, (Option<i32>, Instant, f64)>,
    /// Periods of its CPU limit, and those of them in which it used the limit up, by node.
    periods: BTreeMap<u32, (f64, f64)>,
    gateways: Shares,
    partitions: Shares,
    commits: Commits,
    availability: Availability,
    /// Connections to the management ports, by address.
    ports: BTreeMap<String, Kept>,
    /// The bytes of each log that were read, and their lines.
    logs: BTreeMap<u32, (u64, u64)>,
}

impl Nodes {
    /// Samples all series. Blocks until the nodes have answered, each for a moment at most.
    pub fn look(&mut self, nodes: &[Seen], values: &mut BTreeMap<String, f64>) {
        let texts = self.ask(nodes);
        self.note(nodes, texts, values);
    }

    /// The metrics of each node, if it answers.
    fn ask(&mut self, nodes: &[Seen]) -> Vec<Option<String>> {
        let ports = nodes.iter().map(|node| {
            let port = &node.management;
            let known = self.ports.remove_entry(&port.address);
            known.unwrap_or_else(|| (port.address.clone(), Kept::to(port.clone())))
        });
        let mut ports: Vec<(String, Kept)> = ports.collect();
        let texts = std::thread::scope(|scope| {
            let each = nodes.iter().zip(&mut ports);
            let asked = each.map(|(node, (_, port))| {
                let limit = node.limit();
                scope.spawn(move || metrics(port, limit))
            });
            let asked: Vec<_> = asked.collect();
            let answers = asked.into_iter().map(|it| it.join().ok().flatten());
            answers.collect()
        });
        self.ports.extend(ports);
        texts
    }

    fn note(
        &mut self,
        nodes: &[Seen],
        texts: Vec<Option<String>>,
        values: &mut BTreeMap<String, f64>,
    ) {
        for (node, text) in nodes.iter().zip(&texts) {
            let own = |name: &str| format!("node{}.{name}", node.number);
            for (name, value) in text.iter().flat_map(|text| families(text)) {
                values.insert(own(name), value);
            }
            self.process(node, values, own);
            self.throttling(node, values);
        }
        if let Some(lines) = self.log_lines(nodes) {
            values.insert("log-lines".into(), float(lines));
        }
        leases::note(texts.iter().flatten(), values);
        let texts: Option<Vec<String>> = texts.into_iter().collect();
        if let Some(texts) = texts {
            self.note_all(nodes, &texts, values);
        }
        cores_of_all(nodes, values);
        sizes::note(nodes, values);
    }

    /// Sums and shares of all nodes. Without the answer of one of them, they would be those of other nodes than a second before.
    fn note_all(&mut self, nodes: &[Seen], texts: &[String], values: &mut BTreeMap<String, f64>) {
        let mut answered = BTreeMap::new();
        for (node, text) in nodes.iter().zip(texts) {
            let families = families(text);
            // Nobody has asked a node that does not count requests.
            let requests = families.get("requests").copied().unwrap_or(0.0);
            answered.insert(node.number, requests);
            for (name, value) in families {
                *values.entry(name.to_string()).or_default() += value;
            }
        }
        let now = Instant::now();
        if let Some((busiest, _)) = self.gateways.compare(now, answered) {
            values.insert("busiest-gateway".into(), busiest);
        }
        if let Some((busiest, idlest)) = self.partitions.compare(now, jobs_created(texts)) {
            values.insert("busiest-partition".into(), busiest);
            values.insert("idlest-partition".into(), idlest);
        }
        if let Some(lag) = exports::lag(texts) {
            values.insert("export-lag".into(), lag);
        }
        if let Some(p99) = self.commits.p99_ms(texts) {
            values.insert("commit-p99-ms".into(), p99);
        }
        if let Some(mean) = self.availability.mean_ms(texts) {
            values.insert("available-mean-ms".into(), mean);
        }
    }

    /// The share of the periods since the last look in which the node used its CPU limit up.
    fn throttling(&mut self, node: &Seen, values: &mut BTreeMap<String, f64>) {
        let own = |name: &str| values.get(&format!("node{}.{name}", node.number)).copied();
        let Some(now) = own(PERIODS).zip(own(THROTTLED)) else {
            return;
        };
        if let Some(before) = self.periods.insert(node.number, now)
            // Another process begins again.
            && before.1 <= now.1
            && before.0 < now.0
        {
            let share = (now.1 - before.1) / (now.0 - before.0);
            values.insert(format!("node{}.throttled", node.number), share);
        }
    }

    /// Lines in the logs of these nodes; `None` for a foreign cluster.
    fn log_lines(&mut self, nodes: &[Seen]) -> Option<u64> {
        let mut lines = None;
        for node in nodes {
            let (read, known) = self.logs.entry(node.number).or_default();
            let Ok(mut log) = File::open(&node.log) else {
                continue;
            };
            let mut new = Vec::new();
            let begin = log.seek(SeekFrom::Start(*read));
            if begin.and_then(|_| log.read_to_end(&mut new)).is_ok() {
                *read += u64::try_from(new.len()).unwrap_or(u64::MAX);
                let ends = new.iter().filter(|byte| **byte == b'\n').count();
                *known += u64::try_from(ends).unwrap_or(u64::MAX);
            }
            lines = Some(lines.unwrap_or(0) + *known);
        }
        lines
    }

    fn process(
        &mut self,
        node: &Seen,
        values: &mut BTreeMap<String, f64>,
        own: impl Fn(&str) -> String,
    ) {
        let Some((rss_bytes, cpu_seconds)) = used(node, values, &own) else {
            return;
        };
        let rss = rss_bytes / float(1 << 20);
        values.insert(own("rss-mib"), rss);
        let most = values.entry("node-rss-mib".into()).or_default();
        *most = most.max(rss);
        let now = (node.pid, Instant::now(), cpu_seconds);
        if let Some((pid, at, cpu)) = self.before.insert(node.number, now)
            // Another process begins again.
            && pid == node.pid
            && cpu <= cpu_seconds
        {
            let seconds = now.1.saturating_duration_since(at).as_secs_f64().max(1e-9);
            let cores = (cpu_seconds - cpu) / seconds;
            values.insert(own("cores"), cores);
        }
    }
}

/// Resident bytes and CPU seconds of a node's process.
fn used(
    node: &Seen,
    values: &BTreeMap<String, f64>,
    own: impl Fn(&str) -> String,
) -> Option<(f64, f64)> {
    if let Some(pid) = node.pid {
        let usage = usage(&pid.to_string())?;
        return Some((float(usage.rss_bytes), usage.cpu_seconds));
    }
    let said = |name: &str| values.get(&own(name)).copied();
    Some((said(RESIDENT)?, said(CPU_SECONDS)?))
}

/// Cores of all nodes together, and the share of their quotas that nodes with one used.
fn cores_of_all(nodes: &[Seen], values: &mut BTreeMap<String, f64>) {
    let cores = |node: &Seen| values.get(&format!("node{}.cores", node.number)).copied();
    let each: Vec<Option<f64>> = nodes.iter().map(cores).collect();
    let all: Option<f64> = each.iter().copied().sum();
    let (mut limited, mut quotas) = (0.0_f64, 0.0_f64);
    for (node, cores) in nodes.iter().zip(&each) {
        if let (Some(quota), Some(cores)) = (node.quota, cores) {
            limited += cores;
            quotas += quota;
        }
    }
    if let Some(all) = all.filter(|_| !nodes.is_empty()) {
        values.insert("nodes-cores".into(), all);
    }
    if quotas > 0.0 {
        values.insert("quota-used".into(), limited / quotas);
    }
}

/// Jobs created in each partition, summed over the nodes.
fn jobs_created(texts: &[String]) -> BTreeMap<u32, f64> {
    let mut created = BTreeMap::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        if !line.starts_with(JOBS) || !line.contains("action=\"created\"") {
            continue;
        }
        let partition = label(line, "partition").and_then(|it| it.parse().ok());
        if let (Some(partition), Some(value)) = (partition, value(line)) {
            *created.entry(partition).or_default() += value;
        }
    }
    created
}

fn metrics(port: &mut Kept, limit: Duration) -> Option<String> {
    let answer = port.ask("GET", "/actuator/prometheus", "", limit);
    let (status, text) = answer.ok()?;
    (status == 200).then_some(text)
}

/// The recorded families, each summed over its labels, and the labels that are series of their own.
fn families(text: &str) -> BTreeMap<&'static str, f64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let wholes = FAMILIES.iter().filter(|known| **known == name);
        let wholes = wholes.map(|family| (*family, true));
        let parts = LABELLED.iter().filter(|(_, family, _)| *family == name);
        // An event that never happened has no line; it counts as zero if its family is present.
        let parts = parts.map(|(series, _, label)| (*series, line.contains(label)));
        let value = line.rsplit('}').next().unwrap_or(line);
        let value = value.strip_prefix(name).unwrap_or(value);
        let number = value.split_whitespace().next();
        let Some(number) = number.and_then(|number| number.parse::<f64>().ok()) else {
            continue;
        };
        for (series, counts) in wholes.chain(parts) {
            *found.entry(series).or_default() += if counts { number } else { 0.0 };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::fake;

    fn seen(number: u32, quota: Option<f64>) -> Seen {
        Seen {
            number,
            pid: None,
            management: Rest::open(""),
            quota,
            log: PathBuf::new(),
            data: None,
        }
    }

    /// Where one node alone answered, it was the busiest by as much as the mean, which is itself.
    #[test]
    fn without_the_answer_of_a_node_there_are_neither_sums_nor_shares() {
        let nodes = [0, 1, 2].map(|number| seen(number, None));
        let mut probe = Nodes::default();
        let mut look = |texts: [Option<String>; 3]| {
            let mut values = BTreeMap::new();
            probe.note(&nodes, texts.into(), &mut values);
            let series = ["requests", "busiest-gateway", "node0.requests"];
            series.map(|name| values.get(name).copied())
        };
        let of = |requests: u32| Some(format!("{REQUESTS}{{uri=\"/v2/topology\"}} {requests}\n"));
        // The last one has not been asked for anything yet.
        let none = || Some(String::new());
        let begun = look([of(100), of(100), none()]);
        assert_eq!(begun, [Some(200.0), None, Some(100.0)]);
        let alone = look([of(900), None, None]);
        assert_eq!(alone, [None, None, Some(900.0)]);
        let all = look([of(1000), of(100), none()]);
        assert_eq!(all, [Some(1100.0), Some(3.0), Some(1000.0)]);
    }

    #[test]
    fn a_node_is_asked_again_and_again_over_one_connection() {
        let address = fake::serve(1, |_, _| format!("{REQUESTS}{{uri=\"/\"}} 7\n"));
        let node = Seen {
            management: Rest::open(&address),
            ..seen(0, None)
        };
        let mut probe = Nodes::default();
        for _ in 0..2 {
            let mut values = BTreeMap::new();
            probe.look(std::slice::from_ref(&node), &mut values);
            assert_eq!(values.get("requests"), Some(&7.0));
        }
    }

    #[test]
    fn the_share_of_throttled_periods_is_that_since_the_last_look() {
        let nodes = [seen(1, None)];
        let mut probe = Nodes::default();
        let mut look = |periods: u32, throttled: u32| {
            let text = format!("{PERIODS} {periods}\n{THROTTLED} {throttled}\n");
            let mut values = BTreeMap::new();
            probe.note(&nodes, vec![Some(text)], &mut values);
            values.get("node1.throttled").copied()
        };
        assert_eq!(look(100, 50), None);
        assert_eq!(look(200, 75), Some(0.25));
        assert_eq!(look(200, 75), None, "no period has passed");
        assert_eq!(look(10, 5), None, "it has been started again");
    }

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
        assert_eq!(found.get("jobs-completed"), Some(&9.0));
        assert_eq!(found.get("jobs-timed-out"), Some(&0.0));
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn commands_are_counted_without_other_requests() {
        let line = |metric: &str, uri: &str, value: u32| {
            format!("{metric}{{{uri},status=\"200\"}} {value}\n")
        };
        let other = "uri=\"/v2/process-instances/search\"";
        let requests = [(CREATION, 5), (COMPLETION, 4), (other, 9)];
        let of = |metric: &'static str| requests.map(|(uri, value)| line(metric, uri, value));
        let stages = format!(
            "{STAGES}{{protocol=\"rest\",stage=\"route\"}} 1\n{STAGES}{{protocol=\"rest\",stage=\"fsync\"}} 2\n\
             {STAGES}{{protocol=\"grpc\",stage=\"fsync\"}} 7\n"
        );
        let text = of(REQUESTS).concat() + &of(REQUEST_SECONDS).concat() + &stages;
        let found = families(&text);
        let series = ["rest-commands", "rest-seconds", "rest-stage-seconds"];
        assert_eq!(
            series.map(|name| found.get(name).copied()),
            [Some(9.0), Some(9.0), Some(3.0)]
        );
        assert_eq!(found.get("requests"), Some(&18.0));
    }

    #[test]
    fn a_node_elsewhere_says_itself_what_it_uses() {
        let node = seen(2, None);
        let own = |name: &str| format!("node2.{name}");
        let mut values = BTreeMap::new();
        let mut nodes = Nodes::default();
        nodes.process(&node, &mut values, own);
        assert!(values.is_empty(), "it has not answered");
        values.insert(own(RESIDENT), f64::from(64 << 20));
        values.insert(own(CPU_SECONDS), 5.0);
        nodes.process(&node, &mut values, own);
        assert_eq!(values.get("node2.rss-mib"), Some(&64.0));
        assert_eq!(values.get("node-rss-mib"), Some(&64.0));
        assert_eq!(values.get("node2.cores"), None);
        values.insert(own(CPU_SECONDS), 7.0);
        nodes.process(&node, &mut values, own);
        assert!(values.get("node2.cores").is_some_and(|cores| *cores > 0.0));
        // It has been started again.
        values.remove("node2.cores");
        values.insert(own(CPU_SECONDS), 0.5);
        nodes.process(&node, &mut values, own);
        assert_eq!(values.get("node2.cores"), None);
    }

    #[test]
    fn jobs_of_a_partition_are_summed_over_the_nodes_that_led_it() {
        let line = |action: &str, partition: u32, count: u32| {
            format!(
                "zeebe_job_events_total{{action=\"{action}\",partition=\"{partition}\"}} {count}\n"
            )
        };
        let one = line("created", 1, 5) + &line("completed", 1, 3);
        let two = line("created", 1, 2) + &line("created", 2, 4);
        assert_eq!(jobs_created(&[one, two]), [(1, 7.0), (2, 4.0)].into());
    }

    #[test]
    fn the_share_of_quotas_is_that_of_nodes_with_one() {
        let nodes = [seen(0, Some(0.5)), seen(1, Some(0.5)), seen(2, None)];
        let mut values = BTreeMap::new();
        cores_of_all(&nodes, &mut values);
        assert!(values.is_empty(), "nothing is known yet");
        for (node, cores) in [(0, 0.5), (1, 0.25)] {
            values.insert(format!("node{node}.cores"), cores);
        }
        cores_of_all(&nodes, &mut values);
        assert_eq!(values.get("nodes-cores"), None, "one is not known");
        values.insert("node2.cores".into(), 1.0);
        cores_of_all(&nodes, &mut values);
        assert_eq!(values.get("nodes-cores"), Some(&1.75));
        assert_eq!(values.get("quota-used"), Some(&0.75));
    }
}
