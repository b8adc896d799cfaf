//! A turn: one build starts in an empty directory, gets its load, and ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use skep_load::LoadArgs;
use skep_load::args::{HttpArg, TransportArg};

use super::{Figures, Options};
use crate::drivers::{Cluster, Launcher, Network, Node, SharedGuard};
use crate::http;
use crate::plan::Nodes;
use crate::probes::float;

/// Time limit for the start and for the end of a build.
pub(super) const START: Duration = Duration::from_secs(60);
pub(super) const END: Duration = Duration::from_secs(60);
/// Interval between two checks whether it has started.
const LOOK: Duration = Duration::from_millis(5);
const READY: &str = "/actuator/health/readiness";

pub(super) fn interface(load: &LoadArgs) -> String {
    match (load.transport, load.http) {
        (TransportArg::Grpc, _) => "gRPC".into(),
        (TransportArg::Rest, HttpArg::One) => "REST over HTTP/1.1".into(),
        (TransportArg::Rest, HttpArg::Two) => "REST over HTTP/2".into(),
    }
}

pub(super) async fn take(
    build: PathBuf,
    options: &Options,
    guard: SharedGuard,
) -> anyhow::Result<Figures> {
    let directory = options.directory.clone();
    let begin = Instant::now();
    let started = tokio::task::spawn_blocking({
        let (build, directory) = (build.clone(), directory.clone());
        let nodes = Nodes {
            settings: options.settings.clone(),
            ..Nodes::default()
        };
        move || {
            let launcher = Launcher::of(build);
            let mut cluster =
                Cluster::start(&nodes, Network::default(), &launcher, directory, guard)?;
            wait_until_ready(&mut cluster)?;
            Ok::<_, std::io::Error>(cluster)
        }
    });
    let log = || {
        let log = directory.join("node-0.log");
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("nothing").to_string();
        format!(
            "{} does not start; the end of its log: {last}",
            build.display()
        )
    };
    let mut cluster = started.await?.with_context(log)?;
    let start_ms = begin.elapsed().as_secs_f64() * 1e3;
    let measured = measure(&cluster, options, start_ms).await;
    tokio::task::spawn_blocking(move || cluster.end(0, true)).await??;
    std::fs::remove_dir_all(options.directory.join("nodes"))?;
    measured.with_context(|| build.display().to_string())
}

fn wait_until_ready(cluster: &mut Cluster) -> std::io::Result<()> {
    let address = cluster.management_addresses().join("");
    let end = Instant::now() + START;
    loop {
        let answer = http::ask(&address, "GET", READY, "", START);
        if answer.is_ok_and(|(status, _)| status == 200) {
            return Ok(());
        }
        if cluster.died().nodes > 0 {
            return Err(std::io::Error::other("it ended"));
        }
        if Instant::now() >= end {
            let limit = START.as_secs();
            return Err(std::io::Error::other(format!(
                "it is not ready in {limit} s"
            )));
        }
        std::thread::sleep(LOOK);
    }
}

async fn measure(cluster: &Cluster, options: &Options, start_ms: f64) -> anyhow::Result<Figures> {
    let node = cluster.nodes().first().context("there is no node")?;
    let pid = node.process().context("the node has ended")?.pid;
    let args = LoadArgs {
        rest_address: Some(node.rest.clone()),
        grpc_address: Some(node.grpc.clone()),
        management_address: Some(node.management.clone()),
        pid: Some(u32::try_from(pid)?),
        ..options.load.clone()
    };
    let report = skep_load::run(args).await?;
    let result = report.results.first().context("nothing was measured")?;
    let server = result.server.context("the use of CPU was not measured")?;
    anyhow::ensure!(
        result.counts.completed > 0,
        "no instance completed in {:.0} s",
        result.measured_seconds
    );
    let all = completed_in_all(node).unwrap_or(result.counts.completed);
    Ok(Figures {
        throughput: result.completed_per_second,
        create_p99_ms: result.create.p99_ms,
        cpu_us_per_instance: server.cpu_ms_per_1000_instances,
        written_kib_per_instance: of_process(pid, "io", "write_bytes:").unwrap_or(0.0)
            / 1024.0
            / float(all.max(1)),
        peak_rss_mib: of_process(pid, "status", "VmHWM:").context("memory of the node")? / 1024.0,
        start_ms,
    })
}

/// The total number of completed instances, including those before and after the measured time.
fn completed_in_all(node: &Node) -> Option<u64> {
    let (_, text) = http::ask(&node.management, "GET", "/actuator/prometheus", "", START).ok()?;
    completed(&text)
}

fn completed(metrics: &str) -> Option<u64> {
    let lines = metrics.lines().filter(|line| {
        line.starts_with("zeebe_executed_instances_total{") && line.contains("action=\"completed\"")
    });
    let counts = lines.map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum::<Option<u64>>().filter(|count| *count > 0)
}

/// Reads a number from a file of `/proc`.
fn of_process(pid: i32, file: &str, name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_counted_over_all_partitions() {
        let metrics = "zeebe_executed_instances_total{action=\"completed\",partition=\"1\"} 40\n\
            zeebe_executed_instances_total{action=\"activated\",partition=\"1\"} 99\n\
            zeebe_executed_instances_total{action=\"completed\",partition=\"2\"} 2\n";
        assert_eq!(completed(metrics), Some(42));
        assert_eq!(completed(""), None);
    }

    #[test]
    fn the_status_of_a_process_is_read_from_proc() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(of_process(own, "status", "VmHWM:").unwrap() > 0.0);
        assert_eq!(of_process(own, "status", "Nothing:"), None);
    }
}
