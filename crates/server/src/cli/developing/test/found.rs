//! The state of a test case's process instances, to help find out why it failed.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::assert::variables::short;
use super::assert::{elements, variables};
use super::world::{Search, World};
use crate::cli::search::word;

/// Maximum number of process instances described, newest first.
const MOST: usize = 5;

/// Describes the instances, one fact per line.
pub async fn describe(world: &World) -> String {
    let mut text = String::new();
    let search = world.search();
    match search.process_instances(Map::new()).await {
        Ok(all) if all.is_empty() => text.push_str("there is no process instance\n"),
        Ok(all) => {
            if all.len() > MOST {
                let _ = writeln!(text, "the last {MOST} of {} process instances:", all.len());
            }
            for instance in all.iter().skip(all.len().saturating_sub(MOST)) {
                if let Err(why) = describe_one(&search, instance, &mut text).await {
                    let _ = writeln!(text, "  no more is known: {why:#}");
                }
            }
        }
        Err(why) => {
            let _ = writeln!(text, "the server does not report its state: {why:#}");
        }
    }
    for trouble in world.trouble.lock().iter() {
        let _ = writeln!(text, "{trouble}");
    }
    text
}

async fn describe_one(search: &Search, instance: &Value, text: &mut String) -> anyhow::Result<()> {
    let key = word(instance, "processInstanceKey");
    let _ = writeln!(
        text,
        "process instance {key} of '{}': {}",
        word(instance, "processDefinitionId"),
        word(instance, "state")
    );
    let all = elements::of(search, &key).await?;
    let active = all.iter().filter(|element| element["state"] == "ACTIVE");
    let active: Vec<String> = active
        .map(|element| format!("{} ({})", word(element, "elementId"), word(element, "type")))
        .collect();
    if !active.is_empty() {
        let _ = writeln!(text, "  active: {}", active.join(", "));
    }
    let all = search.of_instance("incidents/search", "incidentKey", &key);
    for incident in &all.await? {
        if incident["state"] == "ACTIVE" {
            let said = word(incident, "errorMessage").replace('\n', " ");
            let _ = writeln!(
                text,
                "  incident at {} ({}): {}",
                word(incident, "elementId"),
                word(incident, "errorType"),
                short(&said)
            );
        }
    }
    for (scope, found) in variables::of(search, &key).await? {
        let of = if scope == key {
            String::new()
        } else {
            format!(" of scope {scope}")
        };
        let each = found
            .iter()
            .map(|(name, value)| format!("{name} = {}", short(&value.to_string())));
        let each: Vec<String> = each.collect();
        let _ = writeln!(text, "  variables{of}: {}", each.join(", "));
    }
    Ok(())
}
