//! Every constraint on requests stated by the interface of 8.9 is checked, or listed as unchecked.
//!
//! `facts/refused-8.9.jsonl` has a request that violates each constraint and nothing else, created by `facts/refused.py` from the facts. A
//! search for an id that cannot exist is not an error: it finds nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fake::start;
use crate::http::{JSON, open};

const REQUESTS: &str = include_str!("facts/refused-8.9.jsonl");

/// Constraints that are not checked: beginning of the rule, paths, and reason.
const TAKEN: [(&[&str], &str, &str); 11] = [
    (
        &[
            "pattern",
            "minLength",
            "maxLength",
            "maxItems",
            "uniqueItems",
        ],
        "tags",
        "no instance has such tags: nothing is found",
    ),
    (
        &["pattern", "minLength"],
        "filter.processDefinitionId",
        "no process has such an id: nothing is found",
    ),
    (
        &["pattern", "minLength"],
        "filter.decisionDefinitionId",
        "no decision has such an id: nothing is found",
    ),
    (
        &["pattern"],
        "at processDefinitionId",
        "no process has such an id: NOT_FOUND, as for one that is not deployed",
    ),
    (
        &["pattern"],
        "at decisionDefinitionId",
        "no decision has such an id: NOT_FOUND, as for one that is not deployed",
    ),
    (
        &["pattern", "minLength", "maxLength"],
        "decisionEvaluationInstanceKey",
        "no evaluation has such a key: nothing is found, or NOT_FOUND",
    ),
    (
        &["pattern", "minLength", "maxLength"],
        "enantId",
        "where it is more than a condition, a tenant other than the default one is refused; empty is the default one",
    ),
    (
        &["pattern", "maxLength"],
        "in username",
        "no user has such a name: NOT_FOUND",
    ),
    (
        &["required after", "null after"],
        "page",
        "a page without a cursor is the first",
    ),
    (
        &["format"],
        "at changeset.dueDate",
        "the partition looks at it, once it has found the task (engine: user_task)",
    ),
    (
        &["format"],
        "at changeset.followUpDate",
        "the partition looks at it, once it has found the task (engine: user_task)",
    ),
];

/// Index of the rule in [`TAKEN`].
fn taken(rule: &str) -> Option<usize> {
    TAKEN.iter().position(|(rules, place, _)| {
        let tail = rule.split(['.', '$']).next_back().unwrap_or_default();
        let there = rule.ends_with(place) || rule.contains(&format!("{place}.$")) || tail == *place;
        there && rules.iter().any(|begin| rule.starts_with(begin))
    })
}

#[tokio::test]
async fn every_stated_constraint_is_checked_or_listed() {
    let gateway = start().await;
    // Whether the operation of the following requests exists.
    let mut there = true;
    let mut used = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for line in REQUESTS.lines() {
        let (rule, method, path, body): (Option<String>, String, String, Value) =
            serde_json::from_str(line).unwrap();
        let (kind, body) = match body {
            Value::Null => (None, String::new()),
            body => (Some(JSON), body.to_string()),
        };
        // Only the status is checked: the fake broker answers well-formed requests arbitrarily.
        let answer = open(gateway.rest, &method, &path, kind, body).await;
        let status = answer.status().as_u16();
        match rule {
            None => {
                there = status != 501;
                if status == 400 {
                    wrong.push(format!("taken there, refused here: {line}"));
                }
            }
            Some(_) if !there => {}
            Some(rule) => {
                checked += 1;
                match (status, taken(&rule)) {
                    (400, _) => {}
                    (_, Some(place)) => drop(used.insert(place)),
                    (status, None) => wrong.push(format!("{status} instead of 400: {line}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Entries that are no longer needed must be removed.
    let unused: Vec<&str> = (0..TAKEN.len())
        .filter(|place| !used.contains(place))
        .map(|place| TAKEN[place].1)
        .collect();
    assert_eq!(unused, Vec::<&str>::new());
    assert!(checked > 2000, "{checked}");
}
