//! Explains which entity a key belongs to when a command was given the key of another kind of entity.

use serde_json::{Value, json};

use super::rest::{Body, RestArgs};
use super::search::{items, word};
use crate::errors::{Coded, code_of};

/// Where to look for a key: the endpoint, the kind of entity, and the command for it.
const PLACES: [(&str, &str, &str); 7] = [
    ("process-instances", "a process instance", "skep instance"),
    ("incidents", "an incident", "skep resolve"),
    ("user-tasks", "a user task", "skep complete"),
    ("element-instances", "an element instance", "skep set"),
    ("process-definitions", "a process definition", "skep start"),
    ("batch-operations", "a batch operation", "skep batch"),
    ("decision-definitions", "a decision", "skep evaluate"),
];

/// Adds to an error of a command that takes a key what the key belongs to, if it was not found. `wanted` names the expected kinds, if
/// possible as in [`PLACES`].
pub async fn explain(
    rest: &RestArgs,
    key: i64,
    wanted: &[&str],
    error: anyhow::Error,
) -> anyhow::Error {
    if code_of(&error) != "NOT_FOUND" {
        return error;
    }
    let Some((what, command, found)) = owner(rest, key).await else {
        return error;
    };
    let text = if wanted.contains(&what) {
        of_wanted(key, what, &word(&found, "state"))
    } else {
        let wanted = wanted.join(" or of ");
        format!(
            "{key} is the key of {what}, but this command takes the key of {wanted}: see `{command} {key}`"
        )
    };
    Coded::new("NOT_FOUND", text).into()
}

fn of_wanted(key: i64, what: &str, state: &str) -> String {
    let is = match state {
        "ACTIVE" | "CREATED" => "is still",
        _ => "is already",
    };
    format!("{key} is the key of {what}, which {is} {state}")
}

/// Finds the entity that the key belongs to; `None` if secondary storage does not know it, or there is none.
async fn owner(rest: &RestArgs, key: i64) -> Option<(&'static str, &'static str, Value)> {
    for (place, what, command) in PLACES {
        let found = rest.look(&format!("{place}/{key}")).await.ok()?;
        if let Ok(found) = super::rest::read(found) {
            return Some((what, command, found));
        }
    }
    let filter = json!({"jobKey": key.to_string()});
    let jobs = rest.post("jobs/search", Body::default().with("filter", filter));
    let job = items(&jobs.await.ok()?).next().cloned()?;
    Some(("a job", "skep complete", job))
}
