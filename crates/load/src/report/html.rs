//! The report as a self-contained HTML page.

use std::fmt::Write as _;

use super::{
    Report, Sample, TransportResult,
    plot::{Line, Plot, STYLE, escape},
    text::mib,
};
use crate::args::TransportArg;

/// Name, dashed, value.
type Series = (&'static str, bool, fn(&Sample) -> Option<f64>);

fn color(transport: TransportArg) -> &'static str {
    match transport {
        TransportArg::Rest => "#0b7fab",
        TransportArg::Grpc => "#d1652a",
    }
}

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        let mut out = String::new();
        // writing to a String cannot fail
        let _ = self.page(&mut out);
        out
    }

    fn page(&self, out: &mut String) -> std::fmt::Result {
        write!(
            out,
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>skep load</title><style>{STYLE}</style></head><body><h1>skep load</h1><p>{}</p>",
            escape(&self.headline())
        )?;
        if let Some(comparison) = &self.comparison {
            write!(out, "<h2>REST ÷ gRPC</h2><table>")?;
            for (name, value) in comparison.lines() {
                write!(out, "<tr><td>{name}</td><td>{value}</td></tr>")?;
            }
            write!(out, "</table>")?;
        }
        for result in &self.results {
            result.section(out)?;
        }
        write!(out, "<h2>Over time</h2>")?;
        for plot in self.plots_over_time() {
            out.push_str(&plot.to_html());
        }
        write!(out, "<h2>Latency percentiles</h2>")?;
        out.push_str(&self.percentiles("Creation", |r| &r.create.curve));
        out.push_str(&self.percentiles("Whole instance", |r| &r.instance.curve));
        out.push_str(&self.percentiles("Each job", |r| &r.job.curve));
        let settings = serde_json::to_string_pretty(&self.settings).unwrap_or_default();
        write!(
            out,
            "<h2>Settings</h2><pre>{}</pre></body></html>",
            escape(&settings)
        )
    }

    fn plots_over_time(&self) -> Vec<Plot<'static>> {
        vec![
            self.over_time(
                "Throughput",
                "instances/s",
                &[
                    ("completed", false, |s| Some(s.completed_per_second)),
                    ("started", true, |s| Some(s.started_per_second)),
                ],
            ),
            self.over_time(
                "Creation latency",
                "ms",
                &[
                    ("p99", false, |s| Some(s.create_p99_ms)),
                    ("p50", true, |s| Some(s.create_p50_ms)),
                ],
            ),
            self.over_time(
                "Instance latency",
                "ms",
                &[
                    ("p99", false, |s| Some(s.instance_p99_ms)),
                    ("p50", true, |s| Some(s.instance_p50_ms)),
                ],
            ),
            self.over_time(
                "Open instances",
                "instances",
                &[("open", false, |s| Some(f64_of(s.open)))],
            ),
            self.over_time(
                "Longest-waiting job",
                "ms",
                &[("waiting", false, |s| Some(s.oldest_waiting_ms))],
            ),
            self.over_time("Server CPU", "cores", &[("CPU", false, |s| s.server_cores)]),
            self.over_time(
                "Server memory",
                "MiB",
                &[("RSS", false, |s| s.server_rss_bytes.map(mib))],
            ),
        ]
    }

    fn over_time(
        &self,
        title: &'static str,
        y_name: &'static str,
        series: &[Series],
    ) -> Plot<'static> {
        let mut lines = Vec::new();
        for result in &self.results {
            for (name, dashed, value) in series {
                lines.push(Line {
                    name: format!("{} {name}", result.transport.name()),
                    color: color(result.transport),
                    dashed: *dashed,
                    points: result
                        .samples
                        .iter()
                        .filter_map(|sample| Some((sample.at_seconds, value(sample)?)))
                        .collect(),
                });
            }
        }
        Plot {
            title,
            x_name: "seconds",
            y_name,
            lines,
            x_ticks: Vec::new(),
            marks: &[],
        }
    }

    /// Latency over percentiles, with equal width for each additional nine.
    fn percentiles(&self, title: &str, curve: fn(&TransportResult) -> &Vec<(f64, f64)>) -> String {
        let nines = |quantile: f64| -(1.0 - quantile).log10();
        let lines: Vec<_> = self
            .results
            .iter()
            .map(|result| Line {
                name: result.transport.name().into(),
                color: color(result.transport),
                dashed: false,
                points: curve(result).iter().map(|p| (nines(p.0), p.1)).collect(),
            })
            .collect();
        let end = lines
            .iter()
            .flat_map(|line| line.points.iter())
            .fold(0.0, |end: f64, point| end.max(point.0));
        let x_ticks = [
            (0.0, "min"),
            (nines(0.5), "50 %"),
            (1.0, "90 %"),
            (2.0, "99 %"),
            (3.0, "99.9 %"),
            (4.0, "99.99 %"),
        ]
        .into_iter()
        .filter(|tick| tick.0 <= end)
        .map(|tick| (tick.0, tick.1.to_owned()))
        .collect();
        let plot = Plot {
            title,
            x_name: "percentile",
            y_name: "ms",
            lines,
            x_ticks,
            marks: &[],
        };
        plot.to_html()
    }
}

