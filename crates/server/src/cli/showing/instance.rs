//! `skep instance KEY`: one process instance on a page: what happened, where it stands, why it waits.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::follow::{Until, follow};
use crate::cli::search::{SearchArgs, items, more, word};
use crate::cli::table;

#[derive(Args)]
pub struct InstanceArgs {
    /// Key of the process instance.
    #[arg(value_parser = crate::cli::given::key)]
    key: i64,
    /// Print each element as it begins and ends, until the instance has ended; then its variables.
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    search: SearchArgs,
}

pub async fn run(args: InstanceArgs) -> anyhow::Result<()> {
    let InstanceArgs { key, search, .. } = args;
    if args.follow {
        let forever = Until {
            patience: None,
            timeout: None,
        };
        let end = follow(&search.rest, key, &forever).await?;
        return crate::cli::run::ended(&search.rest, key, end).await;
    }
    let instance = search.rest.get(&format!("process-instances/{key}")).await?;
    let of_instance = json!({"processInstanceKey": key.to_string()});
    let by_start = json!([{"field": "startDate"}, {"field": "elementInstanceKey"}]);
    let elements = search
        .find("element-instances", of_instance.clone(), by_start)
        .await?;
    let waiting = search
        .rest
        .get(&format!("process-instances/{key}/waiting-states"))
        .await?;
    let by_name = json!([{"field": "name"}]);
    let variables = search.find("variables", of_instance, by_name).await?;
    let page = Page {
        flag: search.rest.flag(),
        instance,
        elements,
        waiting,
        variables,
    };
    if search.rest.json {
        let all = json!({
            "instance": page.instance,
            "elementInstances": items(&page.elements).collect::<Vec<_>>(),
            "waits": items(&page.waiting).collect::<Vec<_>>(),
            "variables": items(&page.variables).collect::<Vec<_>>(),
        });
        return crate::cli::print(&format!("{all:#}\n"));
    }
    crate::cli::print(&page.text())
}

struct Page {
    /// Names the server that was asked in a command line.
    flag: String,
    instance: Value,
    elements: Value,
    waiting: Value,
    variables: Value,
}

impl Page {
    fn text(&self) -> String {
        let instance = &self.instance;
        let mut text = format!(
            "Process instance {} of '{}', version {}: {}\nStarted {}",
            word(instance, "processInstanceKey"),
            word(instance, "processDefinitionId"),
            word(instance, "processDefinitionVersion"),
            word(instance, "state"),
            word(instance, "startDate"),
        );
        if !instance["endDate"].is_null() {
            text.push_str(&format!(", ended {}", word(instance, "endDate")));
        }
        if !instance["parentProcessInstanceKey"].is_null() {
            text.push_str(&format!(
                ", called by {}",
                word(instance, "parentProcessInstanceKey")
            ));
        }
        text.push_str("\n\n");
        self.elements(&mut text);
        text.push_str(&waits(&self.waiting, &self.flag));
        self.variables(&mut text);
        text
    }

    fn elements(&self, text: &mut String) {
        let mut rows = vec![["ELEMENT", "TYPE", "STATE", "STARTED", "ENDED"].map(String::from)];
        rows.extend(items(&self.elements).map(|element| {
            ["elementId", "type", "state", "startDate", "endDate"].map(|name| word(element, name))
        }));
        text.push_str(&table(&rows));
        text.push_str(&more(&self.elements));
    }

    fn variables(&self, text: &mut String) {
        let mut variables = items(&self.variables).peekable();
        if variables.peek().is_none() {
            return;
        }
        text.push('\n');
        let mut rows = vec![["VARIABLE", "SCOPE", "VALUE"].map(String::from)];
        rows.extend(variables.map(|variable| {
            let value: String = word(variable, "value").chars().take(100).collect();
            [word(variable, "name"), word(variable, "scopeKey"), value]
        }));
        text.push_str(&table(&rows));
        text.push_str(&more(&self.variables));
    }
}

/// Every element that waits, with what it waits for; empty if none does.
pub fn waits(waiting: &Value, flag: &str) -> String {
    let mut text = String::new();
    for waiting in items(waiting) {
        if text.is_empty() {
            text.push_str("\nWaits:\n");
        }
        let id = word(waiting, "elementId");
        let mut what = waiting["waitsFor"]
            .as_array()
            .into_iter()
            .flatten()
            .peekable();
        if what.peek().is_none() {
            let since = word(waiting, "since");
            text.push_str(&format!("  {id}: for what is not known, since {since}\n"));
        }
        for thing in what {
            text.push_str(&format!("  {id}: {}\n", waits_for(thing, flag)));
        }
    }
    if waiting["hasMore"] == true {
        text.push_str("  … and for more\n");
    }
    text
}

/// One thing that an element waits for.
fn waits_for(thing: &Value, flag: &str) -> String {
    let word = |name: &str| word(thing, name);
    let since = word("since");
    match word("for").as_str() {
        "INCIDENT" => format!(
            "incident {} ({}) since {since}: {}\n    mend the cause, then: skep resolve {0}{flag}",
            word("incidentKey"),
            word("errorType"),
            word("errorMessage").replace('\n', "\n    "),
        ),
        "JOB" => {
            let worker = match word("worker").as_str() {
                "" | "-" => "no worker has taken it yet".to_string(),
                worker => format!("last taken by '{worker}', until {}", word("deadline")),
            };
            format!(
                "job {} of type '{}' since {since}, {} retries left; {worker}",
                word("jobKey"),
                word("type"),
                word("retries"),
            )
        }
        "USER_TASK" => format!(
            "user task {} since {since}, assigned to {}; due {}",
            word("userTaskKey"),
            match word("assignee").as_str() {
                "-" => "nobody".to_string(),
                user => format!("'{user}'"),
            },
            word("dueDate"),
        ),
        "MESSAGE" => format!(
            "message '{}' with the correlation key '{}' since {since} ({})",
            word("messageName"),
            word("correlationKey"),
            word("elementId"),
        ),
        "TIMER" => format!(
            "timer of {} due {}, since {since}",
            word("elementId"),
            word("dueDate")
        ),
        "SIGNAL" => format!(
            "signal '{}' since {since} ({})",
            word("signalName"),
            word("elementId")
        ),
        "CONDITION" => format!(
            "condition '{}' since {since} ({})",
            word("condition"),
            word("elementId")
        ),
        "CALLED_INSTANCE" => format!(
            "called process instance {} of '{}' since {since}; see `skep instance {0}`",
            word("processInstanceKey"),
            word("processDefinitionId"),
        ),
        other => format!("{other} since {since}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_resolved_where_it_was_found() {
        let thing =
            json!({"for": "INCIDENT", "incidentKey": "7", "errorType": "X", "errorMessage": "m"});
        let text = waits_for(&thing, " --address http://other:8090");
        let end = "skep resolve 7 --address http://other:8090";
        assert!(text.ends_with(end), "{text}");
    }
}
