//! `skep status`.

mod backups;
mod draining;
mod leases;
mod problems;
mod ready;
mod reported;
mod throttled;

use clap::Args;
use serde_json::{Value, json};
use skep_client::{BrokerInfo, PartitionInfo, Topology};

use self::reported::Reported;
use crate::args::ServerArgs;
use crate::cli::change::in_words;
use crate::cli::list::again;
use crate::errors::Coded;

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Address of the server's management port, for free disk, lag, exporters and backups.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URL"
    )]
    management: String,
    /// Check only whether this node accepts work, for container health checks: exit code 0 or 1.
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    ready: bool,
    /// Repeat every two seconds, until interrupted.
    #[arg(long)]
    watch: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const COLUMNS: [&str; 9] = [
    "PARTITION",
    "NODE",
    "ROLE",
    "HEALTH",
    "PHASE",
    "LAG",
    "PROCESSED",
    "SNAPSHOT",
    "BANNED",
];

pub async fn run(args: StatusArgs) -> anyhow::Result<()> {
    if args.ready {
        return ready::run(&args.management).await;
    }
    if args.watch {
        // A cluster is watched when its nodes come and go: a node that does not answer is something to show.
        return again(true, async || {
            Ok(match shown(&args).await {
                Ok((text, _)) => text,
                Err(why) => format!("{}\n", crate::cli::with_causes(&why)),
            })
        })
        .await;
    }
    let (text, problems) = shown(&args).await?;
    crate::cli::print(&text)?;
    if problems.is_empty() {
        return Ok(());
    }
    let text = format!(
        "not healthy: {}; see {}/actuator/health and the server's log",
        problems.join("; "),
        args.management
    );
    Err(Coded::new("NOT_HEALTHY", text).into())
}

/// The text to print, and the problems found.
async fn shown(args: &StatusArgs) -> anyhow::Result<(String, Vec<String>)> {
    let topology = args.server.client().await?.topology().await?;
    let reported = Reported::of(&args.management).await;
    let mut problems = problems::problems(&topology, &reported.nodes);
    problems.extend(reported.problems.iter().cloned());
    let text = if args.json {
        format!("{:#}\n", json(&topology, &reported, &problems))
    } else {
        page(&topology, &reported, &problems)
    };
    Ok((text, problems))
}

fn json(topology: &Topology, reported: &Reported, problems: &[String]) -> Value {
    let partition = |partition: &PartitionInfo| {
        json!({
            "partitionId": partition.partition_id,
            "role": partition.role,
            "health": partition.health,
        })
    };
    let broker = |broker: &BrokerInfo| {
        let partitions: Vec<Value> = broker.partitions.iter().map(partition).collect();
        json!({
            "nodeId": broker.node_id,
            "address": format!("{}:{}", broker.host, broker.port),
            "partitions": partitions,
        })
    };
    let brokers: Vec<Value> = topology.brokers.iter().map(broker).collect();
    json!({
        "healthy": problems.is_empty(),
        "problems": problems,
        "skepVersion": topology.skep_version,
        "apiVersion": topology.gateway_version,
        "clusterSize": topology.cluster_size,
        "partitionsCount": topology.partitions_count,
        "replicationFactor": topology.replication_factor,
        "brokers": brokers,
        "nodes": reported.nodes,
        "pendingChange": reported.change,
        "leases": reported.leases,
        "backups": reported.backups,
        "managementError": reported.failure,
    })
}

fn page(topology: &Topology, reported: &Reported, problems: &[String]) -> String {
    let nodes = &reported.nodes;
    let skep = topology.skep_version.as_deref();
    let mut text = format!(
        "Skep {}, API {}, {} node(s), {} partition(s){}\n\n",
        skep.unwrap_or("of unknown version"),
        topology.gateway_version,
        topology.cluster_size,
        topology.partitions_count,
        match topology.replication_factor {
            1 => ", no copies".to_string(),
            factor => format!(", {factor} copies of each"),
        }
    );
    text.push_str(&under_way(&reported.change));
    text.push_str(&tables(&topology.brokers, nodes));
    text.push_str(&draining::lines(nodes));
    text.push_str(&throttled::lines(nodes));
    text.push_str(&leases::lines(&reported.leases));
    text.push_str(&waiting_jobs(nodes));
    text.push_str(&exporters(nodes));
    text.push_str(&busiest(nodes));
    text.push_str(&backups::line(&reported.backups));
    for (n, problem) in problems.iter().enumerate() {
        let before = if n == 0 { "\nProblems:\n" } else { "" };
        text.push_str(&format!("{before}  {problem}\n"));
    }
    text
}

