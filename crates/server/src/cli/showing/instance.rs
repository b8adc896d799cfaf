//! `skep instance KEY`: shows one process instance: its history, its state, and why it waits.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::follow::{Until, follow};
use crate::cli::keys;
use crate::cli::rest::RestArgs;
use crate::cli::search::{SearchArgs, items, more, time, word};
use crate::cli::table;

#[derive(Args)]
pub struct InstanceArgs {
    /// Key of the process instance.
    #[arg(value_parser = crate::cli::given::key)]
    key: i64,
    /// Print each element as it starts and ends, until the instance has ended; then its variables.
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
        let end = match follow(&search.rest, key, &forever).await {
            Ok(end) => end,
            Err(error) => return Err(explained(&search.rest, key, error).await),
        };
        return crate::cli::run::ended(&search.rest, key, end).await;
    }
    let instance = match search.rest.get(&format!("process-instances/{key}")).await {
        Ok(instance) => instance,
        Err(error) => return Err(explained(&search.rest, key, error).await),
    };
    let of_instance = json!({"processInstanceKey": key.to_string()});
    let by_start = json!([{"field": "startDate"}, {"field": "elementInstanceKey"}]);
    let elements = search
        .find("element-instances", of_instance.clone(), by_start)
        .await?;
    let waiting = search
        .rest
        .get_own(&format!("process-instances/{key}/diagnosis"))
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

async fn explained(rest: &RestArgs, key: i64, error: anyhow::Error) -> anyhow::Error {
    keys::explain(rest, key, &["a process instance"], error).await
}

struct Page {
    /// The flag that names the server in suggested command lines.
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
            [
                word(element, "elementId"),
                word(element, "type"),
                word(element, "state"),
                time(element, "startDate"),
                time(element, "endDate"),
            ]
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

/// Lists every waiting element with the reason and the remedy; empty if none waits.
pub fn waits(diagnosis: &Value, flag: &str) -> String {
    let mut text = String::new();
    for item in items(diagnosis) {
        if text.is_empty() {
            text.push_str("\nWaits:\n");
        }
        let id = word(item, "elementId");
        text.push_str(&format!("  {id}: {}\n", waits_for(item, flag)));
    }
    if diagnosis["hasMore"] == true {
        text.push_str("  … and for more\n");
    }
    text
}

/// Describes one reason why an element waits.
fn waits_for(item: &Value, flag: &str) -> String {
    let fact = |name: &str| word(&item["facts"], name);
    let at = |name: &str| time(&item["facts"], name);
    let since = time(item, "since");
    let cause = word(item, "cause");
    match &*cause {
        "INCIDENT" => format!(
            "incident {} ({}) since {since}: {}\n    fix the cause, then: skep resolve {0}{flag}",
            fact("incidentKey"),
            fact("errorType"),
            fact("errorMessage").replace('\n', "\n    "),
        ),
        "JOB_WITHOUT_WORKER" | "JOB_WAITS" | "JOB_RETRIED" | "JOB_AT_WORK" => format!(
            "job {} of type '{}' since {since}, {} retries left\n    {}",
            fact("jobKey"),
            fact("type"),
            fact("retries"),
            worker(item, &cause),
        ),
        "USER_TASK" => format!(
            "user task {} since {since}, assigned to {}; due {}",
            fact("userTaskKey"),
            match fact("assignee").as_str() {
                "-" => "nobody".to_string(),
                user => format!("'{user}'"),
            },
            at("dueDate"),
        ),
        "MESSAGE" => format!(
            "message '{}' with the correlation key '{}' of {} since {since}",
            fact("messageName"),
            fact("correlationKey"),
            fact("elementId"),
        ),
        "TIMER" => format!(
            "timer of {} due {}, since {since}",
            fact("elementId"),
            at("dueDate")
        ),
        "JOIN" => {
            let missing = item.pointer("/facts/missing").and_then(Value::as_array);
            let missing: Vec<String> = missing
                .into_iter()
                .flatten()
                .map(|it| format!("{} (from {})", word(it, "flowId"), word(it, "elementId")))
                .collect();
            format!(
                "the tokens of {} since {since}\n    {}",
                missing.join(" and "),
                word(item, "remedy")
            )
        }
        "SIGNAL" => format!(
            "signal '{}' of {} since {since}",
            fact("signalName"),
            fact("elementId")
        ),
        "CONDITION" => format!(
            "condition '{}' of {} since {since}",
            fact("condition"),
            fact("elementId")
        ),
        "CALLED_INSTANCE" => format!(
            "called process instance {} of '{}' since {since}; see `skep instance {0}`",
            fact("processInstanceKey"),
            fact("processDefinitionId"),
        ),
        _ => format!("for an unknown reason, since {since}"),
    }
}

/// Describes the state of a job.
fn worker(item: &Value, cause: &str) -> String {
    let fact = |name: &str| word(&item["facts"], name);
    let at = |name: &str| time(&item["facts"], name);
    match cause {
        "JOB_AT_WORK" => format!("held by '{}' until {}", fact("worker"), at("deadline")),
        "JOB_RETRIED" => "it failed and will be retried".to_string(),
        "JOB_WAITS" => format!(
            "workers request this type, the last one at {}, but have not taken it",
            at("lastAsked")
        ),
        _ => {
            let asked = match &*at("lastAsked") {
                "-" => format!(
                    "no worker has requested this type since {}",
                    at("workersNotedSince")
                ),
                last => format!("a worker last requested this type at {last}"),
            };
            format!("{asked}\n    {}", word(item, "remedy"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_resolved_where_it_was_found() {
        let item = json!({"cause": "INCIDENT", "since": "now",
            "facts": {"incidentKey": "7", "errorType": "X", "errorMessage": "m"}});
        let text = waits_for(&item, " --address http://other:8090");
        let end = "skep resolve 7 --address http://other:8090";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_waiting_job_is_shown_with_its_cause() {
        let job = |cause: &str, facts: Value| {
            let item = json!({"elementId": "charge", "cause": cause, "since": "S", "facts": facts, "remedy": "Start one."});
            waits(&json!({"items": [item], "hasMore": false}), "")
        };
        let facts = json!({"jobKey": "7", "type": "pay", "retries": 3, "lastAsked": null, "workersNotedSince": "T", "worker": "w", "deadline": "D"});
        let begins = "\nWaits:\n  charge: job 7 of type 'pay' since S, 3 retries left\n    ";
        for (cause, end) in [
            (
                "JOB_WITHOUT_WORKER",
                "no worker has requested this type since T\n    Start one.\n",
            ),
            ("JOB_AT_WORK", "held by 'w' until D\n"),
            ("JOB_RETRIED", "it failed and will be retried\n"),
        ] {
            assert_eq!(job(cause, facts.clone()), format!("{begins}{end}"));
        }
    }
}
