//! The report as a self-contained HTML page.

use std::fmt::Write as _;

use skep_load::report::plot::{Line, Plot, STYLE, escape};

use super::Report;
use crate::judge::Verdict;
use crate::record::Kind;

const COLOURS: [&str; 6] = [
    "#0b7fab", "#d1652a", "#4c9a2a", "#8a5bb5", "#b5862b", "#c23b5e",
];
const MORE: &str = "body{max-width:960px}.held{color:#2b7a2b}.refuted{color:#c02020;font-weight:600}.not-run{color:#9a6b00}\
table{font-size:.93em}td{vertical-align:top}td.name{text-align:left;max-width:26em}.steps td{text-align:left}pre{overflow-x:auto;font-size:.85em}\
@media(prefers-color-scheme:dark){.held{color:#6cc36c}.refuted{color:#ff7b7b}.not-run{color:#e0b040}}";

/// Title, unit, divisor, and the series with their names; `node*` stands for each node.
type Panel = (
    &'static str,
    &'static str,
    f64,
    &'static [(&'static str, &'static str)],
);

const MIB: f64 = 1_048_576.0;
const PANELS: [Panel; 13] = [
    (
        "Throughput",
        "instances/s",
        1.0,
        &[
            ("created-per-s", "created"),
            ("completed-per-s", "completed"),
            ("offered-per-s", "asked for"),
        ],
    ),
    (
        "Latency of creations",
        "ms",
        1.0,
        &[("create-p99-ms", "p99"), ("create-p50-ms", "p50")],
    ),
    (
        "Latency of instances",
        "ms",
        1.0,
        &[("instance-p99-ms", "p99"), ("instance-p50-ms", "p50")],
    ),
    (
        "Time until a search finds an instance",
        "ms",
        1.0,
        &[("found-p99-ms", "p99"), ("found-p50-ms", "p50")],
    ),
    (
        "Longest time without creations in a partition",
        "ms",
        1.0,
        &[("create-gap-ms", "gap")],
    ),
    (
        "Creations that were not taken",
        "per s",
        1.0,
        &[
            ("refused-per-s", "refused for back-pressure"),
            ("failed-per-s", "failed otherwise"),
        ],
    ),
    (
        "Instances under way",
        "instances",
        1.0,
        &[("open", "under way")],
    ),
    (
        "CPU",
        "cores",
        1.0,
        &[("node*.cores", "node *"), ("tool-cores", "clients")],
    ),
    (
        "Periods in which a CPU limit was used up",
        "share",
        1.0,
        &[("node*.throttled", "node *")],
    ),
    (
        "Memory",
        "MiB",
        1.0,
        &[("node*.rss-mib", "node *"), ("tool-memory-mib", "clients")],
    ),
    (
        "Requests within the server",
        "requests",
        1.0,
        &[
            ("zeebe_backpressure_inflight_requests_count", "in flight"),
            ("zeebe_backpressure_requests_limit", "limit"),
        ],
    ),
    (
        "Not exported yet",
        "records",
        1.0,
        &[("export-lag", "the slowest exporter")],
    ),
    (
        "Free disk",
        "MiB",
        MIB,
        &[
            ("node*.skep_disk_free_bytes", "node *"),
            ("node0.skep_disk_needed_bytes", "needed"),
        ],
    ),
];

/// The page of one run, or of several side by side.
pub fn page(reports: &[&Report]) -> String {
    let mut out = String::new();
    // writing to a String cannot fail
    let _ = write_page(&mut out, reports);
    out
}

fn write_page(out: &mut String, reports: &[&Report]) -> std::fmt::Result {
    let names: Vec<&str> = reports
        .iter()
        .map(|report| report.plan.name.as_str())
        .collect();
    write!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>skep chaos: {}</title><style>{STYLE}{MORE}</style></head><body>",
        escape(&names.join(", "))
    )?;
    for report in reports {
        head(out, report)?;
    }
    for report in reports {
        for panel in &PANELS {
            out.push_str(&plot(panel, report).unwrap_or_default());
        }
    }
    for report in reports {
        write!(
            out,
            "<h2>Plan</h2><pre>{}</pre>",
            escape(&report.plan.to_yaml())
        )?;
    }
    out.push_str("</body></html>\n");
    Ok(())
}

fn head(out: &mut String, report: &Report) -> std::fmt::Result {
    // An empty column is left out.
    let posts = report.judged.iter().any(|it| it.criterion.post.is_some());
    let posts = |cell: String| if posts { cell } else { String::new() };
    write!(
        out,
        "<h1>{}: <span class=\"{}\">{}</span></h1><p>{}</p><p>{}</p><h2>Criteria</h2><table><tr><th>Criterion</th><th>measured</th><th>wanted</th>{}<th></th></tr>",
        escape(&report.plan.name),
        class(&report.outcome.to_string()),
        escape(&report.headline()),
        escape(&report.plan.hypothesis),
        escape(&report.machine()).replace('\n', "<br>"),
        posts("<th>the post’s</th>".into())
    )?;
    for it in &report.judged {
        let [name, measured, wanted, post, verdict] = it.row().map(|cell| escape(&cell));
        let why = match &it.verdict {
            Verdict::NotRun(why) => format!("<br><small>{}</small>", escape(why)),
            Verdict::Held(_) | Verdict::Refuted(_) => String::new(),
        };
        let post = posts(format!("<td>{post}</td>"));
        write!(
            out,
            "<tr><td class=\"name\">{name}{why}</td><td>{measured}</td><td>{wanted}</td>{post}<td class=\"{}\">{verdict}</td></tr>",
            class(&verdict)
        )?;
    }
    write!(out, "</table><h2>Steps</h2><table class=\"steps\">")?;
    for event in &report.record.events {
        let Some(said) = event.said() else {
            continue;
        };
        write!(
            out,
            "<tr><td>{:.1} s</td><td>{}</td><td>{}</td></tr>",
            event.at,
            escape(&event.step),
            escape(&said)
        )?;
    }
    write!(out, "</table>")
}

fn class(verdict: &str) -> &'static str {
    match verdict {
        "HELD" => "held",
        "REFUTED" => "refuted",
        _ => "not-run",
    }
}

/// A plot; `None` if nothing was measured.
fn plot((title, unit, divisor, series): &Panel, report: &Report) -> Option<String> {
    let nodes = 0..report.plan.nodes.all();
    let each = series.iter().flat_map(|(name, label)| {
        if !name.contains('*') {
            vec![((*name).to_string(), (*label).to_string())]
        } else {
            let of = |text: &str, node: u32| text.replace('*', &node.to_string());
            let nodes = nodes.clone();
            nodes
                .map(|node| (of(name, node), of(label, node)))
                .collect()
        }
    });
    let lines = each
        .zip(COLOURS.iter().cycle())
        .map(|((name, label), color)| Line {
            points: report
                .record
                .series(&name)
                .map(|(at, value)| (at, value / divisor))
                .collect(),
            dashed: label == "asked for" || label == "limit" || label == "needed",
            name: label,
            color,
        });
    let lines: Vec<Line> = lines.filter(|line| line.points.len() > 1).collect();
    let begun = report.record.events.iter();
    let begun = begun.filter(|event| event.kind == Kind::Begin);
    let marks: Vec<(f64, String)> = begun.map(|event| (event.at, event.step.clone())).collect();
    let plot = Plot {
        title,
        x_name: "seconds",
        y_name: unit,
        lines,
        x_ticks: Vec::new(),
        marks: &marks,
    };
    let html = plot.to_html();
    (!html.is_empty()).then_some(html)
}