/// The nodes with their disks, and the copies of each partition, one below the other.
fn tables(brokers: &[BrokerInfo], nodes: &Value) -> String {
    let mut of_nodes = vec![["NODE", "ADDRESS", "FREE DISK", "STORE"].map(String::from)];
    let mut copies = Vec::new();
    for broker in brokers {
        let details = nodes.get(broker.node_id.to_string());
        let details = details.cloned().unwrap_or_default();
        let first = details.as_object().and_then(|all| all.values().next());
        of_nodes.push([
            broker.node_id.to_string(),
            format!("{}:{}", broker.host, broker.port),
            free_disk(first),
            store(&details),
        ]);
        for partition in &broker.partitions {
            let row = row(broker, partition, nodes, &details);
            copies.push((partition.partition_id, broker.node_id, row));
        }
    }
    copies.sort_by_key(|(partition, node, _)| (*partition, *node));
    let copies = copies.into_iter().map(|(.., row)| row);
    let copies: Vec<_> = std::iter::once(COLUMNS.map(String::from))
        .chain(copies)
        .collect();
    format!(
        "{}\n{}",
        crate::cli::table(&of_nodes),
        crate::cli::table(&copies)
    )
}

fn row(
    broker: &BrokerInfo,
    partition: &PartitionInfo,
    nodes: &Value,
    details: &Value,
) -> [String; COLUMNS.len()] {
    let id = partition.partition_id.to_string();
    let of_partition = details.get(&id);
    let detail = |field: &str| match of_partition.map(|partition| &partition[field]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_string(),
    };
    [
        id.clone(),
        broker.node_id.to_string(),
        partition.role.clone(),
        partition.health.clone(),
        detail("streamProcessorPhase"),
        lag(nodes, &id, of_partition),
        detail("processedPosition"),
        detail("processedPositionInSnapshot"),
        match detail("bannedInstances") {
            none if none == "0" => "-".to_string(),
            some => some,
        },
    ]
}

/// Free disk space of a partition in a readable unit, with a mark if it is too low for new work.
fn free_disk(partition: Option<&Value>) -> String {
    let field = |name: &str| partition.map(|partition| &partition[name]);
    let low = field("diskLow").and_then(Value::as_bool) == Some(true);
    let low = if low { ", low" } else { "" };
    field("freeDiskBytes").and_then(Value::as_f64).map_or_else(
        || "-".to_string(),
        |free| format!("{:.1} GiB{low}", free / f64::from(1 << 30)),
    )
}

/// Size of the embedded secondary storage of a node's partitions.
fn store(partitions: &Value) -> String {
    let partitions = partitions.as_object().into_iter().flatten();
    let sizes = partitions.filter_map(|(_, it)| it["secondaryStorageBytes"].as_f64());
    sizes.reduce(|sum, bytes| sum + bytes).map_or_else(
        || "-".to_string(),
        |bytes| format!("{:.1} MiB", bytes / f64::from(1 << 20)),
    )
}

/// Entries that this replica lacks compared with another one.
fn lag(nodes: &Value, id: &str, partition: Option<&Value>) -> String {
    let applied = |partition: &Value| partition["appliedIndex"].as_u64();
    let copies = nodes.as_object().into_iter().flatten();
    let copies = copies.filter_map(|(_, partitions)| applied(partitions.get(id)?));
    let newest = copies.max();
    let own = partition.and_then(applied);
    newest.zip(own).map_or_else(
        || "-".to_string(),
        |(newest, own)| newest.saturating_sub(own).to_string(),
    )
}

/// Process instances that keep their partition busy, on the leading nodes; empty if there are none.
fn busiest(nodes: &Value) -> String {
    let mut rows = vec![["INSTANCE", "PARTITION", "RECORDS/S", "ELEMENTS"].map(String::from)];
    let partitions = nodes.as_object().into_iter().flatten();
    let partitions = partitions.flat_map(|(_, partitions)| partitions.as_object());
    for (partition, detail) in partitions.flatten() {
        let leads = detail["role"] == "LEADER";
        let busy = detail["busiestInstances"].as_array().filter(|_| leads);
        for one in busy.into_iter().flatten() {
            rows.push([
                one["processInstanceKey"]
                    .as_str()
                    .unwrap_or("-")
                    .to_string(),
                partition.clone(),
                one["recordsPerSecond"].to_string(),
                one["elementInstances"].to_string(),
            ]);
        }
    }
    if rows.len() == 1 {
        return String::new();
    }
    let table = crate::cli::table(&rows);
    format!("\nInstances that wrote the most records in the last seconds:\n\n{table}")
}

