//! `skep incidents`.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::cluster::refusal;
use crate::cli::list::{ListArgs, Search};
use crate::cli::search::{items, more, none, time, word};
use crate::cli::table;

#[derive(Args)]
pub struct IncidentsArgs {
    /// Only incidents of this process (BPMN process id).
    #[arg(long, value_name = "ID")]
    process: Option<String>,
    /// Address of a management port to query instead; it reads the state of the engine, so it works without secondary storage.
    #[arg(long, value_name = "URL", conflicts_with_all = ["process", "since"])]
    management: Option<String>,
    #[command(flatten)]
    list: ListArgs,
}

pub async fn run(args: IncidentsArgs) -> anyhow::Result<()> {
    let flag = args.list.search().rest.flag();
    let text = |answer: &Value| text(answer, &flag);
    if let Some(address) = &args.management {
        let limit = args.list.search().limit.min(1000);
        return args
            .list
            .again(async || of_the_state(address, limit).await, text)
            .await;
    }
    let mut filter = Map::from_iter([("state".to_string(), json!("ACTIVE"))]);
    if let Some(process) = &args.process {
        filter.insert("processDefinitionId".into(), json!(process));
    }
    let search = Search {
        what: "incidents",
        filter,
        sort: json!([{"field": "creationTime", "order": "ASC"}]),
        began: "creationTime",
    };
    args.list.show(search, text).await
}

/// Incidents as reported by the management port.
async fn of_the_state(address: &str, limit: u32) -> anyhow::Result<Value> {
    let path = format!("/actuator/incidents?limit={limit}");
    let (status, body) = crate::cli::fetch::get(address, &path, Duration::from_secs(15)).await?;
    if !status.is_success() {
        return Err(refusal(address, status, &body));
    }
    Ok(serde_json::from_slice(&body)?)
}

fn text(answer: &Value, flag: &str) -> String {
    let Some(first) = items(answer).next() else {
        return none("open incidents");
    };
    let columns = [
        ("INCIDENT", "incidentKey"),
        ("TYPE", "errorType"),
        ("PROCESS", "processDefinitionId"),
        ("ELEMENT", "elementId"),
        ("INSTANCE", "processInstanceKey"),
        ("SINCE", "creationTime"),
    ];
    let mut rows = vec![columns.map(|(title, _)| title.to_string())];
    rows.extend(items(answer).map(|item| {
        columns.map(|(_, name)| match name {
            "creationTime" => time(item, name),
            _ => word(item, name),
        })
    }));
    let mut text = table(&rows);
    for item in items(answer) {
        let key = word(item, "incidentKey");
        let message = word(item, "errorMessage").replace('\n', "\n  ");
        let job = match &*word(item, "jobKey") {
            "-" => String::new(),
            job => format!(", job {job}"),
        };
        text.push_str(&format!("\n{key}{job}: {message}\n"));
    }
    text.push_str(&if answer["hasMore"] == true {
        "\nThere are more: see --limit.\n".to_string()
    } else {
        more(answer)
    });
    let key = word(first, "incidentKey");
    text.push_str(&format!(
        "\n`skep explain TYPE` explains a type, `skep instance INSTANCE` shows the rest of the instance.\n\
         Fix the cause (`skep set` sets variables), then for example:\n  skep resolve {key}{flag}\n"
    ));
    text
}
