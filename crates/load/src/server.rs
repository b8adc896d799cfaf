//! Figures of the server's machine and management port: CPU, memory, counters.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Linux reports the CPU time of processes to user space in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resource usage of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Usage {
    /// CPU time so far, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
}

/// Reads `/proc`; `None` if there is no such process or no such file system.
pub fn usage(pid: &str) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_usage(&stat, &status)
}

fn parse_usage(stat: &str, status: &str) -> Option<Usage> {
    // the name in parentheses may hold spaces; utime and stime are fields 14 and 15
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    let rss = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?
        .split_whitespace()
        .next()?;
    Some(Usage {
        cpu_seconds: ticks / TICKS_PER_SECOND,
        rss_bytes: rss.parse::<u64>().ok()?.saturating_mul(1024),
    })
}

/// Counters of the server whose growth is reported, with their names on the server.
const COUNTERS: [(&str, &str, &str); 5] = [
    ("requests_dropped", "zeebe_dropped_request_count_total", ""),
    (
        "jobs_timed_out",
        "zeebe_job_events_total",
        "action=\"timed out\"",
    ),
    ("jobs_pushed", "zeebe_broker_jobs_pushed_count_total", ""),
    (
        "push_failures",
        "zeebe_broker_jobs_push_fail_count_total",
        "",
    ),
    (
        "instances_completed",
        "zeebe_executed_instances_total",
        "action=\"completed\"",
    ),
];

/// Counter values by our names.
pub type Counters = BTreeMap<String, f64>;

/// Reads the counters; `None` when the management port does not answer.
pub async fn counters(address: &str) -> Option<Counters> {
    let text = tokio::time::timeout(Duration::from_secs(2), scrape(address)).await;
    Some(parse_counters(&text.ok()?.ok()?))
}

/// One plain HTTP/1.0 exchange, at most 16 MiB.
async fn scrape(address: &str) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET /actuator/prometheus HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(16 << 20).read_to_string(&mut answer).await?;
    Ok(answer)
}

fn parse_counters(text: &str) -> Counters {
    let mut counters = Counters::new();
    for line in text.lines() {
        for (ours, name, label) in COUNTERS {
            let Some(rest) = line.strip_prefix(name) else {
                continue;
            };
            if !rest.starts_with(['{', ' ']) || !rest.contains(label) {
                continue;
            }
            let value = rest.rsplit('}').next().unwrap_or(rest);
            let number = value.split_whitespace().next();
            if let Some(number) = number.and_then(|number| number.parse::<f64>().ok()) {
                *counters.entry(ours.to_owned()).or_default() += number;
            }
        }
    }
    counters
}

/// The growth of the counters.
pub fn growth(before: &Counters, after: &Counters) -> Counters {
    after
        .iter()
        .map(|(name, value)| {
            let grown = value - before.get(name).copied().unwrap_or(0.0);
            (name.clone(), grown.max(0.0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_and_memory_are_read_whatever_the_process_is_called() {
        let stat = "42 (a) b) c) S 1 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 1 1 1";
        let status = "Name:\tx\nVmRSS:\t   2048 kB\n";
        let usage = parse_usage(stat, status).unwrap();
        assert!((usage.cpu_seconds - 2.0).abs() < 1e-9);
        assert_eq!(usage.rss_bytes, 2 << 20);
        assert_eq!(parse_usage("", ""), None);
    }

    #[test]
    fn counters_are_summed_over_their_labels() {
        let text = "# TYPE zeebe_job_events_total counter\n\
            zeebe_job_events_total{action=\"timed out\",partition=\"1\"} 3\n\
            zeebe_job_events_total{action=\"timed out\",partition=\"2\"} 4.0 1700000000\n\
            zeebe_job_events_total{action=\"created\",partition=\"2\"} 100\n\
            zeebe_dropped_request_count_total_other 7\n\
            zeebe_broker_jobs_pushed_count_total 5\n";
        let after = parse_counters(text);
        assert_eq!(after.get("jobs_timed_out"), Some(&7.0));
        assert_eq!(after.get("jobs_pushed"), Some(&5.0));
        assert_eq!(after.get("requests_dropped"), None);
        let before = Counters::from([("jobs_timed_out".to_owned(), 2.0)]);
        assert_eq!(growth(&before, &after).get("jobs_timed_out"), Some(&5.0));
    }
}
