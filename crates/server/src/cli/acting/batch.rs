//! `skep batch`: lists batch operations, shows one with its failures, changes it, and begins new ones.

mod act;

use clap::Args;
use serde_json::{Map, Value, json};

use self::act::Act;
use crate::cli::given;
use crate::cli::list::again;
use crate::cli::rest::Body;
use crate::cli::search::{SearchArgs, items, more, none, time, total, word};
use crate::cli::table;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BatchArgs {
    #[command(subcommand)]
    act: Option<Act>,
    /// Key of a batch operation; without it, all are listed.
    #[arg(value_name = "KEY", value_parser = given::key)]
    key: Option<i64>,
    /// Suspend it until it is resumed.
    #[arg(long, requires = "key", group = "change")]
    suspend: bool,
    /// Resume it.
    #[arg(long, requires = "key", group = "change")]
    resume: bool,
    /// Cancel it; items already processed are not undone.
    #[arg(long, requires = "key", group = "change")]
    cancel: bool,
    /// Repeat every two seconds, until interrupted.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    search: SearchArgs,
}

pub async fn run(args: BatchArgs) -> anyhow::Result<()> {
    if let Some(act) = args.act {
        return act::run(act).await;
    }
    let search = &args.search;
    let Some(key) = args.key else {
        return again(args.watch, async || list(search).await).await;
    };
    let changes = [
        (args.suspend, "suspension"),
        (args.resume, "resumption"),
        (args.cancel, "cancellation"),
    ];
    if let Some((_, change)) = changes.iter().find(|(asked, _)| *asked) {
        let path = format!("batch-operations/{key}/{change}");
        search.rest.post(&path, Body::default()).await?;
    }
    again(args.watch, async || show(search, key).await).await
}

async fn list(search: &SearchArgs) -> anyhow::Result<String> {
    let sort = json!([{"field": "startDate", "order": "DESC"}]);
    let all = Map::new().into();
    let answer = search.find("batch-operations", all, sort).await?;
    if search.rest.json {
        return Ok(format!("{answer:#}\n"));
    }
    if items(&answer).next().is_none() {
        return Ok(none("batch operations"));
    }
    Ok(format!("{}{}", rows(&answer), more(&answer)))
}

fn rows(answer: &Value) -> String {
    let mut rows = vec![["KEY", "TYPE", "STATE", "DONE", "FAILED", "STARTED"].map(String::from)];
    rows.extend(items(answer).map(|operation| {
        let count = |name: &str| word(operation, name);
        let failed = count("operationsFailedCount");
        [
            word(operation, "batchOperationKey"),
            word(operation, "batchOperationType"),
            word(operation, "state"),
            format!(
                "{} of {}",
                count("operationsCompletedCount"),
                count("operationsTotalCount")
            ),
            if failed == "0" {
                "-".to_string()
            } else {
                failed
            },
            time(operation, "startDate"),
        ]
    }));
    table(&rows)
}

async fn show(search: &SearchArgs, key: i64) -> anyhow::Result<String> {
    let operation = search.rest.get(&format!("batch-operations/{key}")).await?;
    let filter = json!({"batchOperationKey": key.to_string(), "state": "FAILED"});
    let failed = search
        .find("batch-operation-items", filter, json!([]))
        .await?;
    if search.rest.json {
        let failed: Vec<&Value> = items(&failed).collect();
        let whole = json!({"batchOperation": operation, "failedItems": failed});
        return Ok(format!("{whole:#}\n"));
    }
    Ok(page(&operation, &failed))
}

fn page(operation: &Value, failed: &Value) -> String {
    let mut text = format!(
        "{} {}: {}, {} done and {} failed of {}\n",
        word(operation, "batchOperationType"),
        word(operation, "batchOperationKey"),
        word(operation, "state"),
        word(operation, "operationsCompletedCount"),
        word(operation, "operationsFailedCount"),
        word(operation, "operationsTotalCount"),
    );
    for (what, name) in [("started", "startDate"), ("ended", "endDate")] {
        text.push_str(&format!("{what} {}\n", word(operation, name)));
    }
    if total(failed) == 0 {
        return text;
    }
    let mut rows = vec![["ITEM", "INSTANCE", "ERROR"].map(String::from)];
    let columns = ["itemKey", "processInstanceKey", "errorMessage"];
    rows.extend(items(failed).map(|item| columns.map(|name| word(item, name))));
    text.push('\n');
    text.push_str(&table(&rows));
    text
}