/// The number of jobs that no worker has, by the leaders; empty if there are none.
fn waiting_jobs(nodes: &Value) -> String {
    let partitions = nodes.as_object().into_iter().flatten();
    let partitions = partitions.flat_map(|(_, partitions)| partitions.as_object());
    let leading = partitions
        .flatten()
        .filter(|(_, detail)| detail["role"] == "LEADER");
    let count: u64 = leading
        .filter_map(|(_, detail)| detail["waitingJobs"].as_u64())
        .sum();
    match count {
        0 => String::new(),
        count => format!("\nJobs waiting for a worker: {count}\n"),
    }
}

/// Progress of each exporter of each partition; empty if unknown.
fn exporters(nodes: &Value) -> String {
    let names = [
        "EXPORTER",
        "NODE",
        "PARTITION",
        "STATE",
        "EXPORTED",
        "LAG",
        "CAUSE",
    ];
    let mut rows = vec![names.map(String::from)];
    let partitions = nodes.as_object().into_iter().flatten();
    let partitions = partitions.flat_map(|(node, partitions)| {
        let partitions = partitions.as_object().into_iter().flatten();
        partitions.map(move |(partition, detail)| (node, partition, detail))
    });
    for (node, partition, detail) in partitions {
        let exporters = detail["exporters"].as_object().into_iter().flatten();
        for (id, exporter) in exporters {
            let field = |name: &str| match &exporter[name] {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => "-".to_string(),
            };
            let cause = match exporter["failingForSeconds"].as_u64() {
                Some(seconds) => format!("for {seconds} s: {}", field("message")),
                None => "-".to_string(),
            };
            rows.push([
                id.clone(),
                node.clone(),
                partition.clone(),
                field("state"),
                field("exportedPosition"),
                field("lag"),
                cause,
            ]);
        }
    }
    if rows.len() == 1 {
        return String::new();
    }
    format!("\n{}", crate::cli::table(&rows))
}

