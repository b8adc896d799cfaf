//! Quick forms of chaos experiments, by the built binary. Counts are judged here. Times are not, as no test depends on timing.

#[allow(dead_code)] // These tests start no server of their own.
#[path = "cli/binary.rs"]
mod binary;

use serde_json::Value;

use binary::{lack, not_run, run, stderr, stdout, workplace};

/// Runs an experiment, every criterion of which that is no time must be HELD. `kind` is what CI calls a machine that lacks its needs.
fn counts_hold(experiment: &str, kind: &str) {
    if let Some(why) = lack(experiment) {
        return not_run(kind, &why);
    }
    let directory = workplace();
    let here = directory.path();
    let ran = run(here, &["chaos", experiment, "--report", "report"]);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    println!("{said}");
    let report = std::fs::read_to_string(here.join("report/run.json")).expect(&said);
    let report: Value = serde_json::from_str(&report).unwrap();
    let is_timed = |judged: &&Value| judged["criterion"]["timed"] == true;
    let judged = report["judged"].as_array().unwrap().iter();
    let (_, counts): (Vec<&Value>, Vec<&Value>) = judged.partition(is_timed);
    assert!(!counts.is_empty(), "{said}");
    for judged in counts {
        let is_held = judged["verdict"]["held"].is_object();
        assert!(is_held, "{}\n{said}", judged["criterion"]["name"]);
    }
    let events = std::fs::read_to_string(here.join("report/events.ndjson")).unwrap();
    assert!(!events.contains("\"kind\":\"unbitten\""), "{events}");
}

#[test]
fn leaders_and_followers_are_lost() {
    counts_hold("broker-loss", "experiment");
}

#[test]
fn the_database_is_away_at_the_start() {
    counts_hold("cold-start", "postgres");
}

#[test]
fn the_disk_is_full() {
    counts_hold("disk-full", "sandbox");
}

#[test]
fn answers_reach_the_workers_late() {
    counts_hold("slow-completion", "experiment");
}

#[test]
fn all_workers_are_away() {
    counts_hold("worker-outage", "experiment");
}
