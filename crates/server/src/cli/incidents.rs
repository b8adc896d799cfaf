//! `skep incidents`.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::{Map, Value, json};

use super::search::{SearchArgs, items, total, word};
use super::table;

#[derive(Args)]
pub struct IncidentsArgs {
    /// Only incidents of this process (BPMN process id).
    #[arg(long, value_name = "ID")]
    process: Option<String>,
    /// Ask the management port at this address, which reads the state of the engine: without secondary storage there is no search.
    #[arg(long, value_name = "URL", conflicts_with = "process")]
    management: Option<String>,
    #[command(flatten)]
    search: SearchArgs,
}

pub async fn run(args: IncidentsArgs) -> anyhow::Result<()> {
    let answer = match &args.management {
        Some(address) => of_the_state(address, args.search.limit.min(1000)).await?,
        None => {
            let mut filter = Map::from_iter([("state".to_string(), json!("ACTIVE"))]);
            if let Some(process) = &args.process {
                filter.insert("processDefinitionId".into(), json!(process));
            }
            let sort = json!([{"field": "creationTime", "order": "ASC"}]);
            args.search.find("incidents", filter.into(), sort).await?
        }
    };
    if args.search.json {
        return super::print(&format!("{answer:#}\n"));
    }
    super::print(&text(&answer, &args.search.address))
}

/// What the management port tells.
async fn of_the_state(address: &str, limit: u32) -> anyhow::Result<Value> {
    let path = format!("/actuator/incidents?limit={limit}");
    let (status, body) = super::fetch::get(address, &path, Duration::from_secs(15)).await?;
    if !status.is_success() {
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    Ok(serde_json::from_slice(&body)?)
}

fn text(answer: &Value, address: &str) -> String {
    let Some(first) = items(answer).next() else {
        return "No open incidents.\n".to_string();
    };
    let columns = [
        ("INCIDENT", "incidentKey"),
        ("TYPE", "errorType"),
        ("PROCESS", "processDefinitionId"),
        ("ELEMENT", "elementId"),
        ("INSTANCE", "processInstanceKey"),
        ("JOB", "jobKey"),
        ("SINCE", "creationTime"),
    ];
    let mut rows = vec![columns.map(|(title, _)| title.to_string())];
    rows.extend(items(answer).map(|item| columns.map(|(_, name)| word(item, name))));
    let mut text = table(&rows);
    for item in items(answer) {
        let (key, message) = (word(item, "incidentKey"), word(item, "errorMessage"));
        text.push_str(&format!("\n{key}: {message}\n"));
    }
    let shown = items(answer).count() as u64;
    if answer["hasMore"] == true || total(answer) > shown {
        text.push_str("\nThere are more: see --limit.\n");
    }
    text.push_str("\n`skep explain TYPE` says what a type means, `skep instance INSTANCE` what else is in the instance.");
    text.push_str(
        "\nMend the cause (set variables, or update the job's retries), then for instance:\n",
    );
    text.push_str(&format!(
        "  curl -X POST {}/v2/incidents/{}/resolution\n",
        address.trim_end_matches('/'),
        word(first, "incidentKey")
    ));
    text
}
