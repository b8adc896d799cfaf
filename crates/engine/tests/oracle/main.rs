//! The recorded scenarios of `tests/oracle` (see its README.md): the same commands lead to the same records as in the reference engine.
//!
//! Every scenario whose elements are supported is played. Features that Skep does not have yet are counted by reason. A scenario that
//! deviates is a failure, unless `deviations.txt` lists it with the reason; a listed scenario that is equal is a failure too.
//!
//! `SKEP_ORACLE=job/` plays the scenarios whose names have this prefix and prints every difference.
#![allow(clippy::disallowed_methods)] // Scenarios are files.

mod batch_operations;
mod commands;
mod compare;
mod deployments;
mod identity;
mod keys;
mod normalize;
mod player;
mod settings;
mod user_tasks;
mod workers;
mod yaml;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use commands::Stop;
use normalize::{Entry, comparable, recorded, rendered};
use player::{AS_RECORDED, Played};
use serde_json::Value;
use skep_testkit::scenario::Scenario;

/// Maximum number of differences printed per scenario when all are played.
const PRINTED: usize = 8;

enum Verdict {
    Equal,
    Deviates(Vec<String>),
    NotYet(String),
}

/// The listed deviations: scenario and reason.
fn listed() -> BTreeMap<&'static str, &'static str> {
    let lines = include_str!("deviations.txt").lines();
    lines
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (scenario, reason) = line.split_once(' ').expect("a scenario and its reason");
            (scenario, reason.trim())
        })
        .collect()
}

/// The compared lines: instances, then messages, each in their order.
fn lines(entries: Vec<Entry>) -> Vec<String> {
    let entries = comparable(entries);
    let (of_messages, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(Entry::is_of_a_message);
    let in_order = others.iter().chain(&of_messages);
    in_order.map(Entry::line).collect()
}

/// Records that every partition writes are compared on the first one only.
fn lines_of(played: &Played) -> Vec<String> {
    let records = played.records.iter();
    // The first partition sums up a batch operation.
    let is_its = |r: &Value| {
        let source = &r["value"]["sourcePartitionId"];
        r["partitionId"] == 1 && (source.is_null() || source == 1)
    };
    let entries = records.map(|(step, r)| (is_its(r), rendered(*step, r)));
    let compared = entries.filter(|(first, entry)| *first || entry.is_of_a_message());
    lines(compared.map(|(_, entry)| entry).collect())
}

fn judge(scenario: &Scenario) -> Verdict {
    let played = match catch_unwind(AssertUnwindSafe(|| player::play(scenario, AS_RECORDED))) {
        Ok(Ok(played)) => played,
        Ok(Err(Stop::NotYet(what))) => return Verdict::NotYet(what),
        Ok(Err(Stop::Deviates(how))) => return Verdict::Deviates(vec![how]),
        Err(_) => return Verdict::Deviates(vec!["it panicked".to_string()]),
    };
    let text = scenario.part("records.jsonl");
    let expected = lines(text.lines().map(recorded).collect());
    let got = lines_of(&played);
    let mut differences = played.answers;
    differences.extend(workers::differences(text, &played.activated));
    differences.extend(compare::differences(&expected, &got));
    if differences.is_empty() {
        Verdict::Equal
    } else {
        Verdict::Deviates(differences)
    }
}

#[test]
fn recorded_scenarios_lead_to_the_same_records() {
    let only = std::env::var("SKEP_ORACLE").unwrap_or_default();
    let listed = listed();
    let (mut equal, mut deviating, mut failures) = (0, Vec::new(), Vec::new());
    let mut not_yet: BTreeMap<String, usize> = BTreeMap::new();
    let scenarios = Scenario::all();
    assert!(scenarios.len() >= 400, "the scenarios are there");
    for scenario in scenarios.iter().filter(|it| it.name.starts_with(&only)) {
        let name = &scenario.name;
        let reason = listed.get(name.as_str());
        match (judge(scenario), reason) {
            (Verdict::Equal, None) => equal += 1,
            (Verdict::Equal, Some(_)) => {
                failures.push(format!("{name} is equal: take it off deviations.txt"));
            }
            // Unplanned features, and features implemented elsewhere, are deviations with a reason.
            (Verdict::NotYet(_), Some(reason)) => deviating.push((name.as_str(), *reason)),
            (Verdict::NotYet(what), None) => *not_yet.entry(what).or_default() += 1,
            (Verdict::Deviates(differences), reason) => {
                if reason.is_none() || !only.is_empty() {
                    let shown = if only.is_empty() { PRINTED } else { usize::MAX };
                    let lines: Vec<String> = differences.into_iter().take(shown).collect();
                    failures.push(format!("{name}\n    {}", lines.join("\n    ")));
                }
                deviating.push((name.as_str(), reason.copied().unwrap_or("unexpected")));
            }
        }
    }
    println!("{}", table(equal, &deviating, &not_yet));
    if let Some(unknown) = listed
        .keys()
        .find(|name| !scenarios.iter().any(|it| it.name == **name))
    {
        failures.push(format!(
            "deviations.txt lists {unknown}, which does not exist"
        ));
    }
    assert!(
        failures.is_empty(),
        "{} of the scenarios are not as expected (- reference, + Skep):\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn table(equal: usize, deviating: &[(&str, &str)], not_yet: &BTreeMap<String, usize>) -> String {
    let waiting: usize = not_yet.values().sum();
    let mut out = format!(
        "recorded scenarios: {equal} equal, {} deviating, {waiting} not yet\n",
        deviating.len()
    );
    for (name, reason) in deviating {
        out += &format!("  deviating  {name}: {reason}\n");
    }
    for (what, count) in not_yet {
        out += &format!("  not yet    {count:3}  {what}\n");
    }
    out
}