fn under_way(pending: &Value) -> String {
    let list = |name: &str| pending.get(name).and_then(Value::as_array);
    let count = |name: &str| list(name).map_or(0, Vec::len);
    let Some(next) = list("pending").and_then(|list| list.first()) else {
        return String::new();
    };
    let id = pending.get("id").unwrap_or(&Value::Null);
    let (done, left) = (count("completed"), count("pending"));
    format!(
        "Change {id} of the cluster: {done} of {} steps done, now {}\n\n",
        done + left,
        in_words(next)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_behind_is_shown_with_how_far() {
        let nodes = serde_json::json!({
            "0": { "1": { "appliedIndex": 40, "freeDiskBytes": 3_221_225_472_u64 } },
            "1": { "1": { "appliedIndex": 33 } },
            "2": null,
        });
        let of = |node: &str| nodes[node].get("1");
        assert_eq!(lag(&nodes, "1", of("0")), "0");
        assert_eq!(lag(&nodes, "1", of("1")), "7");
        assert_eq!(lag(&nodes, "1", of("2")), "-");
        assert_eq!(lag(&nodes, "2", nodes["0"].get("2")), "-");
        assert_eq!(free_disk(of("0")), "3.0 GiB");
        assert_eq!(free_disk(of("2")), "-");
        let stored = serde_json::json!({ "secondaryStorageBytes": 2_621_440 });
        let both = serde_json::json!({ "1": stored, "2": stored });
        assert_eq!(store(&both), "5.0 MiB");
        assert_eq!(store(&nodes["0"]), "-");
        let full = serde_json::json!({ "freeDiskBytes": 1_048_576, "diskLow": true });
        assert_eq!(free_disk(Some(&full)), "0.0 GiB, low");
    }

    #[test]
    fn nodes_and_the_copies_of_each_partition_fit_a_terminal() {
        let copy = |id: i32, role: &str| PartitionInfo {
            partition_id: id,
            role: role.into(),
            health: "healthy".into(),
        };
        let node = |id: i32, roles: [&str; 2]| BrokerInfo {
            node_id: id,
            host: format!("skep-{id}.skep-headless"),
            port: 26501,
            version: "8.9.0".into(),
            partitions: vec![copy(1, roles[0]), copy(2, roles[1])],
        };
        let brokers = [
            node(0, ["leader", "follower"]),
            node(1, ["follower", "leader"]),
        ];
        let state = serde_json::json!({
            "streamProcessorPhase": "PROCESSING", "appliedIndex": 1_000, "processedPosition": 12_345_678,
            "processedPositionInSnapshot": 12_345_600, "secondaryStorageBytes": 2_621_440, "bannedInstances": 1,
            "freeDiskBytes": 3_221_225_472_u64,
        });
        let nodes = serde_json::json!({ "0": { "1": state, "2": state } });
        let shown = tables(&brokers, &nodes);
        let mut lines = shown.lines();
        assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
        assert_eq!(
            lines.next(),
            Some("NODE  ADDRESS                     FREE DISK  STORE")
        );
        assert_eq!(
            lines.next(),
            Some("0     skep-0.skep-headless:26501  3.0 GiB    5.0 MiB")
        );
        assert_eq!(
            lines.next(),
            Some("1     skep-1.skep-headless:26501  -          -")
        );
        let copies: Vec<Vec<&str>> = lines
            .skip(2)
            .map(|l| l.split_whitespace().collect())
            .collect();
        let places: Vec<[&str; 3]> = copies.iter().map(|it| [it[0], it[1], it[2]]).collect();
        let expected = [
            ["1", "0", "leader"],
            ["1", "1", "follower"],
            ["2", "0", "follower"],
            ["2", "1", "leader"],
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn waiting_jobs_are_counted_by_the_leaders() {
        let copy =
            |role: &str, waiting: u32| serde_json::json!({ "role": role, "waitingJobs": waiting });
        let nodes = serde_json::json!({
            "0": { "1": copy("LEADER", 3), "2": copy("FOLLOWER", 50) },
            "1": { "1": copy("FOLLOWER", 2), "2": copy("LEADER", 40) },
            "2": null,
        });
        assert_eq!(waiting_jobs(&nodes), "\nJobs waiting for a worker: 43\n");
        assert_eq!(
            waiting_jobs(&serde_json::json!({ "0": { "1": copy("LEADER", 0) } })),
            ""
        );
    }

    #[test]
    fn a_change_under_way_is_shown() {
        assert_eq!(under_way(&Value::Null), "");
        let pending = serde_json::json!({
            "id": 4,
            "completed": [{ "operation": "BROKER_ADD", "brokerId": 1 }],
            "pending": [{ "operation": "PARTITION_JOIN", "brokerId": 1, "partitionId": 2 }, { "operation": "BROKER_REMOVE" }],
        });
        let expected =
            "Change 4 of the cluster: 1 of 3 steps done, now node 1 joins partition 2\n\n";
        assert_eq!(under_way(&pending), expected);
    }

    #[test]
    fn instances_that_keep_a_partition_busy_are_named_where_it_is_led() {
        let busy = serde_json::json!([
            { "processInstanceKey": "2251799813685251", "recordsPerSecond": 260_000, "elementInstances": 1_200_000 },
        ]);
        let nodes = serde_json::json!({
            "0": { "1": { "role": "LEADER", "busiestInstances": busy } },
            "1": { "1": { "role": "FOLLOWER", "busiestInstances": busy } },
            "2": null,
        });
        let shown = busiest(&nodes);
        let named = shown
            .lines()
            .filter(|line| line.starts_with("2251799813685251"));
        let words: Vec<Vec<&str>> = named.map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(words, [["2251799813685251", "1", "260000", "1200000"]]);
        assert_eq!(
            busiest(&serde_json::json!({"0": {"1": {"role": "LEADER"}}})),
            ""
        );
    }

    #[test]
    fn exporters_are_shown_with_their_failures() {
        let details = serde_json::json!({ "0": { "1": { "exporters": {
            "search": {
                "state": "FAILING", "exportedPosition": 7, "lag": 35, "failingForSeconds": 12, "message": "http://s: refused",
            },
            "secondary-storage": { "state": "EXPORTING", "exportedPosition": 42, "lag": 0 },
        } } }, "1": null });
        let shown = exporters(&details);
        let lines: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let failing = [
            "search",
            "0",
            "1",
            "FAILING",
            "7",
            "35",
            "for",
            "12",
            "s:",
            "http://s:",
            "refused",
        ];
        assert_eq!(lines[2], failing);
        assert_eq!(
            lines[3],
            ["secondary-storage", "0", "1", "EXPORTING", "42", "0", "-"]
        );
        assert_eq!(exporters(&Value::Null), "");
    }
}
