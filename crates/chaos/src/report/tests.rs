//! The report of a small record: its text against a golden file, its page by required contents.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::plan::{Criterion, Limit, Measure};
use crate::record::{Event, Kind, Sample};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/golden.txt");

fn report(gap: f64) -> Report {
    let plan = Plan::from_yaml(
        "name: small\nhypothesis: A node that is killed comes back, and what it had acknowledged is there; <nothing> else is claimed.\n\
         steps:\n- {name: base, do: {load: {per-second: 20}}}\n- {name: kill, after-s: 2, do: {kill: {node: 0}}}\n- {name: free, do: resume}\n\
         criteria:\n- {name: placeholder, measure: {of: x}, limit: {at-most: 0}}\n",
    )
    .unwrap();
    let at_most = |name, series, limit, unit| {
        Criterion::new(name, Measure::of(series), Limit::AtMost(limit), unit)
    };
    let criteria = vec![
        at_most("time without creations", "create-gap-ms", 1500.0, "ms")
            .flushes(2.0)
            .post("150 s"),
        at_most("nothing is lost", "ledger.lost", 0.0, ""),
        Criterion {
            optional: true,
            ..at_most("what nobody looked at", "none", 0.0, "")
        },
    ];
    let event = |at, kind, step: &str, text: &str| Event {
        at,
        kind,
        step: step.into(),
        text: text.into(),
    };
    let mut samples = vec![Sample {
        at: 0.0,
        values: BTreeMap::from([
            (crate::judge::FLUSH_MS.into(), 1.25),
            (crate::judge::NOISY.into(), 0.0),
        ]),
    }];
    samples.extend([(1.0, gap / 2.0), (2.0, gap)].map(|(at, gap)| Sample {
        at,
        values: BTreeMap::from([
            ("create-gap-ms".into(), gap),
            ("ledger.lost".into(), 0.0),
            ("node0.cores".into(), 0.5),
            ("node0.throttled".into(), 0.25),
            ("export-lag".into(), 7.0),
        ]),
    }));
    let record = Record {
        samples,
        events: vec![
            event(0.0, Kind::Begin, "base", "load of 20/s"),
            event(0.1, Kind::Done, "base", "20/s"),
            event(2.0, Kind::Begin, "kill", "kill -9 of node 0"),
            event(2.1, Kind::Done, "kill", ""),
        ],
    };
    let about = About {
        version: "1.2.3".into(),
        command: "skep chaos small.yaml".into(),
        ended: "2026-11-26 03:00 UTC".into(),
        cores: 2,
        maximum_per_s: Some(1234.0),
        noise: None,
        noisy_is_fine: false,
    };
    Report::new(Plan { criteria, ..plan }, record, about)
}

#[test]
fn the_text_is_that_of_the_golden_file() {
    let text = report(1400.0).to_text();
    if std::env::var_os("SKEP_GOLDEN").is_some_and(|what| what == "write") {
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let golden = std::fs::read_to_string(Path::new(GOLDEN)).unwrap();
    assert_eq!(text, golden, "SKEP_GOLDEN=write writes it anew");
}

#[test]
fn the_page_shows_verdicts_plots_and_steps_and_needs_nothing_else() {
    let html = page(&[&report(1600.0)]);
    for part in [
        "small: <span class=\"refuted\">REFUTED (1 of 3 criteria held)",
        "<td>1600 ms</td><td>≤ 1502</td><td>150 s</td><td class=\"refuted\">REFUTED</td>",
        "&lt;nothing&gt; else",
        "<figcaption>CPU</figcaption>",
        "<figcaption>Periods in which a CPU limit was used up</figcaption>",
        "<figcaption>Not exported yet</figcaption>",
        "class=\"mark\"",
        "<small>none was not measured</small>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(!html.contains("Free disk"), "nobody measured it");
    for outside in ["http://", "https://", "<script", "src="] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn spare_nodes_and_gateways_are_plotted_beside_the_others() {
    let mut report = report(1400.0);
    report.plan.nodes.spare = 1;
    report.plan.nodes.gateways = 1;
    for sample in &mut report.record.samples {
        sample.values.insert("node2.cores".into(), 0.25);
    }
    let html = page(&[&report]);
    assert!(html.contains("node 2"), "{html}");
    assert!(!html.contains("node 1"), "nobody measured it");
}

#[test]
fn a_report_that_is_read_is_judged_again() {
    let directory = tempfile::tempdir().unwrap();
    let missing = Report::read(directory.path()).unwrap_err();
    assert!(missing.to_string().contains("has no report"), "{missing}");
    let written = report(1400.0);
    written.write(directory.path()).unwrap();
    let read = Report::read(directory.path()).unwrap();
    assert_eq!(read.to_text(), written.to_text());
    assert_eq!(read.outcome.exit_code(), 0);

    // An edited verdict is not believed, and neither is one without its samples.
    let path = directory.path().join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("\"refuted\"") || text.contains("\"held\""),
        "{text}"
    );
    std::fs::write(directory.path().join("samples.ndjson"), "").unwrap();
    let read = Report::read(directory.path()).unwrap();
    assert_eq!(read.outcome.exit_code(), 3, "{}", read.to_text());
    std::fs::write(&path, text.replace("\"schema\": 1", "\"schema\": 2")).unwrap();
    let other = Report::read(directory.path()).unwrap_err();
    assert!(other.to_string().contains("has schema 2"), "{other}");
}

#[test]
fn two_runs_stand_side_by_side() {
    let text = side_by_side(&report(1400.0), &report(1600.0));
    let line = text
        .lines()
        .find(|line| line.starts_with("time without"))
        .unwrap();
    let words: Vec<&str> = line
        .split("  ")
        .filter(|word| !word.is_empty())
        .map(str::trim)
        .collect();
    assert_eq!(
        words,
        [
            "time without creations",
            "1400 ms",
            "HELD",
            "1600 ms",
            "REFUTED"
        ]
    );
}

/// Criteria that differ in their last word alone once looked the same.
#[test]
fn names_of_built_in_criteria_are_not_cut() {
    for experiment in crate::experiments::ALL {
        let plans = [false, true].map(experiment.plan).into_iter();
        for Criterion { name, .. } in plans.flat_map(|plan| plan.criteria) {
            assert!(name.chars().count() <= text::NAME, "{name}");
        }
    }
}
