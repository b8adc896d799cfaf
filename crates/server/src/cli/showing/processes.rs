//! `skep processes`: lists deployed processes with their numbers of running instances.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::list::again;
use crate::cli::login;
use crate::cli::near::nearest;
use crate::cli::rest::Body;
use crate::cli::search::{SearchArgs, items, more, word};
use crate::cli::table;
use crate::errors::Coded;

/// Maximum number of processes among which a similar id is looked for.
const MOST_NEAR: u64 = 1000;

#[derive(Args)]
pub struct ProcessesArgs {
    /// List all versions of this process (BPMN process id); without it, the latest version of each process.
    #[arg(value_name = "PROCESS")]
    process: Option<String>,
    /// Only processes of this tenant.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Repeat every two seconds, until interrupted.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    search: SearchArgs,
}

pub async fn run(args: ProcessesArgs) -> anyhow::Result<()> {
    again(args.watch, async || page(&args).await).await
}

async fn page(args: &ProcessesArgs) -> anyhow::Result<String> {
    let search = &args.search;
    let mut filter = Map::new();
    if let Some(tenant) = &args.tenant {
        filter.insert("tenantId".into(), json!(tenant));
    }
    let sort = match &args.process {
        Some(process) => {
            filter.insert("processDefinitionId".into(), json!(process));
            json!([{"field": "version", "order": "DESC"}])
        }
        None => {
            filter.insert("isLatestVersion".into(), json!(true));
            json!([{"field": "processDefinitionId"}])
        }
    };
    let found = search
        .find("process-definitions", filter.into(), sort)
        .await?;
    if let Some(process) = &args.process
        && items(&found).next().is_none()
    {
        return Err(unknown(args, process).await.into());
    }
    if search.rest.json {
        return Ok(format!("{found:#}\n"));
    }
    let running = running(args).await?;
    Ok(text(&found, &running, args.process.is_some()))
}

/// Names the process with a similar id, if there is one.
async fn unknown(args: &ProcessesArgs, process: &str) -> Coded {
    let body = Body::default()
        .with("filter", json!({"isLatestVersion": true}))
        .with("page", json!({"limit": MOST_NEAR}));
    let found = args.search.rest.post("process-definitions/search", body);
    let found = found.await.unwrap_or_default();
    let ids = items(&found).filter_map(|item| item["processDefinitionId"].as_str());
    let near =
        nearest(process, ids).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let tenant = args.tenant.as_ref();
    let of = tenant.map_or_else(String::new, |tenant| format!(" of tenant '{tenant}'"));
    Coded::new(
        "NOT_FOUND",
        format!("there is no process '{process}'{of}{near}"),
    )
}

/// Numbers of running instances, by process, or by version of the given process.
async fn running(args: &ProcessesArgs) -> anyhow::Result<Value> {
    let page = Body::default().with("page", json!({"limit": args.search.limit}));
    let (by, body) = match &args.process {
        Some(process) => (
            "process-instances-by-version",
            page.with("filter", json!({"processDefinitionId": process})),
        ),
        None => ("process-instances", page),
    };
    let path = format!("process-definitions/statistics/{by}");
    args.search.rest.post(&path, body).await
}

fn text(found: &Value, running: &Value, versions: bool) -> String {
    if items(found).next().is_none() {
        let whom = login::to_this_user();
        return format!("No processes{whom} are deployed: `skep deploy FILE` deploys one.\n");
    }
    let mut rows = vec![
        [
            "PROCESS",
            "VERSION",
            "RUNNING",
            "INCIDENTS",
            "NAME",
            "TENANT",
            "KEY",
        ]
        .map(String::from),
    ];
    let same = if versions {
        &["processDefinitionKey"][..]
    } else {
        &["processDefinitionId", "tenantId"]
    };
    let several_tenants = items(found).any(|process| process["tenantId"] != "<default>");
    for process in items(found) {
        let counted =
            items(running).find(|counts| same.iter().all(|name| counts[name] == process[name]));
        let count = |name| {
            counted
                .and_then(|counts| counts[name].as_u64())
                .unwrap_or(0)
        };
        let incidents = count("activeInstancesWithIncidentCount");
        rows.push([
            word(process, "processDefinitionId"),
            word(process, "version"),
            (incidents + count("activeInstancesWithoutIncidentCount")).to_string(),
            incidents.to_string(),
            word(process, "name"),
            if several_tenants {
                word(process, "tenantId")
            } else {
                "-".to_string()
            },
            word(process, "processDefinitionKey"),
        ]);
    }
    let mut text = table(&rows);
    text.push_str(&more(found));
    text
}