impl TransportResult {
    fn section(&self, out: &mut String) -> std::fmt::Result {
        let counts = &self.counts;
        write!(
            out,
            "<h2>{}: {:.0} instances/s completed</h2><table><tr><th>ms</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>max</th><th>count</th></tr>",
            self.transport.name(),
            self.completed_per_second
        )?;
        for (name, l) in self.latencies() {
            write!(
                out,
                "<tr><td>{name}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td><td>{}</td></tr>",
                l.p50_ms, l.p90_ms, l.p99_ms, l.p999_ms, l.max_ms, l.count
            )?;
        }
        write!(out, "</table><table>")?;
        let mut rows: Vec<(&str, String)> = vec![
            ("measured", format!("{:.1} s", self.measured_seconds)),
            (
                "started / completed",
                format!("{} / {}", counts.started, counts.completed),
            ),
            (
                "starts rejected / timed out / failed / unsent",
                format!(
                    "{} / {} / {} / {}",
                    counts.start_rejections,
                    counts.start_timeouts,
                    counts.start_failures,
                    counts.unsent
                ),
            ),
            (
                "jobs received / completed",
                format!("{} / {}", counts.jobs_received, counts.jobs_completed),
            ),
            ("duplicate jobs", counts.duplicates.to_string()),
            (
                "completions retried / timed out / gone / failed",
                format!(
                    "{} / {} / {} / {}",
                    counts.completion_retries,
                    counts.completion_timeouts,
                    counts.jobs_gone,
                    counts.completion_failures
                ),
            ),
            (
                "longest-waiting job",
                format!("{:.0} ms", self.oldest_waiting_job_ms),
            ),
            (
                "instances lost / open at the end",
                format!("{} / {}", counts.lost, self.open_at_end),
            ),
        ];
        if let Some(server) = &self.server {
            rows.push((
                "server CPU per 1000 instances",
                format!("{:.1} ms", server.cpu_ms_per_1000_instances),
            ));
            rows.push((
                "server RSS (max)",
                format!(
                    "{:.1} MiB ({:.1})",
                    mib(server.rss_bytes),
                    mib(server.rss_max_bytes)
                ),
            ));
        }
        for (name, value) in rows {
            write!(out, "<tr><td>{name}</td><td>{value}</td></tr>")?;
        }
        for (name, value) in self.server_counters.iter().flatten() {
            write!(
                out,
                "<tr><td>server: {}</td><td>{value:.0}</td></tr>",
                escape(name)
            )?;
        }
        for (message, count) in &self.messages {
            write!(out, "<tr><td>{}</td><td>{count}</td></tr>", escape(message))?;
        }
        write!(out, "</table>")
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn f64_of(count: u64) -> f64 {
    count as f64
}
