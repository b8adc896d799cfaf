//! The human-readable summary.

use std::fmt::Write as _;

use super::{Comparison, LatencySummary, Report, TransportResult};
use crate::args::JobsArg;

impl Report {
    /// The summary that the command prints.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // writing to a String cannot fail
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}", self.headline())?;
        for result in &self.results {
            writeln!(out)?;
            result.write(out)?;
        }
        if let Some(comparison) = &self.comparison {
            writeln!(out)?;
            comparison.write(out)?;
        }
        Ok(())
    }

    /// One line that describes the run.
    pub(super) fn headline(&self) -> String {
        let settings = &self.settings;
        let load = match &settings.rate {
            Some(rate) => format!("open loop at {rate}/s"),
            None if settings.concurrency == 0 => "workers alone".to_string(),
            None => format!("closed loop of {}", settings.concurrency),
        };
        let jobs = match settings.jobs {
            JobsArg::Push => "pushed",
            JobsArg::Poll => "polled",
        };
        format!(
            "{} · {load} · {} job(s) per instance, {jobs}, {} ms each · {} bytes of variables",
            self.process_id, self.jobs_per_instance, settings.handle_ms, settings.payload,
        )
    }
}

impl TransportResult {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let counts = &self.counts;
        writeln!(
            out,
            "{}: {:.0} instances/s completed ({} in {:.1} s), {:.0}/s started",
            self.transport.name(),
            self.completed_per_second,
            counts.completed,
            self.measured_seconds,
            self.started_per_second,
        )?;
        writeln!(
            out,
            "  {:<16}{:>10}{:>10}{:>10}{:>10}{:>10}  ms",
            "", "p50", "p90", "p99", "p99.9", "max"
        )?;
        for (name, latency) in self.latencies() {
            writeln!(
                out,
                "  {name:<16}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10.2}",
                latency.p50_ms, latency.p90_ms, latency.p99_ms, latency.p999_ms, latency.max_ms,
            )?;
        }
        writeln!(
            out,
            "  starts: {} rejected, {} timed out, {} failed, {} due but unsent",
            counts.start_rejections, counts.start_timeouts, counts.start_failures, counts.unsent,
        )?;
        writeln!(
            out,
            "  jobs: {} received, {} completed, {} duplicates, {} completions retried, {} timed out, {} gone, {} failed, {} interruptions",
            counts.jobs_received,
            counts.jobs_completed,
            counts.duplicates,
            counts.completion_retries,
            counts.completion_timeouts,
            counts.jobs_gone,
            counts.completion_failures,
            counts.interruptions,
        )?;
        writeln!(
            out,
            "  oldest waiting job {:.0} ms; {} instances lost, {} open at the end, {} jobs of others",
            self.oldest_waiting_job_ms, counts.lost, self.open_at_end, counts.foreign_jobs,
        )?;
        self.write_found(out)?;
        self.write_server(out)?;
        writeln!(
            out,
            "  load generator: {:.1} CPU µs per instance",
            self.tool_cpu_us_per_instance
        )?;
        for (message, count) in &self.messages {
            writeln!(out, "  {count} × {message}")?;
        }
        Ok(())
    }

    /// Results of searching for created instances.
    fn write_found(&self, out: &mut String) -> std::fmt::Result {
        let (counts, found) = (&self.counts, self.found.count);
        if found + counts.not_found + counts.search_failures == 0 {
            return Ok(());
        }
        writeln!(
            out,
            "  looked for {} instances: {} not found, {} searches failed",
            found + counts.not_found,
            counts.not_found,
            counts.search_failures,
        )
    }

    /// Resource usage and counters of the server.
    fn write_server(&self, out: &mut String) -> std::fmt::Result {
        if let Some(server) = &self.server {
            writeln!(
                out,
                "  server: {:.1} CPU ms per 1000 instances ({:.2} cores), RSS {:.1} MiB (max {:.1})",
                server.cpu_ms_per_1000_instances,
                server.cpu_seconds / self.measured_seconds,
                mib(server.rss_bytes),
                mib(server.rss_max_bytes),
            )?;
        }
        if let Some(counters) = &self.server_counters {
            let list: Vec<_> = counters
                .iter()
                .map(|(name, value)| format!("{name} {value:.0}"))
                .collect();
            writeln!(out, "  server counters: {}", list.join(", "))?;
        }
        Ok(())
    }

    /// The measured distributions with their names.
    pub(super) fn latencies(&self) -> impl Iterator<Item = (&'static str, &LatencySummary)> {
        [
            ("create", &self.create),
            ("instance", &self.instance),
            ("job", &self.job),
            ("job delivery", &self.job_delivery),
            ("job completion", &self.job_completion),
            ("until found", &self.found),
        ]
        .into_iter()
        .filter(|(_, latency)| latency.count > 0)
    }
}

impl Comparison {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        for (name, value) in self.lines() {
            writeln!(out, "REST ÷ gRPC  {name}: {value}")?;
        }
        Ok(())
    }

    /// Names and values.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let ratio =
            |r: &super::Ratio| format!("{:.3} (pairs {:.3} to {:.3})", r.overall, r.min, r.max);
        let mut lines = vec![("throughput", ratio(&self.throughput))];
        if let Some(cpu) = &self.server_cpu_per_instance {
            lines.push(("server CPU per instance", ratio(cpu)));
        }
        lines.push(("p99 of create", format!("{:.3}", self.create_p99)));
        lines.push(("p99 of instance", format!("{:.3}", self.instance_p99)));
        lines
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory sizes are below 2^53")]
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
